"""`python -m benchmarks.read_once MODEL RAW TABLES`: read a trace, store and check its tables; what it took as JSON.

RAW is the evidence of a run: its folder `trace`, and `requests` where the requests of devices were recorded.

A peak is of the whole process until then: interpreter, imports, what is mapped of the trace, tables and all else.
"""

import json
import sys
import time
from pathlib import Path

COUNTED = ("passes", "ops", "spans", "touches", "faults", "barriers", "requests")


def main(model_file: Path, raw: Path, target: Path) -> None:
    begin = time.perf_counter()
    from tracegen.measure.checks.verdict import Evidence, checks_of
    from tracegen.readers.gguf.file import read_model
    from tracegen.readers.native.segments import segment_files
    from tracegen.readers.native.trace import VERSION, ModelTables, NativeTrace, read_trace
    from tracegen.readers.requests.table import read_requests
    from tracegen.storing import store  # the imports are timed too

    ready = time.perf_counter()
    before = peak_bytes()
    model = read_model(model_file)
    trace = read_trace(segment_files(raw / "trace"), ModelTables(model.files, model.tensors))
    requests, facts = read_requests(raw / "requests", trace.tables["passes"], trace.tables["files"])
    trace = NativeTrace({**trace.tables, "requests": requests}, {**trace.facts, **facts})
    read = time.perf_counter()
    store.write_tables(target, trace.tables, VERSION)
    stored = time.perf_counter()
    peak = peak_bytes()
    checks_of(
        Evidence(trace.tables, trace.facts, {}, model.n_layers, 0, model.n_experts, model.data_begin, model.alignment)
    )
    checked = time.perf_counter()
    found = {
        "import_s": ready - begin,
        "read_s": read - ready,
        "store_s": stored - read,
        "check_s": checked - stored,
        "peak_imports": before,
        "peak": peak,
        "peak_checked": peak_bytes(),
        "tables": sum(int(table.memory_usage(deep=True).sum()) for table in trace.tables.values()),
        "stored": sum(path.stat().st_size for path in target.iterdir()),
        "trace": trace.facts["bytes"],
        "rows": {name: len(trace.tables[name]) for name in COUNTED},
    }
    print(json.dumps(found))


def peak_bytes() -> int:
    """The most memory that this process has had, in bytes; `ru_maxrss` begins with that of the parent."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
