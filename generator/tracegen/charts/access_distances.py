"""How far the steps between accesses go, forward and backward, by powers of two."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.contract.text import sized

COLOURS = {"contiguous": theme.INK["good"][1], "forward": theme.INK["bar"][1], "backward": theme.GROUPS["experts"][1]}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Bars of steps for each distance, those of each kind on top of each other. `rows`: those of `order.distances`.

    Distances without a step between the shortest and the longest have their place too.
    """
    places = [0] * bool((rows["from_bytes"] == 0).any())
    far = rows.loc[rows["from_bytes"] > 0, "from_bytes"]
    if len(far):
        low, high = (int(value).bit_length() - 1 for value in (far.min(), far.max()))
        places += [1 << power for power in range(low, high + 1)]
    name = {place: sized(place) if place else "0" for place in places}
    kinds = [kind for kind in COLOURS if (rows["kind"] == kind).any()]
    data = pd.DataFrame({"distance": rows["from_bytes"].map(name), "kind": rows["kind"], "steps": rows["n_steps"]})
    data["place"] = data["kind"].map({kind: i for i, kind in enumerate(kinds)})
    plot = theme.plot(theme.NUMBERS, width)
    every = max(1, -(-len(places) * 64 // plot))
    order = [name[place] for place in places]
    bars = alt.Chart(data).mark_bar().encode(
        x=alt.X("distance:N", title="distance of a step, from this to twice this", sort=order,
                scale=dict(domain=order, paddingInner=0.15),
                axis=dict(labelAngle=0, ticks=False, grid=False, values=order[::every])),
        y=alt.Y("steps:Q", title="steps", axis=theme.y_axis(theme.NUMBERS, tickCount=5)),
        color=alt.Color("kind:N", scale=dict(domain=kinds, range=[COLOURS[k] for k in kinds]),
                        legend=theme.legend(kinds, width, title=None)),
        order=alt.Order("place:Q"),
    )  # fmt: skip
    return bars.properties(width=plot, height=200)
