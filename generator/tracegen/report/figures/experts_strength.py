"""How strongly experts are chosen, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracegen.analysis import routing
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, cells, number
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say


def _mean(means: Mapping[tuple[int, int], Mapping[Any, Any]], layer: int, place: int) -> Cell:
    r = means.get((layer, place))
    if r is None:
        return Cell(q.UNKNOWN, number=True)
    exact = f"{q.decimal(r['lowest'], 4)} to {q.decimal(r['highest'], 4)}, n = {q.count(r['n'])}"
    return Cell(q.decimal(r["mean"], 3), number=True, exact=exact)


def _content(context: Context) -> Rows:
    """Mean routing weight by layer and place in order of weight."""
    weights = routing.weights(context.chosen)
    places = sorted(int(place) for place in weights["place"].unique())
    means = {(int(r["layer"]), int(r["place"])): r for r in weights.to_dict("records")}
    rows = [
        cells(number(q.count(layer)), *(_mean(means, layer, place) for place in places))
        for layer in sorted(int(n) for n in weights["layer"].unique())
    ]
    return Rows(
        caption="Mean weight of a token row’s strongest expert (place 1), its second, and so on, over the generate "
        "passes. The CSV has the lowest and the highest; so has the pointer on a number.",
        head=[Head("Layer", number=True), *(Head(f"Place {place}", number=True) for place in places)],
        rows=rows,
        data=weights,
        empty=shared_experts.no_choice(context) or say.no_weight(private=context.private),
    )


EXPERTS_STRENGTH = Table(
    key="experts-strength",
    page="experts",
    section="tables",
    title="How strongly are the experts chosen, layer by layer?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The mean weight of each place per layer; the CSV has the lowest and the highest too.",
        f"{shared_experts.GENERATED} Only rows whose weights were all recorded.",
        "Place 1 is the strongest expert of a token. Point at a number to see its range and n.",
        code=shared_experts.CHOSEN + "data = routing.weights(chosen)",
    ),
)
