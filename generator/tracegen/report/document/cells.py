"""The cells and heads of tables; their text is not escaped yet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracegen.contract import quantities as q

LONGEST = 120  # characters: a longer name is shortened in its cell
OPERATIONS = "../operations/index.html"  # from any page but the first


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


def of_pass(pass_id: int) -> Cell:
    """The number of a pass, which leads to its operations."""
    return Cell(str(pass_id), number=True, href=f"{OPERATIONS}#pass={pass_id}")


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
