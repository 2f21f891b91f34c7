"""Which experts were chosen: how often each, by which tokens, and how the choices are shared among them."""

from typing import Any

import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import amounts, names, places
from tracegen.charts.lazy import alt
from tracegen.charts.pointing import LEGEND

ROW, KEY, DIGIT = 24, 40, 8  # px: height of a row, least width of a step in the key, width of a digit in it
READABLE = 26  # px: narrower cells show no number
LINE, TALL = 14, 390  # px: height of a line of tokens, and of all lines at most
FEW = 26  # labels of lines at most


def chart(counts: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """How often each expert was chosen, layers by experts. `counts`: layer, expert, n_tokens.

    A count of 0 has the colour of the ground.
    """
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
    x = _experts(n_experts, plot, 0)
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


def of_tokens(
    rows: pd.DataFrame, labels: list[str], n_experts: int, several: int, *, width: int = theme.WIDTHS[-1]
) -> Any:
    """Which experts each token chose in one layer: tokens by experts.

    `rows` and `several` (tokens of a line) are the result of `routing.grid`. `labels` are the names of
    the lines; all must differ.
    """
    share = rows["n_tokens"].to_numpy("float64") / several
    step = np.clip(np.ceil(share * theme.N_STEPS).astype(int) - 1, 0, theme.N_STEPS - 1)
    data = pd.DataFrame(
        {
            "line": [labels[i] for i in rows["line"]],
            "expert": rows["expert"].astype(int),
            "colour": theme.step_colours(step) if several > 1 else theme.INK["bar"][1],
        }
    )
    room = theme.names(width, max(map(len, labels), default=1))
    plot = theme.plot(room, width)
    x = _experts(n_experts, plot, 0.1)
    named = labels[:: max(1, -(-len(labels) // FEW))]
    y = names("line", labels, room, {"values": named}, paddingInner=0.15, paddingOuter=0)
    chosen = alt.Chart(data).mark_rect().encode(x=x, y=y, color=alt.Color("colour:N", scale=None))
    ground = alt.Chart(pd.DataFrame({"line": labels})).mark_rect(color=theme.INK["band"][1])
    lines = ground.encode(y=y, x=alt.XValue(0), x2=alt.X2Value(plot))
    return (lines + chosen).properties(width=plot, height=min(LINE * len(labels), TALL))


def load(ranked: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """How the choices are shared among the experts, from the most to the least chosen.

    Per place the range over layers, the median, and the even choice; `ranked`: see `routing.ranked`.
    """
    grouped = ranked.assign(share=ranked["share"] * 100).groupby("place")["share"]
    data = grouped.agg(low="min", middle="median", high="max").reset_index()
    n = len(data)
    plot = theme.plot(theme.NUMBERS, width)
    title = "place of the expert in its layer, most chosen first"
    x = places("place:O", title, range(1, n + 1), 30, plot, theme.x_axis(width, grid=False), {"paddingInner": 0.2})
    y = amounts("low", "% of the layer’s choices")
    base = alt.Chart(data).encode(x=x)
    spread = base.mark_bar(color=theme.INK["band2"][1]).encode(y=y, y2=alt.Y2("high:Q"))
    middle = base.mark_tick(color=theme.INK["bar"][1], thickness=3, size=max(4, 0.8 * plot / n)).encode(
        y=alt.Y("middle:Q")
    )
    shares = sorted((100 * ranked["even"].unique()).tolist(), reverse=True)  # one, unless layers differ in experts
    even = pd.DataFrame({"even": shares, "text": ["even choice", *[""] * (len(shares) - 1)]})
    rule = alt.Chart(even).mark_rule(strokeDash=[4, 3], color=theme.INK["ink"][1]).encode(y=alt.Y("even:Q"))
    words = alt.Chart(even).mark_text(align="right", dy=-8, x="width", color=theme.INK["ink"][1])
    words = words.encode(y=alt.Y("even:Q"), text=alt.Text("text:N"))
    return (spread + middle + rule + words).properties(width=plot, height=220)


def _experts(number: int, plot: int, padding: float) -> Any:
    """A place below for each expert of a layer."""
    scale = {"paddingInner": padding, "paddingOuter": 0}
    return places("expert:O", "expert", range(number), 26, plot, {"domain": False}, scale)
