"""Runs and sides for tests of comparing: measures written by hand, or of the tables of a case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tests.builders import a_run
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.measures import BY_KEY, COLUMNS, compared
from tracegen.contract.facts import Facts
from tracegen.contract.records import decode, encode
from tracegen.publishing.side import Measured, Side

HOST = dict(cpu="Example CPU", cores=2, memory_bytes=8 << 30)


def run_with(number: int, rows: Sequence[tuple[Any, ...]], **facts: Any) -> Measured:
    """A run with these measures, each a row of `measures.COLUMNS`."""
    table = pd.DataFrame(rows, columns=COLUMNS)
    created = f"2026-11-20T12:{number // 60:02d}:{number % 60:02d}Z"
    known = decode(Facts, encode({"host": HOST, **facts}))
    return Measured(f"made/run-{number:03d}", created, known, (), lambda: table, dict)


def timed(
    value: float,
    key: str = "tokens_per_second_generate",
    by: str = "run",
    item: str = "",
    unit: str = "tokens/s",
    phase: str = "generate",
) -> tuple[Any, ...]:
    return _row(key, phase, by, item, "timed", unit, value)


def counted(
    value: float, key: str = "generated_tokens", by: str = "run", item: str = "", unit: str = ""
) -> tuple[Any, ...]:
    return _row(key, "generate", by, item, "counted", unit, value)


def _row(key: str, phase: str, by: str, item: str, kind: str, unit: str, value: float) -> tuple[Any, ...]:
    """A row of measures; one that the list has not is called by its key."""
    if key in BY_KEY:
        return key, BY_KEY[key].phase, by, item, BY_KEY[key].label, kind, BY_KEY[key].unit, value
    return " ".join(filter(None, (key, item))), phase, by, item, key, kind, unit, value


def side(name: str, runs: Sequence[Sequence[tuple[Any, ...]]], first: int = 1, **facts: Any) -> Side:
    return Side(name, tuple(run_with(first + i, rows, **facts) for i, rows in enumerate(runs)))


def of_tables(name: str, tables: Mapping[str, pd.DataFrame], n: int = 1, **facts: Any) -> Side:
    """A side of `n` equal runs of a case."""
    run = a_run(**facts)
    table = compared(Analyses(run, tables))
    rows = [
        Measured(
            f"{name}/run-{i:03d}", f"2026-11-20T12:00:{i:02d}Z", run.facts, run.checks, lambda: table, lambda: tables
        )
        for i in range(1, n + 1)
    ]
    return Side(name, tuple(rows))


def slot(round_: int, **factors: str) -> dict[str, Any]:
    place = {"matrix": "abc/1", "factors": factors, "cell": "", "cells": 9, "repeat": 9}
    return {**place, "round": round_, "number": round_, "of": 99}


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
