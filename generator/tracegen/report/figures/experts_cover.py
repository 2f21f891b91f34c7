"""How few experts of each layer make up most of its choices."""

from __future__ import annotations

from tracegen.analysis import routing
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say


def _content(context: Context) -> Content:
    """How few experts of each layer make up most of its choices."""
    per_layer, empty = context.expert_layers, shared_experts.no_choice(context)
    names = {f"needed_{round(100 * part)}": f"{round(100 * part)} %" for part in reversed(routing.COVERED)}
    rows = per_layer.melt("layer", list(names), "needed", "value")
    rows = rows.assign(series=rows["needed"].map(names))
    title = "How many experts make up most of the choices?"
    if not empty:
        needed, sizes = ([int(n) for n in per_layer[name]] for name in ("needed_80", "n_experts"))
        title = say.cover_title(needed=needed, sizes=sizes, layers=shared_experts.layers(context))
    return Content(
        title=title,
        caption=say.cover_caption(n_layers=len(per_layer), n_rows=context.choice.n_rows),
        alt=f"Experts needed per layer for three shares of the choices. {q.ended(title)}",
        chart=lambda width: by_layer.lines(rows, list(names.values()), "experts", width=width),
        data=per_layer,
        empty=empty,
    )


EXPERTS_COVER = Figure(
    key="experts-cover",
    page="experts",
    section="shares",
    title="How many experts make up most of the choices?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The fewest experts of a layer that together make up 50, 80 and 95 % of its choices.",
        shared_experts.GENERATED,
        "Low lines are good for a cache: that many experts per layer, held in memory, serve that share of the choices. "
        "The number does not say when they are chosen: for this see the figure of experts chosen again.",
        code=shared_experts.COUNTS + "data = routing.layers(counts)",
    ),
)
