"""The accesses of passes to the mapped files: where one pass was in the file, and how far the steps between them go."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import places
from tracegen.charts.compared import scaled
from tracegen.contract.text import sized

HEIGHT = 340
LEAST = 1.5  # px: the least extent of a mark, as most accesses are thin in one direction
COLOURS = {"contiguous": theme.INK["good"][1], "forward": theme.INK["bar"][1], "backward": theme.GROUPS["experts"][1]}


def path(rows: pd.DataFrame, total: int, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Where in the file the accesses of one pass were, and when.

    A mark for each, from its first to its last byte and from the begin to the end of its operation.
    `rows`: those of `order.path`; `total`: bytes of all files.
    """
    size, unit = scaled([total], "bytes")
    time, clock = scaled([float(rows["end_ns"].max())], "ns")
    data = pd.DataFrame(
        {
            "group": [theme.group(c) for c in rows["component"]],
            "begin": rows["begin"] / size,
            "end": rows["end"] / size,
            "from": rows["begin_ns"].astype(float) / time,
            "to": rows["end_ns"].astype(float) / time,
        }
    )
    scale = theme.group_scale(list(data["group"].unique()))
    plot = theme.plot(theme.NUMBERS, width)
    marks = alt.Chart(data).mark_rect(strokeWidth=LEAST).encode(
        x=alt.X("from:Q", title=f"time since the begin of the pass, {clock}", scale=dict(nice=False, zero=True),
                axis=theme.x_axis(width, tickCount=theme.ticks(8, width))),
        x2=alt.X2("to:Q"),
        y=alt.Y("begin:Q", title=f"place in the model file, {unit}", scale=dict(domain=[0, total / size], nice=False),
                axis=theme.y_axis(theme.NUMBERS, tickCount=6)),
        y2=alt.Y2("end:Q"),
        color=alt.Color("group:N", scale=scale, legend=theme.legend(scale["domain"], width, title=None, offset=30)),
        stroke=alt.Stroke("group:N", scale=scale, legend=None),
    )  # fmt: skip
    return marks.properties(width=plot, height=HEIGHT)


def distances(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """How far the steps between accesses go, by powers of two; `rows`: those of `order.distances`.

    Bars of steps for each distance, those of each kind on top of each other. Distances without a step between the
    shortest and the longest have their place too.
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
