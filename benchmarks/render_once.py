"""`python -m benchmarks.render_once TABLES FOLDER`: make the pages of stored tables; what it took as JSON."""

import json
import sys
import time
from pathlib import Path


def main(tables_folder: Path, target: Path) -> None:
    from tests.builders import a_moe_run
    from tests.report_files import write_report

    from tracegen.report.pages.render import render_report
    from tracegen.site import vega
    from tracegen.storing import store

    tables = store.read_tables(tables_folder)
    begin = time.perf_counter()
    report = render_report(a_moe_run(), tables, address="bench/run-001", citable=None)
    rendered = time.perf_counter()
    write_report(target, report, vega.script(target.parent))
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = {
        "render_s": rendered - begin,
        "peak": next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")),
        "bytes": sum(len(content) for content in (*report.files.values(), *report.assets.values())),
        "rows": {name: len(tables[name]) for name in ("passes", "ops", "spans", "touches")},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
