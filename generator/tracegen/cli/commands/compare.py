"""`tracegen compare`: says what differs between two sets of runs, and how certain that is."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import Verb, run_names
from tracegen.contract.errors import CheckError, SettingsError
from tracegen.contract.text import visible
from tracegen.storing.resources import LOCAL

if TYPE_CHECKING:
    from tracegen.comparing.comparison import Comparison
    from tracegen.publishing.side import Side
    from tracegen.report.document.page import Report

MOST_IN_FULL = 4  # comparisons; of more, only the answers are printed
FOLDER = LOCAL / "comparisons"


@click.command("compare", cls=Verb, exclusive=(("as_json", "markdown"),))
@click.argument("first", metavar="A", shell_complete=run_names)
@click.argument("others", metavar="[B…]", nargs=-1, shell_complete=run_names)
@click.option("--json", "as_json", is_flag=True)
@click.option("--markdown", is_flag=True)
@click.option(
    "--margin", metavar="PERCENT", type=click.FloatRange(0, 100, min_open=True), default=5.0, show_default=True
)
@click.option("--fail-on", metavar="RULE", multiple=True)
def command(
    first: str, others: tuple[str, ...], as_json: bool, markdown: bool, margin: float, fail_on: tuple[str, ...]
) -> int:
    """Compare A with each B; print what differs and write a page of each comparison."""
    from tracegen.comparing import rules
    from tracegen.comparing.comparison import compare
    from tracegen.comparing.effects import effects
    from tracegen.comparing.matrix_page import render_matrix
    from tracegen.comparing.sides import side_of

    asked = [rules.parsed(text) for text in fail_on]
    if math.isnan(margin):  # a range of floats holds it
        raise SettingsError("--margin: nan is not a change in per cent")
    if others:
        sides = [side_of(text) for text in (first, *others)]
        comparisons = [compare(sides[0], side, margin=margin / 100) for side in sides[1:]]
    else:
        sides = _cells(first)
        found = effects(sides, margin / 100)
        comparisons = [effect.comparison for effect in found]
    if asked and not comparisons:
        raise SettingsError(
            f"--fail-on: no two cells of {first} differ in one factor alone; name two: {first}:FACTOR=VALUE"
        )
    broken = [line for c in comparisons for rule in asked if (line := rules.broken(rule, c))]
    if as_json:
        print(json.dumps([rules.as_json(c) for c in comparisons], indent=1, allow_nan=False))
    elif markdown:
        from tracegen.comparing.markdown import markdown_of

        print("\n".join(markdown_of(c) for c in comparisons))
    else:
        for comparison in comparisons:
            _print(comparison, in_full=len(comparisons) <= MOST_IN_FULL)
        if others:
            _write_pages(comparisons)
        else:
            print(f"page: {_written(render_matrix(first, sides, margin=margin / 100, found=found))}")
    if broken:
        raise CheckError("; ".join(broken))
    return 0


def _cells(name: str) -> list[Side]:
    """The cells of the newest matrix of an experiment: its runs, else its versions; SettingsError without two."""
    from tracegen.comparing.sides import cells_of, newest_published_cells
    from tracegen.reading.folders import EXPERIMENTS
    from tracegen.storing import store

    cells: list[Side] = []
    if not set(name) & set("/:@"):
        has_runs = bool(store.run_folders(EXPERIMENTS / name)) or (Path(name) / "runs").is_dir()
        cells = cells_of(name) if has_runs else newest_published_cells(name) or cells_of(name)
    if len(cells) < 2:
        raise SettingsError(f"{name}: nothing to compare it with; name a second side, or an experiment with a matrix")
    return cells


def _print(comparison: Comparison, *, in_full: bool) -> None:
    """The answer on the terminal, and below it what it rests on; of many comparisons their pages have that."""
    from tracegen.comparing import prose
    from tracegen.comparing import sentences as say
    from tracegen.comparing.answer import answer
    from tracegen.comparing.machines import machines

    print(visible(f"{comparison.a.name} → {comparison.b.name}: {answer(comparison)}"))
    rest = (
        f"{comparison.names} {machines(comparison.a, comparison.b)}",
        say.in_brief(comparison),
        *map(prose.text_of, prose.answers(comparison)),
        *say.rule(comparison),
    )
    for line in rest if in_full else ():
        print(f"  {visible(line)}")


def _write_pages(comparisons: Sequence[Comparison]) -> None:
    """Write a page for each comparison, and print where; of many, standard error says how far it is."""
    from tracegen.comparing.page import render_comparison
    from tracegen.storing.progress import Progress

    progress = Progress()
    progress.step("draw the page" if len(comparisons) == 1 else f"draw {len(comparisons)} pages")
    written = []
    for n, comparison in enumerate(comparisons, 1):
        written.append(_written(render_comparison(comparison)))
        progress.update(n, len(comparisons), "pages")
    progress.done()
    for path in written:
        print(f"page: {path}")


def _written(report: Report) -> Path:
    """Write the report below FOLDER, under a name of its own, and return the path of its page."""
    from tracegen.publishing.bundle import write_comparison

    place = FOLDER / hashlib.sha256(report.title.encode()).hexdigest()[:12]
    shutil.rmtree(place, ignore_errors=True)
    write_comparison(place, report)
    return place / "index.html"
