"""Columns of tables that have a row for each row of an analysis: each has its head, and makes its cell from a row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.document import cells
from tracegen.report.document.cells import Cell, Head

Row = Mapping[Any, Any]  # a row of an analysis: column -> value


@dataclass(frozen=True)
class Column:
    """A column of a table that has a row for each row of an analysis: its head, and its cell for such a row."""

    head: Head
    cell: Callable[[Row], Cell]


def laid_out(rows: pd.DataFrame | Sequence[Row], *columns: Column) -> tuple[tuple[Head, ...], list[tuple[Cell, ...]]]:
    """The heads of the columns, and the cells of each row."""
    records: Sequence[Row] = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return tuple(c.head for c in columns), [tuple(c.cell(row) for c in columns) for row in records]


def text(label: str, of: Callable[[Row], str | Cell]) -> Column:
    """A column of text, or of cells that `of` makes."""
    return Column(Head(label), lambda row: cells.cells(of(row))[0])


def number(label: str, of: Callable[[Row], str | Cell], unit: str = "") -> Column:
    """A column of numbers: as text, or as cells that `of` makes."""

    def cell(row: Row) -> Cell:
        value = of(row)
        return value if isinstance(value, Cell) else cells.number(value)

    return Column(Head(label, unit, True), cell)


def count(label: str, name: str, unit: str = "") -> Column:
    """A column of exact whole numbers."""
    return number(label, lambda row: q.count(row[name]), unit)


def decimal(label: str, name: str, digits: int, unit: str = "", scale: float = 1) -> Column:
    """A column of numbers of so many decimals, in units of `scale`; empty where one is not known."""
    return number(label, lambda row: q.decimal(row[name] / scale, digits) if q.known(row[name]) else "", unit)


def size(label: str, name: str) -> Column:
    """A column of bytes, in MiB."""
    return number(label, lambda row: cells.size(row[name]), "MiB")


def percent(label: str, name: str) -> Column:
    """A column of shares as percentages, without bars."""
    return number(label, lambda row: q.percent(row[name]))


def share(label: str, name: str, of: str | float = 1) -> Column:
    """A column of percentages with bars; `of`: the whole, or the column that has it."""
    return number(label, lambda row: cells.share(row[name], row[of] if isinstance(of, str) else of))


def name(label: str, name: str, unknown: str = "") -> Column:
    """A column of names from a model or trace; `unknown` stands where there is none."""
    return text(label, lambda row: Cell(q.printable(row[name]), code=True) if q.known(row[name]) else unknown)


def node(label: str, at: str = "node") -> Column:
    """A column of names of nodes, which lead to the operation of the column `at` in its pass."""

    def cell(row: Row) -> Cell:
        href = f"{cells.OPERATIONS}#pass={row['pass_id']}&node={row[at]}"
        return Cell(q.printable(row["name"]), code=True, href=href)

    return text(label, cell)


def layer() -> Column:
    """A column of layers; empty outside all of them."""
    return number("Layer", lambda row: str(row["layer"]) if q.known(row["layer"]) else "")


def component() -> Column:
    """A column of components with the colours of their groups; empty where one is not known."""

    def cell(row: Row) -> Cell | str:
        name = row["component"]
        return Cell(str(name), dot=theme.group(name)) if q.known(name) else ""

    return text("Component", cell)
