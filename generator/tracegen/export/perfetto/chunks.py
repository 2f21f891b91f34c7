"""Cuts a run into chunks of whole passes, so that a trace is made of it piece by piece, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract.errors import TableError
from tracegen.export.format import Source


@dataclass(frozen=True)
class Sorted:
    """A table by a column without nulls, in ascending order."""

    table: pd.DataFrame
    values: np.ndarray

    @classmethod
    def by(cls, table: pd.DataFrame, column: str) -> Sorted:
        """The rows of `table` with a value in `column`, sorted by it; the order of equal ones stays."""
        known = table[column].notna().to_numpy(bool)
        table = table if known.all() else table[known]
        values = table[column].to_numpy(table[column].dtype.name.lower())
        if (values[1:] < values[:-1]).any():
            order = np.argsort(values, kind="stable")
            table, values = table.iloc[order], values[order]
        return cls(table, values)

    def between(self, first: int | None, end: int | None) -> pd.DataFrame:
        """The rows with first <= value < end; None: no bound."""
        whole = self.values.dtype.type  # of another type, NumPy would convert all values
        begin = 0 if first is None else int(np.searchsorted(self.values, whole(first)))
        stop = len(self.values) if end is None else int(np.searchsorted(self.values, whole(end)))
        return self.table.iloc[begin:stop]


@dataclass(frozen=True)
class Chunk:
    """The passes of some numbers that follow each other, and what lies in their time and belongs to no pass."""

    numbers: np.ndarray  # the passes; none in a run without passes
    begin_ns: int  # of the first pass
    first_ns: int | None  # start of its time; None: it has all before, too
    end_ns: int | None  # end of its time; None: it has all after, too
    tables: dict[str, pd.DataFrame]


_BY_PASS = ("passes", "ops", "spans", "splits", "copies", "device_ops", "faults", "barriers")
_WEIGHED = ("ops", "spans", "faults", "barriers")  # those with most rows


def chunks(source: Source, n_rows: int) -> Iterator[Chunk]:
    """The chunks of a run in order: each of about `n_rows` rows of its largest tables, and of one pass at least.

    A fault without pass and a request belong to the chunk in whose time they began. Each row is in one chunk.
    """
    by_pass = {name: Sorted.by(source.table(name), "pass_id") for name in _BY_PASS}
    faults, requests = source.table("faults"), source.table("requests")
    by_time = {
        "faults": Sorted.by(faults[faults["pass_id"].isna().to_numpy(bool)], "begin_ns"),
        "requests": Sorted.by(requests, "issue_ns"),
    }
    passes = by_pass["passes"]
    times = np.maximum.accumulate(passes.table["begin_ns"].to_numpy(np.int64))
    starts = _starts(by_pass, n_rows)
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        numbers, moments = (
            (None if start == 0 else int(values[start]), None if stop is None else int(values[stop]))
            for values in (passes.values, times)
        )
        tables = {name: table.between(*numbers) for name, table in by_pass.items()}
        tables["faults"] = pd.concat([tables["faults"], by_time["faults"].between(*moments)])
        tables["requests"] = by_time["requests"].between(*moments)
        begin = int(times[start]) if len(times) else 0
        yield Chunk(passes.values[start:stop], begin, *moments, tables)


def _starts(by_pass: dict[str, Sorted], n_rows: int) -> list[int]:
    """The places in the table of passes at which chunks begin; the first is 0."""
    numbers = by_pass["passes"].values
    weights = np.ones(len(numbers), np.int64)
    for name in _WEIGHED:
        weights += np.diff(np.searchsorted(by_pass[name].values, numbers), append=len(by_pass[name].values))
    starts, filled = [0], 0
    for place, weight in enumerate(weights.tolist()):
        if filled and filled + weight > n_rows:
            starts.append(place)
            filled = 0
        filled += weight
    return starts


def integers(values: pd.Series, unknown: int = 0) -> np.ndarray:
    """A column as int64; `unknown` where it is null."""
    return values.to_numpy(np.int64, na_value=unknown)


def refuse_backwards(name: str, table: pd.DataFrame, begin: np.ndarray, end: np.ndarray) -> None:
    """Raise TableError for a row that ends before it begins."""
    wrong = np.flatnonzero(end < begin)
    if len(wrong):
        row = int(table.index[wrong[0]])
        raise TableError(f"table {name}: row {row} ends before it begins, which no timeline can show; export csv")
