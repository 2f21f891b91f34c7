"""How many experts are chosen again, layer by layer."""

from __future__ import annotations

from tracegen.analysis import routing
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say


def _content(context: Context) -> Rows:
    """How many of a token's experts the token before had chosen too."""
    again = routing.reuse(context.chosen, context.choice.counts)
    rows = [
        cells(
            number(q.count(r["layer"])),
            number(q.count(r["n_tokens"])),
            number(q.count(r["n_choices"])),
            number(q.count(r["n_again"])),
            share(r["share"], 1),
            Cell(q.percent(r["even"]), number=True),
        )
        for r in again.to_dict("records")
    ]
    head = ("Layer", "Tokens", "Choices", "Chosen before", "Share", "Even choice")
    return Rows(
        caption="Tokens: rows of generated tokens with another one before them in their sequence. Chosen before: "
        "choices of an expert that the token before had chosen in the same layer.",
        head=[Head(name, number=True) for name in head],
        rows=rows,
        data=again,
        empty=shared_experts.no_choice(context) or say.NO_PAIR,
    )


EXPERTS_AGAIN = Table(
    key="experts-again",
    page="experts",
    section="tables",
    title="How many experts are chosen again, layer by layer?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "Per layer: tokens, their choices, and how many of these the token before had chosen too.",
        f"{shared_experts.GENERATED} The first token of a sequence has none before it and is not counted.",
        "Compare the share with the even choice beside it: the difference shows how much the model prefers the same "
        "experts again.",
        code=shared_experts.CHOSEN + "data = routing.reuse(chosen, experts.choice(run.tables).counts)",
    ),
)
