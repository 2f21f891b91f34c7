"""What a site with many published versions costs to build, beside a bare MkDocs site of as many pages."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config
from tests.stand_in import KEYS, a_project, a_report, a_run, a_run_folder, a_version

from benchmarks.result import Result
from tracegen.commands.build import build_site
from tracegen.progress import Progress

FACTOR, EXTRA_S = 1.5, 3.0


def run(quick: bool) -> list[Result]:
    n, repeats = (10, 1) if quick else (100, 3)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-") as name:
        work = Path(name)
        progress.step(f"publish {n} versions")
        config = a_project(work / "ours")
        for number in range(1, n + 1):
            a_version(work / "ours" / "experiments", number=number, report=a_report(title=f"Version {number}"))
            progress.update(number, n, "versions")
        build_site(config)  # what they cost when they were published is paid
        pages = len(list((work / "ours" / "site").rglob("*.html")))
        bare = _bare_site(work / "bare", pages)
        progress.step("build both sites")
        ours, theirs = [], []
        for repeat in range(repeats):
            a_run_folder(work / "ours" / "experiments", a_run(number=repeat + 1))
            ours.append(_seconds(lambda: build_site(config)))
            theirs.append(_seconds(lambda: build(load_config(str(bare)))))
            progress.update(repeat + 1, repeats, "rounds")
        progress.done()
    base, mine = statistics.median(theirs), statistics.median(ours)
    note = f"median of {repeats}; {n} versions of {len(KEYS)} stand-in pages and one new run each time"
    return [
        Result(f"bare MkDocs, {pages} trivial pages", base, "s", note=f"median of {repeats}"),
        Result(f"tracegen build, {pages} pages", mine, "s", FACTOR * base + EXTRA_S, note),
    ]


def _bare_site(folder: Path, pages: int) -> Path:
    config = a_project(folder)
    config.write_text(config.read_text().replace(", tracegen", ""))
    (folder / "journal" / "index.md").write_text("# Journal\n")
    for number in range(pages - 1):
        (folder / "journal" / f"page-{number}.md").write_text(f"# Page {number}\n\nNothing.\n")
    return config


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
