"""How strongly the tokens choose their experts."""

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

PLACES = 6


def _content(context: Context) -> Content:
    """How strongly the tokens choose, per layer and place in order of weight."""
    weights = routing.weights(context.chosen)
    places = sorted(int(place) for place in weights["place"].unique())
    rows = weights[weights["place"] <= PLACES]
    rows = rows.assign(series=[f"place {place}" for place in rows["place"]], value=rows["mean"])
    title = "How strongly do the tokens choose?"
    if len(weights):
        first = weights[weights["place"] == 1]
        mean = float((first["mean"] * first["n"]).sum()) / float(first["n"].sum())
        title = say.weights_title(mean=mean, places=len(places), layers=sorted(int(n) for n in first["layer"]))
    return Content(
        title=title,
        caption=say.weights_caption(
            n_rows=[int(n) for n in weights["n"]], places=len(places), shown=min(PLACES, len(places))
        ),
        alt=f"Mean routing weights per layer and place in order of weight. {q.ended(title)}",
        chart=lambda width: by_layer.lines(
            rows, [f"place {place}" for place in places[:PLACES]], "mean weight", width=width
        ),
        data=weights,
        empty=shared_experts.no_choice(context) or ("" if len(weights) else say.no_weight(private=context.private)),
    )


EXPERTS_WEIGHTS = Figure(
    key="experts-weights",
    page="experts",
    section="shares",
    title="How strongly do the tokens choose?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The mean weight that the router gave to a token’s strongest expert, its second, and so on.",
        f"{shared_experts.GENERATED} Only rows whose weights were all recorded. llama.cpp multiplies the experts’ "
        f"outputs by them.",
        "Lines far apart: the strongest expert decides and the last adds little. Lines close together: all experts "
        "count alike. Whether the weights of a token add up to 1 depends on the model.",
        code=shared_experts.CHOSEN + "data = routing.weights(chosen)",
    ),
)
