"""`python -m benchmarks.import_once FILE`: `tracegen import FILE` in this process; then the floor beneath it.

The floor is what nobody can do without: read the file once with numpy, and write the same tables with pyarrow. It is
measured in the same process, after the import, so that both find the file as warm.
"""

import json
import sys
import time
from pathlib import Path


def main(file: Path) -> None:
    begin = time.perf_counter()
    from tracegen.cli.main import main as tracegen  # the imports are timed too

    status = tracegen(["import", str(file), "--as", "imported"])
    seconds = time.perf_counter() - begin
    peak = _peak_bytes()
    run = next(Path("experiments/imported/runs").iterdir())
    print(json.dumps({"status": status, "seconds": seconds, "peak": peak, **_floor(file, run / "tables")}))


def _floor(file: Path, tables: Path) -> dict[str, float]:
    import numpy as np
    import pyarrow.parquet as pq

    begin = time.perf_counter()
    data = np.fromfile(file, np.uint8)
    read_s = time.perf_counter() - begin
    size = len(data)
    del data
    held = {path: pq.read_table(path) for path in tables.iterdir()}
    begin = time.perf_counter()
    for path, table in held.items():
        pq.write_table(table, path.with_suffix(".again"), compression="zstd")
    return {"read_s": read_s, "write_s": time.perf_counter() - begin, "bytes": size}


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
