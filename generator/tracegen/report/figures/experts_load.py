"""How evenly the choices of a layer are shared among its experts."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import routing
from tracegen.charts import expert_load
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure, Values
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say


def _content(context: Context) -> Content:
    """How evenly the choices of a layer are shared among its experts."""
    choice, empty = context.choice, shared_experts.no_choice(context)
    ranked = routing.ranked(choice.counts)
    title = "How evenly are the choices shared?"
    if not empty:
        share, even = routing.most_chosen(ranked)
        title = say.load_title(
            share=share, even=even, layers=shared_experts.layers(context), chance=context.choice_by_chance
        )
    caption = say.load_caption(
        n_layers=len(shared_experts.layers(context)), n_rows=choice.n_rows, sizes_differ=ranked["even"].nunique() > 1
    )
    return Content(
        title=title,
        caption=caption,
        alt=f"Share of choices by place of the expert in its layer. {q.ended(title)}",
        chart=lambda width: expert_load.chart(ranked, width=width),
        data=ranked,
        values=_values(choice.counts),
        empty=empty,
    )


def _values(counts: pd.DataFrame) -> Values:
    """The most chosen expert of each layer (of equals, the first), and its share of the layer's choices."""
    values: dict[str, tuple[object, str, str]] = {}
    for layer, rows in counts.groupby("layer"):
        experts, chosen = rows["expert"].astype(int).tolist(), rows["n_tokens"].astype(int).tolist()
        if sum(chosen):
            best = experts[chosen.index(max(chosen))]
            share = max(chosen) / sum(chosen)
            values[f"most_chosen_expert_layer_{layer}"] = (best, "1", f"expert {best}")
            values[f"most_chosen_expert_share_layer_{layer}"] = (share, "1", q.percent(share))
    return values


EXPERTS_LOAD = Figure(
    key="experts-load",
    page="experts",
    section="shares",
    title="How evenly are the choices shared?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The share of a layer’s choices that its most chosen expert gets, its second, and so on.",
        f"{shared_experts.GENERATED} An expert of a layer counts once for each token row that chose it there.",
        "Ticks near the dashed line mean an even choice. A steep begin means that few experts get most of the choices; "
        "a long bar means that layers differ. A place can hold another expert in every layer.",
        code=shared_experts.COUNTS + "data = routing.ranked(counts)",
    ),
)
