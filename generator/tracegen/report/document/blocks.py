"""The blocks of a document as plain data: figures, tables, facts, notes and lists, with no escapes of a renderer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tracegen.charts.svg import Drawing
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell, Head
from tracegen.report.document.figure_data import FigureData


@dataclass(frozen=True)
class TableBlock:
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
class FigureBlock:
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


@dataclass(frozen=True)
class Words:
    """Words that may come from a model or a trace; `code`: a name as written. Longer than `longest`, they are cut."""

    text: str
    style: Literal["", "strong", "code"] = ""
    longest: int = 400


Line = tuple[str | Words, ...]  # one after the other; text that is no `Words` was written here


@dataclass(frozen=True)
class Note:
    """A paragraph of lines."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[Line, ...]


@dataclass(frozen=True)
class Grid:
    """A table of few columns, to paste as text."""

    head: tuple[Head, ...]
    rows: tuple[tuple[str | Words, ...], ...]


def joined(parts: Iterable[Line], between: str = "; ") -> Line:
    """The parts that are not empty as one line."""
    line: list[str | Words] = []
    for part in parts:
        if part:
            line += [between, *part] if line else part
    return tuple(line)
