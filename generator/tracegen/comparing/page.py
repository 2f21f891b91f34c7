"""A comparison as a report of one page, with its figures, tables and files."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.graph_difference import COLUMNS, graph_difference, nodes_of, typical_graph
from tracegen.analysis.measures import ASKED
from tracegen.analysis.passes import measured, of_kind
from tracegen.charts import compared as charts
from tracegen.charts import compared_graph as graph_chart
from tracegen.charts import compared_maps as maps
from tracegen.charts import svg, theme
from tracegen.comparing import picture, places, prose, tables
from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import Comparison
from tracegen.comparing.graph_rows import graph_rows
from tracegen.comparing.machines import machines
from tracegen.comparing.markdown import markdown_of
from tracegen.contract import quantities as q
from tracegen.contract.tables import small_tables
from tracegen.publishing.side import Measured, Side
from tracegen.report.document.amount import Amount, in_words
from tracegen.report.document.assets import Assets
from tracegen.report.document.blocks import FigureBlock
from tracegen.report.document.body import assembled
from tracegen.report.document.page import Page, Report
from tracegen.report.pages.render import environment_of, shared

SUMMARY = "What differs between two sets of runs, by how much, and how certain that is."
MAP = "Which bytes of the model file does a token use?"
_DOTS = (*ASKED[:2], "token_ns_median", *ASKED[2:])


@small_tables
def render_comparison(comparison: Comparison, executor: Executor | None = None) -> Report:
    """The page of a comparison. The same comparison gives the same bytes.

    `executor`, if given, draws charts in another process meanwhile.
    """
    assets = Assets(executor=executor)
    page = comparison_page(assets, comparison, "overview", f"{comparison.a.name} → {comparison.b.name}")
    return report(assets, page.title, (page,))


def comparison_page(assets: Assets, comparison: Comparison, key: str, title: str) -> Page:
    """The page `key` of a report, about one comparison; its figures and files go into the assets."""
    prefix = "" if key == "overview" else f"{key}-"

    def keep(name: str, data: pd.DataFrame) -> str:
        return assets.csv(f"{prefix}{name}", data)

    typical = comparison.a.typical, comparison.b.typical
    nodes, drawn = _nodes(*typical), PageFigures(assets, key, prefix)
    figures = {
        "picture": _picture(drawn, comparison, *typical),
        "runs": _dots(drawn, comparison),
        "components": _components(drawn, comparison),
        "map": _map(drawn, comparison, *typical),
        "tokens": _tokens(drawn, comparison, *typical),
        "graph": _graph(drawn, comparison, nodes),
    }
    listed = [
        tables.conditions(comparison.a, comparison.b, keep),
        tables.counted(comparison, keep),
        tables.timed(comparison, keep),
        tables.operations(nodes, keep),
        tables.graph(nodes, keep),
        tables.experts(comparison, keep),
    ]
    view = {
        "answer": answer(comparison),
        "answers": [prose.text_of(line) for line in prose.answers(comparison)],
        "machines": machines(comparison.a, comparison.b),
        "sides": [_side(letter, side) for letter, side in (("A", comparison.a), ("B", comparison.b))],
        "tables": {table.key: table for table in listed},
        "figures": figures,
        "several": len(comparison.a.runs) + len(comparison.b.runs) > 2,
        "map_differs": figures["map"].drawing is not None and _uses_differ(*typical),
        "markdown": markdown_of(comparison),
        "experts": bool(comparison.of("counted", "expert")),
    }
    return rendered(Page(key, title, SUMMARY, ""), "comparison.html", view)


def rendered(page: Page, template: str, view: dict[str, Any]) -> Page:
    """The page with the body that its template makes."""
    environment = environment_of(page.title)
    environment.globals["explain"] = lambda key, csv, numbers: None  # captions say how these are counted
    body = environment.get_template(template).render(view=view, page=page, up=page.up)
    return replace(page, body=assembled(environment, "comparison", body, ""))


def report(assets: Assets, title: str, pages: tuple[Page, ...]) -> Report:
    """The report of these pages."""
    assets.finish()
    return Report(title=title, pages=pages, files=assets.files, assets=shared(), figures=tuple(assets.figures))


@dataclass(frozen=True)
class PageFigures:
    """Makes the figures of a page: the key of the page, and what stands before the keys of its figures."""

    assets: Assets
    page: str
    prefix: str = ""

    def figure(
        self,
        key: str,
        title: str,
        caption: str,
        data: pd.DataFrame,
        chart: Callable[[int], Any],
        *,
        reason: str = "",
        alt: str = "",
        file: str = "",
        paper: bool = False,
        answer: tuple[Amount, ...] = (),
    ) -> FigureBlock:
        """The figure with the drawing that `chart` makes for each width; `reason`: why there is nothing to draw.

        `paper`: it has PDFs, too. `answer`: the amounts that answer its title.
        """
        if reason:
            return self.nothing(key, title, reason, caption)
        key, alt = f"{self.prefix}{key}", alt or title
        alt = f"{alt} {q.ended(in_words(answer))}" if answer else alt
        drawing = svg.draw_layouts(chart, key, alt, self.assets.executor)
        block = self.assets.figure(key, self.page, title, caption, alt, drawing, data, file=file, paper=paper)
        return replace(block, answer=answer)

    def nothing(self, key: str, title: str, reason: str, caption: str = "") -> FigureBlock:
        """The figure without a drawing, and why."""
        return FigureBlock(f"{self.prefix}{key}", title, caption, title, None, reason)


def _side(letter: str, side: Side) -> dict[str, Any]:
    names = [run.name for run in side.runs]
    return {
        "letter": letter,
        "name": side.name,
        "n": q.counted(len(names), "run"),
        "runs": ", ".join(names),
        "left_out": [f"{name} is left out: {why}" for name, why in side.left_out],
        "checks": sorted({check.title for run in side.runs for check in run.checks if check.state == "warning"}),
    }


def _nodes(a: Measured, b: Measured) -> pd.DataFrame:
    """The operations of a token on both sides; empty where one side has no graph."""
    of_a, of_b = (run.once("nodes", partial(_nodes_of, run)) for run in (a, b))
    if of_a is None or of_b is None:
        return pd.DataFrame(columns=COLUMNS)
    return graph_difference(of_a, of_b)


def _nodes_of(run: Measured) -> pd.DataFrame | None:
    """The operations of a token of a run; None without a graph."""
    tables = run.tables()
    graph = typical_graph(tables)
    return None if graph is None else nodes_of(tables, graph)


def _picture(drawn: PageFigures, comparison: Comparison, a: Measured, b: Measured) -> FigureBlock:
    contexts = picture.context_of(a), picture.context_of(b)
    if reason := picture.nothing(*contexts):
        return drawn.nothing("picture", picture.TITLE, reason)
    data, chart = picture.picture(*contexts)
    caption = f"{picture.CAPTION} {comparison.names}"
    alt = "The model file from left to right; a prompt and a token of each side, downwards, with their times."
    answer = picture.tokens(data)
    view = drawn.figure("picture", picture.TITLE, caption, data, chart, alt=alt, paper=True, answer=answer)
    return replace(view, wide=True)


def _dots(drawn: PageFigures, comparison: Comparison) -> FigureBlock:
    rows = []
    for key in _DOTS:
        row = comparison.named(key)
        if row is None or not any((*row.values_a, *row.values_b)):
            continue
        size, unit = charts.scaled((*row.values_a, *row.values_b), row.unit)
        for letter, values in (("A", row.values_a), ("B", row.values_b)):
            rows += [(say.name(row), unit, letter, value / size) for value in values]
    data = pd.DataFrame(rows, columns=["measure", "unit", "side", "value"])
    shown = comparison.not_zero(*_DOTS)[:1]
    answer = [
        Amount(at, row.unit, f"median {row.label} in {side}")
        for row in shown
        for side, at in (("A", row.a), ("B", row.b))
        if at is not None and not row.several
    ]
    caption = (
        "Each dot is a run, the line is the median of a side. A scale starts at zero only where the largest value is "
        f"over four times the smallest. A: {comparison.a.name}, n = {len(comparison.a.runs)}; B: {comparison.b.name}, "
        f"n = {len(comparison.b.runs)}."
    )
    reason = "No time was recorded on either side." if data.empty else ""
    alt = f"The runs of both sides: {'; '.join(dict.fromkeys(data['measure']))}."
    return drawn.figure(
        "runs",
        "How far apart are the runs?",
        caption,
        data,
        lambda width: charts.dots(data, width=width),
        reason=reason,
        alt=alt,
        paper=True,
        answer=tuple(answer),
    )


def _components(drawn: PageFigures, comparison: Comparison) -> FigureBlock:
    phase = "generate" if comparison.named("tokens_per_second_generate") else "prompt"
    of = [row for row in comparison.of("timed", "component") if row.phase == phase]
    size, unit = charts.scaled([v for row in of for v in (*row.values_a, *row.values_b)], "ns")
    rows = [
        (row.item, letter, median / size)
        for row in of
        for letter, median in (("A", row.a), ("B", row.b))
        if median is not None
    ]
    data = pd.DataFrame(rows, columns=["item", "side", "value"])
    title = f"Where does the time of a {'generated' if phase == 'generate' else 'prompt'} token go?"
    caption = (
        "Wall time of operations, the median over the runs of a side; time between operations is left out. "
        f"{comparison.names}"
    )
    reason = "No operation with a time was recorded." if data.empty else ""
    chart = partial(charts.pairs, data, f"{unit} per token")
    return drawn.figure("components", title, caption, data, lambda width: chart(width=width), reason=reason)


def _map(drawn: PageFigures, comparison: Comparison, a: Measured, b: Measured) -> FigureBlock:
    if not places.same_files(a.tables(), b.tables()):
        return drawn.nothing("map", MAP, "The model files differ: their places cannot be compared.")
    total = axis.length(a.tables())
    used = places.Used(a, b)
    data = used.shares(maps.track_px(theme.WIDTH))
    if data.empty:
        return drawn.nothing("map", MAP, "No generate pass used a byte of the file on either side.")
    copied = [float((data[f"copied_{side}"] * (data["end"] - data["begin"])).sum()) for side in "ab"]
    differs = float(((data["b"] - data["a"]).abs() * (data["end"] - data["begin"])).sum())
    answer = [Amount(differs, "bytes", "of a token differ")]
    answer += [
        Amount(n, "bytes", f"from copies in {side}") for side, n in zip("AB", copied, strict=True) if any(copied)
    ]
    caption = (
        "The model file from first to last byte. Colour: how much of the bytes at that place a token used, in the mean "
        "over the generate passes of the typical run of each side; striped where it used a copy in memory. Below, "
        f"where B used more or less than A. {comparison.names}"
    )

    def chart(width: int) -> Any:
        return maps.chart(used.shares(maps.track_px(width)), total, width=width)

    return drawn.figure("map", MAP, caption, data, chart, answer=tuple(answer))


def _uses_differ(a: Measured, b: Measured) -> bool:
    """Whether tokens of one run used other bytes of the file than those of another, or other copies."""
    shares = places.Used(a, b).shares(maps.track_px(theme.WIDTH))
    return any(((shares[a] - shares[b]).abs() > 1e-9).any() for a, b in (("a", "b"), ("copied_a", "copied_b")))


def _graph(drawn: PageFigures, comparison: Comparison, nodes: pd.DataFrame) -> FigureBlock:
    title = "Where do the graphs differ?"
    if (nodes["change"] == "same").all():
        return drawn.nothing("graph", title, "")  # the page shows the table alone, which says why
    data, left_out = graph_rows(nodes)
    caption = (
        "The operations of a token in their order, a row for each layer; layers with the same operations and "
        f"differences share a row. Operations that B lacks stand where A had them. {comparison.names}"
    )
    caption += f" {q.counted(left_out, 'more row')} not drawn; the CSV of the table below has all." if left_out else ""
    return drawn.figure("graph", title, caption, data, lambda width: graph_chart.chart(data, width=width))


def _tokens(drawn: PageFigures, comparison: Comparison, a: Measured, b: Measured) -> FigureBlock:
    title = "How long did the tokens take?"
    rows = []
    for letter, of in (("A", a), ("B", b)):
        ordered = of.once("times", partial(_times, of))
        rows += [(letter, ns, (i + 1) / len(ordered)) for i, ns in enumerate(ordered)]
    data = pd.DataFrame(rows, columns=["side", "duration_ns", "share"])
    if data.empty:
        return drawn.nothing("tokens", title, "No run has a generate pass with a time.")
    caption = (
        "The share of generated tokens that took at most so long, in the typical run of each side: the further to the "
        f"left, the faster. {comparison.names}"
    )
    medians = data.groupby("side", sort=True)["duration_ns"].median()
    answer = tuple(Amount(float(ns), "ns", f"at the median in {side}") for side, ns in medians.items())
    return drawn.figure("tokens", title, caption, data, lambda width: charts.curves(data, width=width), answer=answer)


def _times(run: Measured) -> list[float]:
    """How long the generated tokens of a run took, the shortest time first."""
    return sorted(of_kind(measured(run.tables()), "generate")["duration_ns"].dropna().astype("float64"))
