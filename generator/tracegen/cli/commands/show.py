"""`tracegen show`: prints the key figures of a run, the answer to a question, or its ops, buffers, tables or checks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from tracegen.cli.arguments import WHOLE, Converted, Verb, run_names
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible

if TYPE_CHECKING:
    from tracegen.analysis.accesses import Tables
    from tracegen.contract.model import Run
    from tracegen.report.figures.context import Context

LIMIT = 50


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number of rows; write 1 or more")
    return int(text)


def _question_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from tracegen.cli.answers import ALL, by_key

    return [CompletionItem(key) for key in (ALL, *by_key()) if key.startswith(incomplete)]


@click.command(
    "show",
    cls=Verb,
    exclusive=(
        ("stats", "verify", "ops", "buffers", "issue", "summary"),
        ("as_json", "issue"),
        ("as_csv", "as_json"),
    ),
)
@click.argument("run", metavar="RUN", shell_complete=run_names)
@click.argument("question", metavar="[QUESTION]", required=False, shell_complete=_question_keys)
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
@click.option("--issue", is_flag=True)
@click.option("--csv", "as_csv", is_flag=True)
@click.option("--json", "as_json", is_flag=True)
def command(
    run: str,
    question: str | None,
    summary: bool,
    stats: bool,
    verify: bool,
    ops: bool,
    buffers: bool,
    limit: int | None,
    pass_id: int | None,
    issue: bool,
    as_csv: bool,
    as_json: bool,
) -> int:
    """Print the answer to a question, or the part of the run that the options choose."""
    for option, value in (("--limit", limit), ("--pass", pass_id)):
        if value is not None and not ops:
            raise SettingsError(f"{option}: is allowed only with --ops; add it")
    if as_csv and question is None:
        raise SettingsError("--csv: prints the data of one answer; name its QUESTION (show RUN all lists them)")
    parts = {"stats": stats, "verify": verify, "ops": ops, "buffers": buffers, "issue": issue, "summary": summary}
    part = next((name for name, wanted in parts.items() if wanted), "")
    if question is not None:
        if part:
            raise SettingsError(f"--{part}: is not allowed with a QUESTION")
        from tracegen.cli.answers import print_answers

        print_answers(lambda: _context(run), question, as_csv=as_csv, as_json=as_json)
        return 0
    if issue:
        return _print_issue(run)
    shown = _shown(run)
    if part == "verify":
        return _verify(shown, as_json)
    _print_part(shown, part, pass_id, limit or LIMIT, as_json)
    return 0


@dataclass(frozen=True)
class _Shown:
    """What is shown: a run with its tables, and its folder; None for a foreign trace, which has no hashes to verify."""

    run: Run
    tables: Tables
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


def _shown(named: str) -> _Shown:
    from tracegen.reading.folders import run_folder
    from tracegen.storing import store

    if _is_foreign(Path(named)):
        return _read_foreign(Path(named))
    folder = run_folder(named)
    return _Shown(store.read_run(folder), store.StoredTables(folder / "tables"), folder)


def _read_foreign(path: Path) -> _Shown:
    """A foreign trace, read without importing it; what of it is left out is printed."""
    from tracegen.foreign import importing
    from tracegen.foreign.selection import found_in
    from tracegen.storing.progress import Progress

    run, tables = importing.as_run(found_in([path]), Progress())
    for line in (run.facts.imported and run.facts.imported.left_out) or ():
        print(f"left out: {visible(line)}", file=sys.stderr)
    return _Shown(run, tables)


def _context(named: str) -> Context:
    """What a run, a version or a foreign trace answers questions with."""
    from tracegen.reading.folders import version_folder
    from tracegen.reading.notebook.loaded import load_version
    from tracegen.report.figures.context import Context

    if folder := version_folder(named):
        version = load_version(folder)
        return Context(version.measured, version.tables)
    shown = _shown(named)
    return Context(shown.run, shown.tables)


def _print_part(shown: _Shown, part: str, pass_id: int | None, limit: int, as_json: bool) -> None:
    from tracegen.reading.shown import printing
    from tracegen.reading.shown.figures import figures_of_stored, key_figures
    from tracegen.reading.shown.words import in_words

    match part:
        case "stats":
            printing.print_stats(shown.run, shown.tables, as_json)
        case "buffers":
            printing.print_buffers(shown.tables, as_json)
        case "ops":
            printing.print_ops(shown.tables, pass_id, limit, as_json)
        case _:
            figures = (
                figures_of_stored(shown.folder, shown.run) if shown.folder else key_figures(shown.run, shown.tables)
            )
            printing.print_pairs(in_words(figures), figures, as_json)


def _print_issue(named: str) -> int:
    """Print what a run or version has found, as Markdown."""
    from tracegen.contract.text import printable
    from tracegen.reading.folders import run_folder, version_folder
    from tracegen.reading.shown import issue

    folder = version_folder(named)
    if folder is None and _is_foreign(Path(named)):
        raise SettingsError(f"{named}: is not a run; `tracegen import {named}` makes one, which --issue can show")
    text = issue.of_run(run_folder(named)) if folder is None else issue.of_version(folder)
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
