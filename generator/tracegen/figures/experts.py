"""How often each expert of each layer was chosen."""

from __future__ import annotations

from tracegen.charts import experts as experts_chart
from tracegen.figures import needs, shared_experts
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.figure import Content, Figure
from tracegen.figures.shared_experts import WITH_EXPERTS
from tracegen.words import expert_sentences as say
from tracegen.words import quantities as q


def _content(context: Context) -> Content:
    """Tokens per layer and expert over the generate passes."""
    made, empty = context.choice, shared_experts.no_choice(context)
    title = "Which experts do the tokens choose?"
    if not empty:
        most = made.counts[made.counts["n_tokens"] == made.counts["n_tokens"].max()]
        title = say.choice_title(
            n_never=int((made.counts["n_tokens"] == 0).sum()),
            n_pairs=len(made.counts),
            layers=shared_experts.layers(context),
            best=(int(most["layer"].iloc[0]), int(most["expert"].iloc[0])),
            most=int(most["n_tokens"].iloc[0]),
            n_best=len(most),
            n_rows=made.n_rows,
        )
    return Content(
        title=title,
        caption=say.choice_caption(
            n_rows=made.n_rows, n_experts=made.n_experts, n_chosen=made.n_chosen, even=made.even
        ),
        alt=f"Grid of {q.counted(len(shared_experts.layers(context)), 'layer')} by experts: tokens that chose each. "
        f"{q.ended(title)}",
        chart=lambda: experts_chart.chart(made.counts),
        data=made.counts.assign(n_tokens_if_even=made.even),
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
        "The number of token rows that chose an expert in a layer, as the router’s choice was read just before the "
        "experts ran.",
        shared_experts.GENERATED,
        "One row per layer, one cell per expert; white was never chosen. Compare with the even choice in the caption: "
        "a few strong cells in a row mean that the layer prefers experts, which a cache would then hold.",
        code="""
from tracegen.analysis import experts
choice = experts.choice(run.tables)
data = choice.counts.assign(n_tokens_if_even=choice.even)
""",
    ),
)
