"""Parts of a run on a terminal, as plain text or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracegen.contract.errors import SettingsError
from tracegen.contract.model import Run
from tracegen.contract.records import encode
from tracegen.contract.text import visible

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.analysis.accesses import Tables


def print_ops(tables: Tables, pass_id: int | None, limit: int, as_json: bool) -> None:
    """Print the first `limit` ops in order of execution, of one pass or of all."""
    from tracegen.analysis.operations import op_rows

    rows = op_rows(tables, None if pass_id is None else [_known_pass(tables, pass_id)])
    shown = rows.head(limit)
    print_table(shown, as_json)
    if len(shown) < len(rows):
        print(f"{len(shown):,} of {len(rows):,} ops; --limit N prints more", file=sys.stderr)


def print_stats(run: Run, tables: Tables, as_json: bool) -> None:
    """Print the number of rows of each table, and the facts of the trace."""
    rows, trace = {name: len(table) for name, table in tables.items()}, encode(run.facts.trace)
    print_pairs({**_named("rows of", rows), **_named("trace", trace)}, {"rows": rows, "trace": trace}, as_json)


def print_buffers(tables: Tables, as_json: bool) -> None:
    """Print the runtime buffers, largest first; start and end of a buffer follow each other."""
    rows = tables["buffers"].sort_values(["size_bytes", "buffer_id", "time_ns"], ascending=[False, True, True])
    print_table(rows, as_json)


def _known_pass(tables: Tables, pass_id: int) -> int:
    last = len(tables["passes"]) - 1
    if not 0 <= pass_id <= last:
        raise SettingsError(f"--pass: is {pass_id}; this run has the passes 0 to {last}")
    return pass_id


def print_checks(run: Run, as_json: bool) -> None:
    """Print all checks of the verdict."""
    if as_json:
        print(json.dumps([asdict(check) for check in run.checks], indent=1))
        return
    for check in run.checks:
        print(f"{check.state:11}  {check.title}: {visible(check.found)} (limit: {check.limit})")


def _named(group: str, values: Mapping[str, object]) -> dict[str, object]:
    return {f"{group} {key}": value for key, value in values.items()}


def print_pairs(pairs: Mapping[str, object], figures: Mapping[str, Any], as_json: bool) -> None:
    """Print label and text in two columns, or `figures` as JSON."""
    if as_json:
        print(json.dumps(figures, indent=1, allow_nan=False))
        return
    words = {visible(name): visible("not recorded" if value is None else str(value)) for name, value in pairs.items()}
    if sys.stdout.isatty():
        from tracegen.storing import terminal

        return terminal.print_pairs(words)
    width = max(map(len, words))
    for name, value in words.items():
        print(f"{name:{width}}  {value}")


def print_table(table: pd.DataFrame, as_json: bool) -> None:
    """Print a table with all its rows, or as JSON."""
    if as_json:
        print(table.to_json(orient="records", indent=1))
        return
    shown = table.astype(object).where(table.notna(), "–")
    for column in shown.columns:
        shown[column] = [visible(str(value)) for value in shown[column]]
    if sys.stdout.isatty() and len(shown):
        from tracegen.storing import terminal

        numbers = list(table.select_dtypes("number").columns)
        if terminal.print_table({str(name): list(shown[name]) for name in shown.columns}, numbers):
            return
    print(shown.to_string(index=False) if len(shown) else "none recorded")
