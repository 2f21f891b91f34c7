"""What templates show: figures, tables and their cells, ready to print; all text still unescaped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracegen.charts.svg import Drawing
from tracegen.figures.cells import Cell, Head
from tracegen.pages.figure_data import FigureData


@dataclass(frozen=True)
class TableView:
    """A table with anchor `tab-KEY`; `reason` stands in its place when there are no rows."""

    key: str
    title: str
    caption: str
    head: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    reason: str = ""
    csv: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class FigureView:
    """A figure with anchor `fig-KEY`: drawn, or replaced by `reason`; `downloads` are (label, path), the data first.

    `numbers`, here and in a table, are what the lines of its explanation need to make the data again; `targets`
    is the script that tells what each mark stands for, empty where none does; `data` are its first rows.
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

    @property
    def csv(self) -> str:
        """Path of its data; empty when it is not drawn."""
        return self.downloads[0][1] if self.downloads else ""


@dataclass(frozen=True)
class KeyFigure:
    """A published value as a page shows it first: its text, what it is, and how it was counted."""

    key: str
    text: str
    label: str
    note: str


@dataclass(frozen=True)
class Fact:
    """A named fact; lists and long texts are cut here and whole in the run file."""

    name: str
    text: str


@dataclass(frozen=True)
class Group:
    """Named facts under one title."""

    key: str
    title: str
    facts: tuple[Fact, ...]
    note: str = ""


@dataclass
class Files:
    """What lies beside the pages, collected while they are made: path -> bytes."""

    made: dict[str, bytes] = field(default_factory=dict)

    def add(self, path: str, content: str | bytes) -> str:
        """Keep a file and return its path."""
        self.made[path] = content.encode() if isinstance(content, str) else content
        return path
