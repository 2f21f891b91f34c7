"""What a figure, a table and an explorer of the pages are: objects that hold all that is said of them anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tracegen.figures.cells import Cell, Head
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.needs import Need


@dataclass(frozen=True)
class When:
    """Which runs have a figure: in words, and as a question to a run."""

    words: str
    holds: Callable[[Context], bool]


ALWAYS = When("every run", lambda _: True)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What stands on a page under an anchor of its own.

    `section` is the place on the page, as its template names it; parts of a section stand in the order of the
    catalogue. `title` is a question: it stands alone where the answer is refused, because a check that `needs` names
    failed.
    """

    key: str
    page: str
    title: str
    explanation: Explanation
    section: str = ""
    needs: tuple[Need, ...] = ()
    when: When = ALWAYS


@dataclass(frozen=True)
class Content:
    """What a figure of a run shows.

    `data` is its CSV, `chart` draws it (an altair chart). `title`, where the data answer the figure's question.
    `empty` says why there is nothing to draw. `numbers` are what the lines of its explanation call `$NAME`;
    `values` are published under their names: exact value, unit, text.
    """

    caption: str
    alt: str
    chart: Callable[[], Any]
    data: pd.DataFrame
    title: str = ""
    empty: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    values: Mapping[str, tuple[object, str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """What a table of a run shows.

    `data` is its CSV, named by the table's key or by `file`; None: it has none. `empty` says why there are no rows.
    `files` lie beside the CSV: path in the bundle -> content.
    """

    caption: str
    head: Sequence[Head]
    rows: Sequence[tuple[Cell, ...]]
    data: pd.DataFrame | None = None
    title: str = ""
    file: str = ""
    empty: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Figure(Part):
    """A chart with anchor `fig-KEY`. `content` takes a run, and by name what a notebook may choose (a pass)."""

    content: Callable[..., Content]


@dataclass(frozen=True, kw_only=True)
class Table(Part):
    """A table with anchor `tab-KEY`."""

    content: Callable[[Context], Rows]


@dataclass(frozen=True, kw_only=True)
class Explorer(Part):
    """What a page's own template and script draw: it has words and needs here, and its data in `pages/explorers`."""
