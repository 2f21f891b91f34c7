"""The figures of the pages in a notebook: `tracegen.load("demo").charts.heatmap()`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.pointing import with_tooltips
from tracegen.contract import documents
from tracegen.contract.errors import FigureError
from tracegen.contract.model import Run
from tracegen.report.document.assets import Assets
from tracegen.report.document.blocks import FigureBlock
from tracegen.report.figures.catalogue import CHARTS, part_of
from tracegen.report.figures.context import Context
from tracegen.report.pages import parts
from tracegen.report.pages.graphs import graphs


@dataclass(frozen=True)
class Graph:
    """A drawing of a graph as on a page; a notebook shows its SVG."""

    title: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        """One line instead of the long SVG."""
        return f"<graph: {self.title}>"


class Charts:
    """Every figure of a run's pages by its key: `charts.heatmap()`, `charts.op_kinds()`, `charts.graph()`.

    Each call returns the altair chart of the page: the same data and title, with tooltips. Vega cannot hatch
    copied memory as pages do: here the tooltip names the kind of memory. Raises FigureError with the page's
    reason when the page does not show the figure, and StoreError when a table that it needs is missing.
    """

    def __init__(self, run: Run, tables: Mapping[str, pd.DataFrame]) -> None:
        """Take a run and its tables."""
        self._context = Context(run, tables)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The function that makes the figure `name`; `timeline(pass_id=…)` takes any measured pass."""
        key = name.replace("_", "-")
        if key not in CHARTS:
            raise AttributeError(f"there is no figure {name!r}; there are: {', '.join(self._names())}")
        return partial(self._chart, key)

    def graph(self, number: int = 0, block: int | None = None) -> Graph:
        """The drawing of graph `number` of the graph page, or of one of its blocks."""
        drawn = graphs(self._context, Assets())["topologies"]
        if not 0 <= number < len(drawn):
            raise FigureError(f"there is no graph {number}; this run evaluated {len(drawn)}, counted from 0")
        views = [view for _, view in drawn[number].blocks]
        if block is not None and not 0 <= block < len(views):
            raise FigureError(f"graph {number} has no block {block}; it has {len(views)}, counted from 0")
        view = _shown(f"graph-{number}", drawn[number].overview if block is None else views[block])
        assert view.drawing is not None
        return Graph(view.title, view.drawing.svg)

    def _chart(self, key: str, /, **options: Any) -> Any:
        figure = CHARTS[key]
        if not figure.when.holds(self._context):
            raise FigureError(f"{key}: only for {figure.when.words}")
        view = _shown(key, parts.figure(self._context, Assets(), figure, **options))
        assert view.drawing is not None and view.drawing.spec is not None
        spec = documents.parse_json(view.drawing.spec, key, FigureError)
        return alt.Chart.from_dict(_with_tooltips(spec, view.title))

    def _names(self) -> list[str]:
        return [*(key.replace("-", "_") for key in CHARTS), "graph"]

    def __dir__(self) -> list[str]:
        """The names of all figures, for completion in a notebook."""
        return self._names()

    def __repr__(self) -> str:
        """One line for each figure: how to call it, and what it shows."""
        width = max(len(name) for name in self._names())
        return "\n".join(f"{f'{name}()':{width + 2}}  {_shows(name)}".rstrip() for name in self._names())


def _shows(name: str) -> str:
    """The first sentence of a figure's explanation."""
    part = part_of(name.replace("_", "-"))
    return f"{part.shows.split('. ')[0].removesuffix('.')}." if part else ""


def _shown(key: str, view: FigureBlock) -> FigureBlock:
    """The figure, if the page shows it. Raises FigureError with the reason if not."""
    if view.drawing is None:
        raise FigureError(f"{key}: {view.reason}")
    return view


def _with_tooltips(document: dict[str, Any], title: str) -> dict[str, Any]:
    """A chart's document with title, ground and tooltips."""
    document = {
        **with_tooltips(document),
        "title": {"text": title, "anchor": "start", "fontSize": 16, "fontWeight": 600},
    }
    document["config"] = {**document["config"], "background": theme.INK["ground"][1]}
    return document
