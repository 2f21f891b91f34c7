"""The cells and heads of tables, as values: all text still unescaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracegen.words import quantities as q

LONGEST = 120  # letters of a name that a cell shows


@dataclass(frozen=True)
class Cell:
    """A table cell: `bar` (0 … 1) draws a thin bar, `href` a link, `exact` is the title on hover.

    A name in code that is longer than a line or two is shown by its ends, and whole in the title and the CSV.
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
        """The text as it stands in the cell."""
        long = self.code and len(self.text) > LONGEST
        return f"{self.text[: LONGEST - 30]} … {self.text[-24:]}" if long else self.text

    @property
    def title(self) -> str:
        """What is told on hover: the exact value, or the whole of a name that is not shown whole."""
        return self.exact or (self.text if self.shown != self.text else "")


@dataclass(frozen=True)
class Head:
    """A column's head: label, unit, and whether numbers stand below it."""

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


def share(used: Any, whole: float) -> Cell:
    """Which part of a whole was used, with its bar; none where that is unknown."""
    if not q.known(used) or not whole:
        return Cell(q.UNKNOWN, number=True)
    return Cell(q.percent(used / whole), number=True, bar=used / whole)
