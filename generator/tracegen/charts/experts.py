"""How often each expert was chosen: layers by experts."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import experts, names
from tracegen.charts.pointing import LEGEND

ROW, KEY, DIGIT = 24, 40, 8  # px: height of a row, least width of a step in the key, width of a digit in it
READABLE = 26  # px: narrower cells show no number


def chart(counts: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Layers by experts; `counts` has layer, expert, n_tokens. A count of 0 has the colour of the ground."""
    top = max(int(counts["n_tokens"].max()), 1)
    edges = _edges(top)
    data = counts.assign(step=np.searchsorted(edges, counts["n_tokens"].to_numpy(), side="left"))
    none, strong = data["n_tokens"] == 0, data["step"] >= theme.N_STEPS // 2
    ground, ink = theme.INK["ground"][1], theme.INK["ink"][1]
    data = data.assign(
        colour=pd.Series(theme.step_colours(data["step"])).mask(none, ground),
        ink=pd.Series(ink, index=data.index).mask(strong & ~none, ground),
        layer=[f"layer {n}" for n in counts["layer"]],
    )
    order = list(dict.fromkeys(data["layer"]))
    n_experts = int(counts["expert"].max()) + 1
    room = theme.names(width, max(map(len, order), default=1))
    plot = theme.plot(room, width)
    x = experts(n_experts, plot, paddingInner=0)
    y = names("layer", order, room, paddingInner=0, paddingOuter=0)
    base = alt.Chart(data).encode(x=x, y=y)
    boxes = base.mark_rect(stroke=theme.INK["hairline"][1], strokeWidth=1)
    drawn = boxes.encode(color=alt.Color("colour:N", scale=None))
    if plot / n_experts >= READABLE:
        drawn += base.mark_text(fontSize=theme.SMALL).encode(
            text=alt.Text("n_tokens:Q"), color=alt.Color("ink:N", scale=None)
        )
    grid = drawn.properties(width=plot, height=ROW * len(order))
    return alt.vconcat(_key(edges, room, plot), grid, spacing=16)


def _edges(top: int) -> list[int]:
    """The largest count of each step: whole numbers that divide `top` as evenly as possible."""
    return [max(i + 1, -(-top * (i + 1) // theme.N_STEPS)) for i in range(theme.N_STEPS)]


def _key(edges: list[int], room: int, plot: int) -> Any:
    """The key of the colours: the steps with their largest counts."""
    digits = len(str(edges[-1]))
    step = min(max(KEY, 24 + DIGIT * digits), plot // (len(edges) + 1))
    every = -(-(16 + DIGIT * digits) // step)
    shown = pd.DataFrame(
        {
            "begin": range(len(edges) + 1),
            "end": range(1, len(edges) + 2),
            "text": [
                "0",
                *[f"≤ {edge}" if (len(edges) - i) % every == 1 % every else "" for i, edge in enumerate(edges)],
            ],
            "colour": [theme.INK["ground"][1], *theme.SEQUENTIAL_LIGHT],
        }
    )
    shown["middle"] = (shown["begin"] + shown["end"]) / 2
    x = alt.X("begin:Q", axis=None, scale=dict(domain=[0, len(shown)], nice=False))
    edge = theme.y_axis(room, ticks=False, domain=False)
    lane = alt.Y(datum="tokens", type="nominal", title=None, scale=dict(domain=["tokens"]), axis=edge)
    boxes = alt.Chart(shown).mark_rect(stroke=theme.INK["hairline"][1], strokeWidth=1)
    drawn = boxes.encode(x=x, x2=alt.X2("end:Q"), y=lane, color=alt.Color("colour:N", scale=None))
    words = alt.Chart(shown).mark_text(dy=17, fontSize=theme.SMALL, color=theme.INK["muted"][1])
    words = words.encode(x=alt.X("middle:Q", axis=None), y=lane, text=alt.Text("text:N"))
    return (drawn + words).properties(name=LEGEND, width=step * len(shown), height=14)
