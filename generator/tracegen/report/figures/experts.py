"""How often each expert of each layer was chosen."""

from __future__ import annotations

from tracegen.charts import experts as experts_chart
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say


def _content(context: Context) -> Content:
    """Tokens per layer and expert over the generate passes."""
    choice, empty = context.choice, shared_experts.no_choice(context)
    title = "Which experts do the tokens choose?"
    if not empty:
        most = choice.counts[choice.counts["n_tokens"] == choice.counts["n_tokens"].max()]
        title = say.choice_title(
            n_never=int((choice.counts["n_tokens"] == 0).sum()),
            n_pairs=len(choice.counts),
            layers=shared_experts.layers(context),
            best=(int(most["layer"].iloc[0]), int(most["expert"].iloc[0])),
            most=int(most["n_tokens"].iloc[0]),
            n_best=len(most),
            n_rows=choice.n_rows,
        )
    return Content(
        title=title,
        caption=say.choice_caption(
            n_rows=choice.n_rows, n_experts=choice.n_experts, n_chosen=choice.n_chosen, even=choice.even
        ),
        alt=f"Grid of {q.counted(len(shared_experts.layers(context)), 'layer')} by experts: how many tokens chose "
        f"each. {q.ended(title)}",
        chart=lambda width: experts_chart.chart(choice.counts, width=width),
        data=choice.counts.assign(n_tokens_if_even=choice.even),
        empty=empty,
    )


EXPERTS = Figure(
    key="experts",
    page="experts",
    section="choice",
    title="Which experts do the tokens choose?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "How many token rows chose an expert in a layer. The router’s choice was read just before the experts ran.",
        shared_experts.GENERATED,
        "One row per layer, one cell per expert; white cells were never chosen. Compare with the even choice in the "
        "caption: a few strong cells in a row mean that the layer prefers some experts, which a cache could hold.",
        code="""
from tracegen.analysis import experts
choice = experts.choice(run.tables)
data = choice.counts.assign(n_tokens_if_even=choice.even)
""",
    ),
)
