"""Every figure by its key: what makes it from a run, for those who want one figure and no page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tracegen.figures.context import Context
from tracegen.pages.expert_tokens import tokens_figure as expert_tokens_figure
from tracegen.pages.experts import cover_figure, experts_figure, load_figure, reuse_figure, weights_figure
from tracegen.pages.memory import buffers_figure, heatmap_figure
from tracegen.pages.overview import components_figure, layers_figure, op_kinds_figure, tokens_figure
from tracegen.pages.page import has_experts
from tracegen.pages.residency import residency_figure
from tracegen.pages.timeline import threads_figure
from tracegen.pages.views import FigureView

MakeFigure = Callable[..., FigureView | None]

# Of runs whose model has experts: no other has the page of these.
EXPERTS: Mapping[str, MakeFigure] = {
    "experts": experts_figure,
    "experts-tokens": expert_tokens_figure,
    "experts-load": load_figure,
    "experts-cover": cover_figure,
    "experts-reuse": reuse_figure,
    "experts-weights": weights_figure,
}

# The drawings of graphs are several for a run: see graphs.py.
FIGURES: Mapping[str, MakeFigure] = {
    "components": components_figure,
    "layers": layers_figure,
    "op-kinds": op_kinds_figure,
    "tokens": tokens_figure,
    "heatmap": heatmap_figure,
    "residency": residency_figure,
    "buffers": buffers_figure,
    "timeline": threads_figure,
    **EXPERTS,
}


def figure(context: Context, key: str, **options: object) -> FigureView | None:
    """The figure `key` of a run, or None when such a run has none; `options` as its function takes them."""
    if key in EXPERTS and not (has_experts(context.run) or context.tables["tensors"]["n_experts"].notna().any()):
        return None
    return FIGURES[key](context, **options)
