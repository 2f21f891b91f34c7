"""`python -m benchmarks.analyse_once TABLES`: answer all questions of stored tables; what it took as JSON."""

import json
import sys
import time
from pathlib import Path


def main(tables_folder: Path) -> None:
    from tests.builders import a_moe_run

    from tracegen.report.figures.answers import answers, questions
    from tracegen.report.figures.context import Context
    from tracegen.storing import store

    tables = store.read_tables(tables_folder)
    context = Context(a_moe_run(), tables)
    seconds, answered = {}, 0
    for part in questions():
        begin = time.perf_counter()
        answered += sum(not answer.reason for answer in answers(context, [part]))
        seconds[part.key] = time.perf_counter() - begin
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = {
        "seconds": seconds,
        "answered": answered,
        "peak": next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")),
        "rows": {name: len(tables[name]) for name in ("passes", "ops", "spans", "touches", "routing")},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
