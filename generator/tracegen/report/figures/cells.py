"""The cells, heads and columns of tables; their text is not escaped yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.contract import quantities as q

LONGEST = 120  # characters: a longer name is shortened in its cell


@dataclass(frozen=True)
class Cell:
    """A table cell: `bar` (0 … 1) draws a thin bar, `href` a link, `dot` the colour of a group; `exact` is the title.

    A cell shows only both ends of a name (`code`) that is longer than LONGEST; its title and the CSV have all of it.
    """

    text: str
    number: bool = False
    bar: float | None = None
    href: str = ""
    exact: str = ""
    dot: str = ""
    code: bool = False

    @property
    def shown(self) -> str:
        """The text in the cell, shortened if it is a long name."""
        long = self.code and len(self.text) > LONGEST
        return f"{self.text[: LONGEST - 30]} … {self.text[-24:]}" if long else self.text

    @property
    def title(self) -> str:
        """The text that appears on hover: the exact value, or the full text of a shortened name."""
        return self.exact or (self.text if self.shown != self.text else "")


@dataclass(frozen=True)
class Head:
    """A column's head: label, unit, and whether the column holds numbers."""

    label: str
    unit: str = ""
    number: bool = False


def cells(*values: str | Cell) -> tuple[Cell, ...]:
    """A row; plain strings become text cells."""
    return tuple(value if isinstance(value, Cell) else Cell(value) for value in values)


def number(text: str) -> Cell:
    """A number, as text."""
    return Cell(text, number=True)


def size(value: Any) -> Cell:
    """Bytes in MiB, the exact number on hover."""
    if not q.known(value):
        return Cell(q.UNKNOWN, number=True)
    mib = float(value) / 2**20
    return Cell(q.decimal(mib, 3 if 0 < mib < 1 else 2), number=True, exact=f"{q.count(value)} bytes")


def share(part: Any, whole: float) -> Cell:
    """`part` as a percentage of `whole`, with its bar; no bar where it is not known."""
    if not q.known(part) or not whole:
        return Cell(q.UNKNOWN, number=True)
    return Cell(q.percent(part / whole), number=True, bar=part / whole)


def between(low: Any, high: Any, text: Callable[[Any], str]) -> Cell:
    """A range, `LOW to HIGH`; `not applicable` where there is none."""
    return Cell(f"{text(low)} to {text(high)}" if q.known(low) and q.known(high) else q.NOT_APPLICABLE, number=True)


def applicable(value: Any, text: Callable[[Any], str]) -> Cell:
    """A number, or `not applicable` where there is none."""
    return Cell(text(value) if q.known(value) else q.NOT_APPLICABLE, number=True)


Row = Mapping[Any, Any]  # a row of an analysis: column -> value


@dataclass(frozen=True)
class Column:
    """A column of a table that has a row for each row of an analysis: its head, and its cell for such a row."""

    head: Head
    cell: Callable[[Row], Cell]


def table(
    rows: pd.DataFrame | Sequence[Row], columns: Sequence[Column]
) -> tuple[tuple[Head, ...], list[tuple[Cell, ...]]]:
    """The heads of the columns, and the cells of each row."""
    records: Sequence[Row] = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return tuple(c.head for c in columns), [tuple(c.cell(row) for c in columns) for row in records]


def column(label: str, of: Callable[[Row], str | Cell]) -> Column:
    """A column of text, or of cells that `of` makes."""
    return Column(Head(label), lambda row: cells(of(row))[0])


def numbers(label: str, of: Callable[[Row], str | Cell], unit: str = "") -> Column:
    """A column of numbers, as text or as cells that `of` makes."""

    def cell(row: Row) -> Cell:
        made = of(row)
        return made if isinstance(made, Cell) else number(made)

    return Column(Head(label, unit, True), cell)


def counts(label: str, name: str) -> Column:
    """A column of exact whole numbers."""
    return numbers(label, lambda row: q.count(row[name]))


def decimals(label: str, name: str, digits: int, unit: str = "", scale: float = 1) -> Column:
    """A column of numbers of so many decimals, in units of `scale`; empty where one is not known."""
    return numbers(label, lambda row: q.decimal(row[name] / scale, digits) if q.known(row[name]) else "", unit)


def sizes(label: str, name: str) -> Column:
    """A column of bytes, in MiB."""
    return numbers(label, lambda row: size(row[name]), "MiB")


def percents(label: str, name: str) -> Column:
    """A column of shares as percentages, without bars."""
    return numbers(label, lambda row: q.percent(row[name]))


def shares(label: str, name: str, of: str | float = 1) -> Column:
    """A column of percentages with bars; `of`: the whole, or the column that has it."""
    return numbers(label, lambda row: share(row[name], row[of] if isinstance(of, str) else of))


def names(label: str, name: str, unknown: str = "") -> Column:
    """A column of names from a model or trace; `unknown` stands where there is none."""
    return column(label, lambda row: Cell(q.printable(row[name]), code=True) if q.known(row[name]) else unknown)


def components(label: str = "Component", name: str = "component") -> Column:
    """A column of components with the colours of their groups; empty where one is not known."""
    return column(
        label, lambda row: Cell(str(row[name]), dot=theme.group(row[name])) if q.known(row[name]) else ""
    )
