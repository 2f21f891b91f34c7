"""What templates print: figures, tables and facts; their text is not escaped yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracegen.charts.svg import Drawing
from tracegen.report.figures.amount import Amount
from tracegen.report.figures.cells import Cell, Head
from tracegen.report.pages.figure_data import FigureData


@dataclass(frozen=True)
class TableView:
    """A table with anchor `tab-KEY`; `reason` replaces it when there are no rows."""

    key: str
    title: str
    caption: str
    head: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    reason: str = ""
    csv: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    tex: str = ""
    answer: tuple[Amount, ...] = ()


@dataclass(frozen=True)
class FigureView:
    """A figure with anchor `fig-KEY`: drawn, or replaced by `reason`; `downloads` are (label, path), the data first.

    `numbers`, here and in a table, are the values of `$NAME` in the code of its explanation. `targets` is the path of
    the script with its tooltips, empty without any; `data` are its first rows.
    """

    key: str
    title: str
    caption: str
    alt: str
    drawing: Drawing | None
    reason: str = ""
    downloads: tuple[tuple[str, str], ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)
    targets: str = ""
    data: FigureData | None = None
    wide: bool = False
    answer: tuple[Amount, ...] = ()

    @property
    def csv(self) -> str:
        """Path of the figure's data; empty when it is not drawn."""
        return self.downloads[0][1] if self.downloads else ""


@dataclass(frozen=True)
class Fact:
    """A named fact; its text may be cut, and the run file has all of it."""

    name: str
    text: str


@dataclass(frozen=True)
class Group:
    """Named facts under one title."""

    key: str
    title: str
    facts: tuple[Fact, ...]
    note: str = ""
