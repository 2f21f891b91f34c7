"""`python -m benchmarks.ggmlviz_once FILE`: read a `.ggmlviz` trace into tables; what it took as JSON."""

import json
import sys
import time
from pathlib import Path

from benchmarks.read_once import peak_bytes


def main(path: Path) -> None:
    begin = time.perf_counter()
    from tracegen.readers.foreign import ggmlviz  # the imports are timed too

    ready, before = time.perf_counter(), peak_bytes()
    trace = ggmlviz.read(path.name, path.read_bytes())
    found = {
        "import_s": ready - begin,
        "read_s": time.perf_counter() - ready,
        "peak_imports": before,
        "peak": peak_bytes(),
        "events": trace.facts["n_events"],
        "rows": {name: len(table) for name, table in trace.tables.items() if len(table)},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
