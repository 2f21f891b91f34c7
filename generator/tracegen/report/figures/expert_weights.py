"""How strongly tokens choose their experts."""

from tracegen.analysis import routing
from tracegen.charts import by_layer
from tracegen.contract import quantities as q
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content
from tracegen.report.words import expert_sentences as say

PLACES = 6


def _experts_weights(context: Context) -> Content:
    weights = routing.weights(context.chosen)
    places = sorted(int(place) for place in weights["place"].unique())
    rows = weights[weights["place"] <= PLACES]
    rows = rows.assign(series=[f"place {place}" for place in rows["place"]], value=rows["mean"])
    cut = f" Drawn: the {PLACES} strongest of {len(places)}; the table has all." if len(places) > PLACES else ""
    title = ""
    if len(weights):
        first = weights[weights["place"] == 1]
        mean = float((first["mean"] * first["n"]).sum()) / float(first["n"].sum())
        title = say.weights_title(mean=mean, places=len(places), layers=sorted(int(n) for n in first["layer"]))
    return Content(
        title=title,
        caption="Mean weight of the chosen experts per layer, by their place in order of weight. The router gives the "
        "weights; llama.cpp multiplies the experts’ outputs by them. Place 1 is a row’s strongest expert, which is not "
        "always llama.cpp’s first choice: a router may choose with a bias that the weight lacks."
        f"{say.counted_rows([int(n) for n in weights['n']], 'per layer and place')}{cut} {say.LEFT_OUT}",
        alt=f"Mean routing weights per layer and place in order of weight. {q.ended(title)}",
        chart=lambda width: by_layer.lines(
            rows, [f"place {place}" for place in places[:PLACES]], "mean weight", width=width
        ),
        data=weights,
        empty=shared_experts.no_choice(context) or ("" if len(weights) else say.no_weight(private=context.private)),
    )


EXPERTS_WEIGHTS = shared_experts.figure(
    key="experts-weights",
    title="How strongly do the tokens choose?",
    content=_experts_weights,
    code=shared_experts.CHOSEN + "data = routing.weights(chosen)",
)
