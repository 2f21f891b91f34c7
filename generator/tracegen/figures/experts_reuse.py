"""How often a token chooses the experts of the token before."""

from __future__ import annotations

from tracegen.analysis import routing
from tracegen.charts import by_layer
from tracegen.figures import needs, shared_experts
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.figure import Content, Figure
from tracegen.figures.shared_experts import WITH_EXPERTS
from tracegen.words import expert_sentences as say
from tracegen.words import quantities as q


def _content(context: Context) -> Content:
    """How many of a token's experts the token before chose too, per layer."""
    again = routing.reuse(context.chosen, context.choice.counts)
    title = "How often does a token choose the experts of the token before?"
    n_tokens = [int(n) for n in again["n_tokens"]]
    if len(again):
        n_choices = float(again["n_choices"].sum())
        title = say.reuse_title(
            share=float(again["n_again"].sum()) / n_choices,
            even=float((again["even"] * again["n_choices"]).sum()) / n_choices,
            n_tokens=max(n_tokens),
        )
    rows = again.assign(value=again["share"].astype(float) * 100, even=again["even"].astype(float) * 100)
    return Content(
        title=title,
        caption=say.reuse_caption(n_tokens),
        alt=f"Bars of the share of experts chosen again, per layer. {q.ended(title)}",
        chart=lambda width: by_layer.bars(rows, "% of choices", "even choice", width=width),
        data=again,
        empty=shared_experts.no_choice(context) or ("" if len(again) else say.NO_PAIR),
    )


EXPERTS_REUSE = Figure(
    key="experts-reuse",
    page="experts",
    section="shares",
    title="How often does a token choose the experts of the token before?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The share of a token’s experts that the token before it chose in the same layer.",
        f"{shared_experts.GENERATED} The token before is the generated token before it in its sequence; the first has "
        "none and is not counted.",
        "The tick is the share of tokens that choose at random. A bar far above it means that the same experts are "
        "chosen from token to token, so keeping those of one token in memory saves reading.",
        code=shared_experts.CHOSEN + "data = routing.reuse(chosen, experts.choice(run.tables).counts)",
    ),
)
