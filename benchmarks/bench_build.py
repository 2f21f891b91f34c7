"""What a site with many published versions costs to build, beside a bare MkDocs site of as many pages."""

import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.builders import a_run, scaled_case
from tests.stand_in import a_project, a_version

from benchmarks.result import Result
from tracegen.cli.commands.build import build_site
from tracegen.contract.errors import EnvironmentFailure
from tracegen.report.pages.render import render_report
from tracegen.storing import store
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

TABLES = scaled_case(4, 12, moe=True)

FACTOR, EXTRA_S = 1.5, 3.5  # the rest is one draft, whose figures are drawn for three widths


def run(quick: bool) -> list[Result]:
    n, repeats = (10, 1) if quick else (100, 3)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-") as name:
        work = Path(name)
        experiments = work / "ours" / "experiments"
        progress.step(f"publish {n} versions")
        config = a_project(work / "ours")
        report = render_report(a_run(), TABLES, address="sample/v1", citable=None)
        for number in range(1, n + 1):
            a_version(experiments, number=number, report=report)
            progress.update(number, n, "versions")
        build_site(config)  # what they cost when they were published is paid
        pages = len(list((work / "ours" / "site").rglob("*.html")))
        bare = _bare_site(work / "bare", pages)
        progress.step("build both sites")
        ours, theirs = [], []
        for repeat in range(repeats):
            _store_run(experiments / "new", repeat + 1)
            ours.append(_seconds(config))
            theirs.append(_seconds(bare))
            progress.update(repeat + 1, repeats, "rounds")
        progress.done()
    base, mine = statistics.median(theirs), statistics.median(ours)
    note = f"median of {repeats}; {n} versions of {len(report.files)} files and one new run each time, whole processes"
    return [
        Result(f"bare MkDocs, {pages} trivial pages out of the nav", base, "s", note=f"median of {repeats}"),
        Result(f"tracegen build, {pages} pages", mine, "s", FACTOR * base + EXTRA_S, note),
    ]


def _store_run(experiment: Path, number: int) -> None:
    """A new run for the build to draw: the same tables under a new number."""
    run = replace(a_run(), experiment=experiment.name, number=number)
    with store.part_folder(experiment / "runs") as part:
        store.write_tables(part / "tables", TABLES, "bench")
        store.place_numbered(part, experiment / "runs", lambda n: store.write_run_file(part, run))


def _bare_site(folder: Path, pages: int) -> Path:
    config = a_project(folder)
    text = config.read_text().replace(", tracegen", "")
    config.write_text(text + "\nnav: [index.md]\nnot_in_nav: page-*.md\n")
    (folder / "journal" / "index.md").write_text("# Journal\n")
    for number in range(pages - 1):
        (folder / "journal" / f"page-{number}.md").write_text(f"# Page {number}\n\nNothing.\n")
    return config


def _seconds(config: Path) -> float:
    """Wall time of `mkdocs build` in a process of its own: both sites are built by the same command."""
    log = config.with_name("build.log")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", str(config)]
    ended = run_program(command, stdout=log, stderr=log, cwd=config.parent)
    if ended.status != 0:
        raise EnvironmentFailure(f"mkdocs build: {ended.ending}:\n{last_lines(log)}")
    return ended.seconds
