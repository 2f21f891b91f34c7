"""How uneven the choice is in each layer."""

from __future__ import annotations

from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS


def _content(context: Context) -> Rows:
    """How uneven the choice is in each layer, and how few experts make up most of it."""
    per_layer = context.expert_layers
    rows = [
        cells(
            number(q.count(r["layer"])),
            number(q.count(r["n_experts"])),
            number(q.count(r["n_choices"])),
            number(q.count(r["most_chosen"])),
            share(r["most_share"], 1),
            number(q.count(r["n_never"])),
            Cell(q.decimal(r["unevenness"], 2), number=True),
            *(number(q.count(r[name])) for name in ("needed_50", "needed_80", "needed_95")),
        )
        for r in per_layer.to_dict("records")
    ]
    head = ("Layer", "Experts", "Choices", "Most chosen", "Its share", "Never chosen", "Unevenness", "For 50 %")
    return Rows(
        caption="Choices: token rows of generate passes times the experts that each chooses. Unevenness: standard "
        "deviation of the experts’ counts divided by their mean; 0 is even. For 50, 80, 95 %: the fewest experts that "
        "make up this share of the choices. Prompt and warm-up are left out.",
        head=[Head(name, number=True) for name in (*head, "For 80 %", "For 95 %")],
        rows=rows,
        data=per_layer,
        empty=shared_experts.no_choice(context),
    )


EXPERTS_LAYERS = Table(
    key="experts-layers",
    page="experts",
    section="tables",
    title="How uneven is the choice in each layer?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "How the choices of each layer are shared among its experts.",
        f"{shared_experts.GENERATED} Choices are token rows times the experts that each chooses.",
        "Unevenness 0 is an even choice; at 1 the standard deviation of the counts equals their mean. If several "
        "experts are chosen equally often, the table names the one with the lowest number.",
        code=shared_experts.COUNTS + "data = routing.layers(counts)",
    ),
)
