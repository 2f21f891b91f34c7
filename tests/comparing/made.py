"""Runs and sides for tests of comparing: measures written by hand, or of the tables of a case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tests.builders import a_run
from tracegen.comparing.measures import COLUMNS, measures
from tracegen.comparing.side import Measured, Side
from tracegen.report.figures.context import Context

HOST = dict(cpu="Example CPU", cores=2, memory_bytes=8 << 30)


def run_with(number: int, rows: Sequence[tuple[Any, ...]], **facts: Any) -> Measured:
    """A run with these measures: (phase, by, item, what, kind, unit, value)."""
    table = pd.DataFrame(rows, columns=COLUMNS)
    created = f"2026-11-20T12:{number // 60:02d}:{number % 60:02d}Z"
    return Measured(f"made/run-{number:03d}", created, {"host": HOST, **facts}, (), lambda: table, dict)


def timed(
    value: float, what: str = "speed", by: str = "run", item: str = "", unit: str = "tokens/s"
) -> tuple[Any, ...]:
    return ("generate", by, item, what, "timed", unit, value)


def counted(value: float, what: str = "tokens", by: str = "run", item: str = "") -> tuple[Any, ...]:
    return ("generate", by, item, what, "counted", "", value)


def side(name: str, runs: Sequence[Sequence[tuple[Any, ...]]], first: int = 1, **facts: Any) -> Side:
    return Side(name, tuple(run_with(first + i, rows, **facts) for i, rows in enumerate(runs)))


def of_tables(name: str, tables: Mapping[str, pd.DataFrame], n: int = 1, **facts: Any) -> Side:
    """A side of `n` equal runs of a case."""
    run = a_run(**facts)
    table = measures(Context(run, tables))
    rows = [
        Measured(
            f"{name}/run-{i:03d}", f"2026-11-20T12:00:{i:02d}Z", run.facts, run.checks, lambda: table, lambda: tables
        )
        for i in range(1, n + 1)
    ]
    return Side(name, tuple(rows))


def slot(round_: int, **factors: str) -> dict[str, Any]:
    return {"matrix": "abc/1", "factors": factors, "round": round_, "number": round_, "of": 99}


def measures_of(name: str, tables: Mapping[str, pd.DataFrame], factors: Sequence[float]) -> Side:
    """A run of a case for each factor: times are so much longer, and rates so much lower."""
    (base,) = of_tables(name, tables).runs
    runs = []
    for i, factor in enumerate(factors, 1):
        table = base.measures.copy()
        timed_rows = table["kind"] == "timed"
        table.loc[timed_rows & (table["unit"] == "ns"), "value"] *= factor
        table.loc[timed_rows & (table["unit"] == "tokens/s"), "value"] /= factor
        runs.append(replace(base, name=f"{name}/{i}", created=f"2026-11-20T12:00:{i:02d}Z", measure=table.copy))
    return Side(name, tuple(runs))
