"""Reports of runs of many kinds, and what stands in their pages."""

import pickle
import re
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

import pandas as pd

from tests.builders import (
    a_moe_run,
    a_run,
    only,
    scaled_case,
    with_device_ops,
    with_facts,
    with_faults,
    with_footprint,
    with_reads,
    with_requests,
    without,
)
from tests.drawn import NOTHING, empty_figures
from tests.golden.hard_case import hard_case
from tracegen.charts.pointing import targets
from tracegen.contract import tables as contract
from tracegen.contract.model import Run, Version
from tracegen.report.document.amount import in_words
from tracegen.report.document.assets import Assets
from tracegen.report.document.blocks import TableBlock
from tracegen.report.document.page import Report
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure, Table
from tracegen.report.pages.parts import figure, table
from tracegen.report.pages.render import render_report

MEASURED = [
    dict(
        pattern=pattern,
        reads=77,
        block_bytes=block,
        queue_depth=1,
        bytes_per_second=rate * 2.0**20,
        latency_median_ns=81_000,
    )
    for pattern, block, rate in (("random", 4096, 9), ("sequential", 1 << 21, 1024))
]


def disk_case() -> tuple[Run, dict[str, pd.DataFrame]]:
    """A mixture of which everything was recorded: faults, requests, residency, the device."""
    tables = with_reads(
        with_footprint(with_device_ops(with_requests(with_faults(scaled_case(5, 3, moe=True)))), state_bytes=0)
    )
    last = int(tables["passes"]["pass_id"].max())
    tables["residency"] = contract.frame("residency", [dict(pass_id=last, file=0, first_page=0, n_pages=2)])
    run = a_moe_run(device=dict(device="vda", measurements=MEASURED))
    recorded = dict(faults_recorded=True, requests_recorded=True)
    return with_facts(run, trace=recorded, host=dict(page_bytes=4096)), tables


def render(
    tables: Mapping[str, pd.DataFrame],
    run: Run | None = None,
    citable: Version | None = None,
    executor: Executor | None = None,
) -> Report:
    return render_report(run or a_run(), tables, citable=citable, executor=executor)


def rendered(
    tables: Mapping[str, pd.DataFrame],
    run: Run | None = None,
    citable: Version | None = None,
    *,
    drawn: bool | tuple[str, ...] = False,
) -> Report:
    """The report, which is the same object where the same is asked for again: nobody changes it, nor how it is made.

    `drawn`: all figures are drawn, or those of these keys; the others are empty, for drawing takes most of the time.
    """
    return _kept(pickle.dumps((dict(tables), run, citable)), drawn)


@lru_cache(maxsize=128)
def _kept(asked: bytes, drawn: bool | tuple[str, ...]) -> Report:
    if drawn is True:
        return render(*pickle.loads(asked))
    with empty_figures(drawn or ()):
        return render(*pickle.loads(asked))


def undrawn(tables: Mapping[str, pd.DataFrame], run: Run | None = None, citable: Version | None = None) -> Report:
    """The report with empty figures, made again."""
    with empty_figures():
        return render(tables, run, citable)


def same_analyses(analysed: Context, run: Run) -> Context:
    """A context of another run with the same tables and facts, with the analyses of this one: they know no check.

    Findings do.
    """
    context = Context(run, analysed.tables)
    own = {*vars(context), "_once"}
    vars(context).update({name: value for name, value in vars(analysed).items() if name not in own})
    return context


class Undrawn(Executor):
    """Makes every chart and draws none, for tests that read words and data of runs that no other test draws."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result({} if fn is targets else NOTHING)
        return future


def body(report: Report, key: str) -> str:
    return next(page.body for page in report.pages if page.key == key)


def everything(report: Report) -> str:
    """The bodies of all pages."""
    return "\n".join(page.body for page in report.pages)


def said_of(part: Figure | Table, tables: Mapping[str, pd.DataFrame], run: Run) -> str:
    """The words of one figure or table, in their order, without its page: making the others takes two seconds."""
    context = Context(run, dict(tables))
    with empty_figures():
        view = figure(context, Assets(), part) if isinstance(part, Figure) else table(context, Assets(), part)
    cells = [cell.text for row in view.rows for cell in row] if isinstance(view, TableBlock) else []
    return (
        " ".join([view.title, in_words(view.answer), view.reason, *cells, view.caption])
        .replace("\u202f", " ")
        .replace("\u2009", " ")
    )


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


class Tags(HTMLParser):
    """Tags, ids and what they refer to; wrong nesting raises."""

    VOID = frozenset({"col", "img", "br", "wbr", "hr", "input", "meta", "link", "path", "rect"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()


MOST = 350  # words of prose on a page
OF_THE_FIRST = 450  # which has the answer, findings, verdict and the text of the run
APART = {"table", "svg", "dl", "details", "code", "pre", "script", "style", "textarea", "select", "button", "noscript"}


class Prose(HTMLParser):
    """The words of a page outside of what stands `APART`: tables, drawings, lists of numbers, folded parts, code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += tag in APART

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in APART

    def handle_data(self, data: str) -> None:
        self.words += [] if self.inside else data.split()


def long_pages(report: Report) -> dict[str, int]:
    """Words of prose on the pages that have too many of them, and on a first page that has next to none."""
    said = {page.key: len(Prose(page.body).words) for page in report.pages if page.key != "appendix"}
    most = {"overview": OF_THE_FIRST if said["overview"] > 50 else 0}
    return {key: n for key, n in said.items() if n > most.get(key, MOST)}


CASES: dict[str, Mapping[str, pd.DataFrame]] = {
    "hard case": hard_case(),
    "dense": scaled_case(5, 4),
    "experts": scaled_case(3, 2, moe=True, splits=2),
    "one token": scaled_case(0, 2),
    "no buffers": without(scaled_case(2, 2), "buffers"),
    "no graph": without(scaled_case(2, 2), "graphs", "graph_nodes", "graph_edges", "placements", "touches"),
    "only a load": only(scaled_case(0, 2), ("load",)),
    "nothing": contract.empty(),
    "no spans": without(scaled_case(2, 2), "spans"),
    "no times": without(scaled_case(2, 2), "spans", "ops"),
}
