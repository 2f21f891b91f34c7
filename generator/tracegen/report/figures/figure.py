"""The objects that describe figures, tables and explorers: words, needs, and the function that makes the content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.contract.needs import Need
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell, Head
from tracegen.report.figures.columns import Column, Row, laid_out
from tracegen.report.figures.context import Context
from tracegen.report.figures.texts import texts


@dataclass(frozen=True)
class When:
    """Which runs have a figure: in words, and as a test of a run."""

    words: str
    holds: Callable[[Context], bool]


ALWAYS = When("every run", lambda _: True)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a page with an anchor of its own.

    `section` is a place on the page that its template names; parts of a section follow the order of the catalogue.
    `title` is a question; it is shown without a figure if a check that `needs` names failed.

    Its explanation, from `explained/KEY.md`: what it `shows`, what it `counts` and leaves out, and how to `read` it;
    `words` are texts for `{{name}}` there. `code` computes the data of the CSV: it follows `run = tracegen.load(…)` and
    the imports of the analyses that it names, ends with `data = …`, and contains `$NAME` for a value that depends on
    the run (`Content.numbers`). Where a few lines do not suffice, `made_by` names the function that computes the data.
    """

    key: str
    page: str = "appendix"
    title: str
    words: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    made_by: str = ""
    section: str = ""
    needs: tuple[Need, ...] = ()
    when: When = ALWAYS

    @property
    def shows(self) -> str:
        """What it shows."""
        return texts(self.key, self.words)[0]

    @property
    def counts(self) -> str:
        """What it counts, and what it leaves out."""
        return texts(self.key, self.words)[1]

    @property
    def read(self) -> str:
        """How to read it."""
        return texts(self.key, self.words)[2]


@dataclass(frozen=True)
class Content:
    """The content of a figure for one run.

    `data` becomes the CSV; `chart` takes the width in px that the figure is laid out for, one of `theme.WIDTHS`, and
    returns an altair chart. `title` is the figure's question where it depends on the run (empty: that of the figure);
    `answer` are the amounts that answer it. `empty` says why there is nothing to draw (empty: there is). `numbers` are
    the values of `$NAME` in the explanation's code. `files` are further files of the bundle: path -> content.
    """

    caption: str
    alt: str
    chart: Callable[[int], Any]
    data: pd.DataFrame
    title: str = ""
    answer: tuple[Amount, ...] = ()
    empty: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """The content of a table for one run; `title`, `answer`, `empty` and `numbers` as in `Content`.

    `data` becomes the CSV, named by the table's key or by `file`; None: no CSV. `files` are further files of the
    bundle: path -> content.
    """

    caption: str
    head: Sequence[Head] = ()
    rows: Sequence[tuple[Cell, ...]] = ()
    data: pd.DataFrame | None = None
    title: str = ""
    answer: tuple[Amount, ...] = ()
    file: str = ""
    empty: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)

    def of(self, rows: pd.DataFrame | Sequence[Row], *columns: Column) -> Rows:
        """This table with these columns, and a row for each row of an analysis."""
        head, table_rows = laid_out(rows, *columns)
        return replace(self, head=head, rows=table_rows)


def not_drawn(why: str) -> Content:
    """The content of a figure of a run that has nothing to draw."""
    return Content(caption="", alt="", chart=lambda _: None, data=pd.DataFrame(), empty=why)


def no_rows(why: str) -> Rows:
    """The content of a table of a run that has no rows."""
    return Rows(caption="", empty=why)


@dataclass(frozen=True, kw_only=True)
class Figure(Part):
    """A chart with anchor `fig-KEY`; `content` takes a context, and keyword arguments that a notebook may set.

    A `wide` one, a map of the file or of time, takes the whole width of a page; its caption stands below it.
    """

    content: Callable[..., Content]
    wide: bool = False

    @property
    def widths(self) -> Sequence[int]:
        """The widths in px that the figure is laid out for: a phone, a column of text, and a page if it is wide."""
        return theme.WIDTHS if self.wide else theme.WIDTHS[:-1]


@dataclass(frozen=True, kw_only=True)
class Table(Part):
    """A table with anchor `tab-KEY`."""

    content: Callable[[Context], Rows]


@dataclass(frozen=True, kw_only=True)
class Explorer(Part):
    """A part that a template and a script of its page draw; `pages/explorers` makes its data."""
