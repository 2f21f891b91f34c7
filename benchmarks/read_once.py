"""`python -m benchmarks.read_once MODEL TRACE TABLES`: read a trace, store its tables, print what that took as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def main(model_file: Path, trace_folder: Path, target: Path) -> None:
    begin = time.perf_counter()
    from tracegen import store  # the imports are timed too
    from tracegen.readers.gguf import read_model
    from tracegen.readers.native import VERSION, ModelTables, read_trace
    from tracegen.readers.segments import segment_files

    ready = time.perf_counter()
    model = read_model(model_file)
    files = segment_files(trace_folder)
    trace = read_trace(files, ModelTables(model.files, model.tensors))
    read = time.perf_counter()
    store.write_tables(target, trace.tables, VERSION)
    stored = time.perf_counter()
    found = {
        "import_s": ready - begin,
        "read_s": read - ready,
        "store_s": stored - read,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "tables": sum(int(table.memory_usage(deep=True).sum()) for table in trace.tables.values()),
        "trace": sum(len(data) for data in files.values()),
        "rows": {name: len(trace.tables[name]) for name in ("passes", "ops", "spans", "touches")},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
