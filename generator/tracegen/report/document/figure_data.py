"""The first rows of a figure's data as a table, for readers who cannot see the drawing."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.contract import quantities as q

MOST = 12  # rows in the page; the CSV has all


@dataclass(frozen=True)
class FigureData:
    """Columns as (name in the CSV, whether it holds numbers, texts of the first rows), and the number of all rows."""

    columns: tuple[tuple[str, bool, tuple[str, ...]], ...]
    n_rows: int

    @property
    def rows(self) -> list[tuple[tuple[str, bool], ...]]:
        """The first rows: each cell with whether it is a number."""
        return list(zip(*([(text, number) for text in texts] for _, number, texts in self.columns), strict=True))


def figure_data(data: pd.DataFrame) -> FigureData:
    """The first rows of a figure's data as texts."""
    first = data.head(MOST)
    columns = []
    for name in first.columns:
        number = bool(pd.api.types.is_numeric_dtype(first[name])) and not pd.api.types.is_bool_dtype(first[name])
        columns.append((str(name), number, tuple(_texts(first[name], number))))
    return FigureData(tuple(columns), len(data))


def _texts(values: Iterable[Any], number: bool) -> Iterable[str]:
    for value in values:
        if not q.known(value):
            yield "—"
        elif not number:
            yield q.printable(value)
        elif float(value).is_integer():
            yield q.count(value)
        else:
            yield _decimal(float(value))


def _decimal(value: float) -> str:
    """Six significant digits or more, never as a power of ten: `8 260 220`, `0.548396`."""
    digits = max(0, 5 - (math.floor(math.log10(abs(value))) if value else 0))
    text = f"{value:,.{min(digits, 12)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace(",", q.THIN)
