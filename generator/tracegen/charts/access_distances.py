"""How far the steps between accesses go, forward and backward, by powers of two."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import places
from tracegen.contract.text import sized

COLOURS = {"contiguous": theme.INK["good"][1], "forward": theme.INK["bar"][1], "backward": theme.GROUPS["experts"][1]}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Bars of steps for each distance, those of each kind on top of each other. `rows`: those of `order.distances`.

    Distances without a step between the shortest and the longest have their place too.
    """
    begins = [0] * bool((rows["from_bytes"] == 0).any())
    far = rows.loc[rows["from_bytes"] > 0, "from_bytes"]
    if len(far):
        low, high = (int(value).bit_length() - 1 for value in (far.min(), far.max()))
        begins += [1 << power for power in range(low, high + 1)]
    name = {place: sized(place) if place else "0" for place in begins}
    kinds = [kind for kind in COLOURS if (rows["kind"] == kind).any()]
    data = pd.DataFrame({"distance": rows["from_bytes"].map(name), "kind": rows["kind"], "steps": rows["n_steps"]})
    data["place"] = data["kind"].map({kind: i for i, kind in enumerate(kinds)})
    plot = theme.plot(theme.NUMBERS, width)
    order = [name[place] for place in begins]
    bars = alt.Chart(data).mark_bar().encode(
        x=places("distance:N", "distance of a step, from this to twice this", order, 64, plot, {"grid": False}, 0.15,
                 sort=order),
        y=alt.Y("steps:Q", title="steps", axis=theme.y_axis(theme.NUMBERS, tickCount=5)),
        color=alt.Color("kind:N", scale=dict(domain=kinds, range=[COLOURS[k] for k in kinds]),
                        legend=theme.legend(kinds, width, title=None)),
        order=alt.Order("place:Q"),
    )  # fmt: skip
    return bars.properties(width=plot, height=200)
