"""`tracegen sql`: answers a statement in SQL about the tables of runs and versions."""

from __future__ import annotations

import csv
import json
import math
import mmap
import resource
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import Verb, run_names
from tracegen.cli.columns import aligned
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.text import visible, without_controls

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.reading.queries import Answer

LIMIT = 100  # rows of the table form
ADDRESSES = 5 << 29  # bytes, of which few become memory: libraries, stacks and pools of threads


@click.command("sql", cls=Verb, exclusive=(("as_csv", "as_json", "schema"),))
@click.argument("runs", metavar="RUN…", nargs=-1, shell_complete=run_names)
@click.argument("statement", metavar="STATEMENT", required=False)
@click.option("--csv", "as_csv", is_flag=True)
@click.option("--json", "as_json", is_flag=True)
@click.option("--schema", is_flag=True)
def command(runs: Sequence[str], statement: str | None, as_csv: bool, as_json: bool, schema: bool) -> int:
    """Print the answer to the statement, or the contract of the tables."""
    if schema:
        if statement is not None:
            raise SettingsError("--schema: takes no run and no statement; leave them out")
        from tracegen.contract.tables import data_dictionary

        print(data_dictionary(), end="")
        return 0
    if statement is None:
        raise click.UsageError("Missing arguments 'RUN' and 'STATEMENT'.")
    if not runs:
        raise SettingsError(f"{statement!r}: is the only argument; name a RUN, and then the statement")
    _refuse_little_memory()
    from tracegen.reading.queries import answered, statement_of

    asked = statement_of(_read() if statement == "-" else statement)
    with answered(asked, _sources(runs, asked.needs)) as answer:
        if as_csv:
            _print_csv(answer)
        elif as_json:
            _print_json(answer)
        else:
            _print_table(answer)
    return 0


def _refuse_little_memory() -> None:
    """Raise EnvironmentFailure where a limit leaves too few addresses for DuckDB's libraries and threads.

    They would end the process themselves, in the midst of a statement and with an error of theirs.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    try:
        mmap.mmap(-1, ADDRESSES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0).close()
    except (OSError, MemoryError) as error:
        raise EnvironmentFailure(
            f"memory is limited to {limit >> 20:,} MiB of addresses (`ulimit -v`), and a statement needs "
            f"{ADDRESSES >> 20:,} MiB besides those in use; raise the limit"
        ) from error


def _read() -> str:
    """The statement on standard input. Raises SettingsError."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise SettingsError("the statement: standard input is not written in UTF-8") from error


def _sources(runs: Sequence[str], needed: Sequence[str]) -> Iterator[tuple[str, dict[str, pd.DataFrame]]]:
    """Address and tables of each run or version, one after the other.

    Raises SettingsError for one that was named twice, or that holds not all tables, as some versions.
    """
    from tracegen.reading.notebook.loaded import LoadedVersion, load

    known: dict[str, str] = {}
    for named in runs:
        loaded = load(named, needed)
        run = loaded.measured
        address = loaded.citation if isinstance(loaded, LoadedVersion) else f"{run.experiment}/{run.name}"
        if address in known:
            raise SettingsError(f"{named}: is {address}, as {known[address]} is; its rows would count twice")
        known[address] = named
        missing = [name for name in needed if name not in loaded.tables]
        if missing:
            raise SettingsError(f"{address}: holds no table {missing[0]!r}; ask the run instead")
        yield address, loaded.tables


def _print_csv(answer: Answer) -> None:
    """All rows as CSV, without what could control a terminal: what reads it may print it."""
    seen = visible if sys.stdout.isatty() else without_controls
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(seen, answer.names))
    for row in answer.rows():
        writer.writerow("" if value is None else seen(_text(value)) for value in row)


def _print_json(answer: Answer) -> None:
    """All rows as a JSON list of objects, one line each. Raises SettingsError for a number that JSON has not."""
    between = "[\n"
    for row in answer.rows():
        fields = (f"{json.dumps(name)}: {_json(value)}" for name, value in zip(answer.names, row, strict=True))
        print(f"{between}{{{', '.join(fields)}}}", end="")
        between = ",\n"
    print("\n]" if between == ",\n" else "[]")


def _print_table(answer: Answer) -> None:
    """The first rows, aligned; how many more there are goes to standard error."""
    from tracegen.reading.queries import distinct

    rows = answer.rows()
    shown = [["–" if value is None else _text(value) for value in row] for row in islice(rows, LIMIT)]
    if answer.names == ("explain_key", "explain_value"):
        for _, plan in shown:
            print("\n".join(map(visible, plan.rstrip("\n").split("\n"))))
        return
    if not shown:
        print("no rows")
        return
    names = distinct([visible(name) for name in answer.names])
    _print_columns(names, [list(map(visible, row)) for row in shown], answer.numbers)
    if more := sum(1 for _ in rows):
        print(f"{LIMIT:,} of {LIMIT + more:,} rows; --csv prints all", file=sys.stderr)


def _print_columns(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> None:
    """Aligned columns; those of numbers to the right."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    if sys.stdout.isatty():
        from tracegen.storing.terminal import print_table

        if print_table(columns, [name for name, number in zip(names, numbers, strict=True) if number]):
            return
    for line in aligned(columns.items(), numbers):
        print(line)


def _text(value: object) -> str:
    """A value as text: lists and structures as JSON, all else as DuckDB would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json(value, plain=True) if isinstance(value, list | tuple | dict) else str(value)


def _json(value: object, *, plain: bool = False) -> str:
    """A value as JSON, exact; with `plain`, what JSON has not is written as text.

    Raises SettingsError for NaN and infinity.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Decimal():
            return format(value, "f")
        case float():
            if plain or math.isfinite(value):
                return repr(value)
            raise SettingsError(f"the statement: {value} is no number in JSON; leave it out, or use --csv")
        case list() | tuple():
            return f"[{', '.join(_json(item, plain=plain) for item in value)}]"
        case dict():
            return f"{{{', '.join(f'{json.dumps(str(k))}: {_json(v, plain=plain)}' for k, v in value.items())}}}"
    return json.dumps(str(value))
