"""`tracegen show`: prints the key figures of a run, or its ops, buffers, tables or checks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracegen.cli.arguments import WHOLE, Converted, Verb, run_names
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible

if TYPE_CHECKING:
    from tracegen.analysis.accesses import Tables
    from tracegen.contract.model import Run

ISSUE = ("hot", "cache", "load", "ops", "disk")
LIMIT = 50


class _Part(click.Choice[str]):
    """A part of the lines for an issue."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """The message that also says how to write a run beside the option, as its value may be left out."""
        known = ", ".join(self.choices)
        return f"{value!r} is none of its parts: {known}; a RUN stands before it: tracegen show RUN --issue"


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is no number of rows; write 1 or more")
    return int(text)


@click.command(
    "show", cls=Verb, exclusive=(("stats", "verify", "ops", "buffers", "issue", "summary"), ("as_json", "issue"))
)
@click.argument("run", metavar="RUN", shell_complete=run_names)
@click.option("--summary", is_flag=True)
@click.option("--stats", is_flag=True)
@click.option("--verify", is_flag=True)
@click.option("--ops", is_flag=True)
@click.option("--buffers", is_flag=True)
@click.option(
    "--limit",
    type=Converted("rows", _at_least_one),
    metavar="N",
    help=f"With --ops: print at most N rows (default {LIMIT}).",
)
@click.option("--pass", "pass_id", type=WHOLE, metavar="K")
@click.option("--issue", type=_Part(ISSUE), is_flag=False, flag_value=ISSUE[0], metavar="[PART]")
@click.option("--json", "as_json", is_flag=True)
def command(
    run: str,
    summary: bool,
    stats: bool,
    verify: bool,
    ops: bool,
    buffers: bool,
    limit: int | None,
    pass_id: int | None,
    issue: str | None,
    as_json: bool,
) -> int:
    """Print the part of the run that the options choose."""
    for option, value in (("--limit", limit), ("--pass", pass_id)):
        if value is not None and not ops:
            raise SettingsError(f"{option}: is allowed only with --ops; add it")
    if issue is not None:
        return _print_issue(run, issue)
    chosen = {"stats": stats, "verify": verify, "ops": ops, "buffers": buffers}
    part = next((name for name, wanted in chosen.items() if wanted), "summary")
    shown = _read_foreign(Path(run)) if _is_foreign(Path(run)) else _stored(run)
    if part == "verify":
        return _verify(shown, as_json)
    _print_part(shown, part, pass_id, limit or LIMIT, as_json)
    return 0


@dataclass(frozen=True)
class _Shown:
    """What is shown: a run, how its tables (all, or those named) and its key figures are had, and its folder.

    `folder`: None for a foreign trace, which has no hashes to verify.
    """

    run: Run
    tables: Callable[[tuple[str, ...] | None], Tables]
    figures: Callable[[], dict[str, Any]]
    folder: Path | None = None


def _is_foreign(path: Path) -> bool:
    """Whether the argument is a file, or a folder that holds no run of tracegen, neither itself nor in `runs`.

    A bare name is that of an experiment here, if there is one with runs: an import is named after its folder.
    """
    from tracegen.reading.folders import EXPERIMENTS

    if path.parts == (path.name,) and (EXPERIMENTS / path.name / "runs").is_dir():
        return False
    if path.is_dir() and path.name in ("", ".."):
        raise SettingsError(f"{path}: is neither a run nor a trace, and only a folder with a name is searched for one")
    return path.is_file() or (path.is_dir() and not any((path / name).exists() for name in ("run.json", "runs")))


def _stored(named: str) -> _Shown:
    from tracegen.reading.folders import run_folder
    from tracegen.reading.shown.figures import figures_of_stored
    from tracegen.storing import store

    folder = run_folder(named)
    run = store.read_run(folder)
    return _Shown(
        run, lambda names: store.read_tables(folder / "tables", names), lambda: figures_of_stored(folder, run), folder
    )


def _read_foreign(path: Path) -> _Shown:
    """A foreign trace, read without importing it; what of it is left out is said."""
    from tracegen.measure.runs import importing
    from tracegen.measure.runs.import_source import found_in
    from tracegen.reading.shown.figures import key_figures
    from tracegen.storing.progress import Progress

    run, tables = importing.as_run(found_in([path], None, None, None), Progress())
    for line in run.facts["imported"]["left_out"]:
        print(f"left out: {visible(line)}", file=sys.stderr)
    return _Shown(run, lambda names: tables, lambda: key_figures(run, tables))


def _print_part(shown: _Shown, part: str, pass_id: int | None, limit: int, as_json: bool) -> None:
    from tracegen.reading.shown import printing
    from tracegen.reading.shown.words import in_words

    match part:
        case "stats":
            printing.print_stats(shown.run, shown.tables(None), as_json)
        case "buffers":
            printing.print_buffers(shown.tables(("buffers",)), as_json)
        case "ops":
            printing.print_ops(shown.tables(None), pass_id, limit, as_json)
        case _:
            figures = shown.figures()
            printing.print_pairs(in_words(figures), figures, as_json)


def _print_issue(named: str, part: str) -> int:
    """Print a part of a run or version as Markdown."""
    from tracegen.contract.text import printable
    from tracegen.reading.folders import run_folder, version_folder
    from tracegen.reading.shown import pasted

    folder = version_folder(named)
    if folder is None and _is_foreign(Path(named)):
        raise SettingsError(f"{named}: is no run; `tracegen import {named}` makes one, which --issue can show")
    text = pasted.of_run(run_folder(named), part) if folder is None else pasted.of_version(folder, part)
    print(printable(text), end="")
    return 0


def _verify(shown: _Shown, as_json: bool) -> int:
    from tracegen.reading.shown.printing import print_checks
    from tracegen.storing import store

    if shown.folder is not None:
        store.verify_run(shown.folder)
    print_checks(shown.run, as_json)
    if shown.folder is not None and not as_json:
        print(f"every file of {shown.folder} is as it was written; {shown.run.verdict}")
    return 1 if shown.run.verdict == "not usable" else 0
