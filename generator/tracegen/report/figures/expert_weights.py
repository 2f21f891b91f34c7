"""How strongly tokens choose their experts."""

import pandas as pd

from tracegen.analysis import routing
from tracegen.charts import by_layer
from tracegen.report.document.amount import Amount
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content

PLACES = 6


def _experts_weights(context: Context) -> Content:
    weights = routing.weights(context.chosen)
    places = sorted(int(place) for place in weights["place"].unique())
    rows = weights[weights["place"] <= PLACES]
    rows = rows.assign(series=[f"place {place}" for place in rows["place"]], value=rows["mean"])
    cut = f" Drawn: the {PLACES} strongest of {len(places)}; the table has all." if len(places) > PLACES else ""
    n = shared_experts.n_from_to([int(n) for n in weights["n"]], "tokens per layer and place")
    return Content(
        answer=_strongest(weights[weights["place"] == 1]),
        caption="Mean weight of the chosen experts per layer, by their place in order of weight. The router gives the "
        "weights; llama.cpp multiplies the experts’ outputs by them. Place 1 is a token’s strongest expert, which is "
        "not always llama.cpp’s first choice: a router may choose with a bias that the weight lacks."
        f"{n}{cut} {shared_experts.LEFT_OUT}",
        alt="Mean routing weights per layer and place in order of weight.",
        chart=lambda width: by_layer.lines(
            rows, [f"place {place}" for place in places[:PLACES]], "mean weight", width=width
        ),
        data=weights,
        empty=shared_experts.no_choice(context) or ("" if len(weights) else _no_weight(context)),
    )


def _strongest(first: pd.DataFrame) -> tuple[Amount, ...]:
    """The mean weight of the strongest expert; `first`: place 1 of each layer."""
    if first.empty:
        return ()
    mean = float((first["mean"] * first["n"]).sum()) / float(first["n"].sum())
    return (Amount(mean, "", "mean weight of a token’s strongest expert"),)


def _no_weight(context: Context) -> str:
    if context.private:
        return "How strongly the tokens chose is withheld: the experiment is private."
    return "The trace holds no routing weight: it does not record how strongly the tokens chose."


EXPERTS_WEIGHTS = shared_experts.figure(
    key="experts-weights",
    title="How strongly do generated tokens choose their experts?",
    content=_experts_weights,
    code=shared_experts.CHOSEN + "data = routing.weights(chosen)",
)
