"""The hit rate of a cache by its size, a line for each way to choose what it keeps."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.compared import scaled

COLOURS = {
    "Belady": theme.INK["ink"][1],
    "static": theme.GROUPS["FFN"][1],
    "LRU": theme.GROUPS["attention"][1],
    "LFU": theme.GROUPS["experts"][1],
    "FIFO": theme.GROUPS["output"][1],
}
DASHES = {"Belady": [1, 0], "static": [6, 3], "LRU": [1, 0], "LFU": [2, 2], "FIFO": [8, 2, 2, 2]}


def chart(rows: pd.DataFrame, cycle: float | None, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: policy, size_bytes, hit_rate. `cycle`: the bytes that a token touches, a dashed line; None: unknown."""
    size, unit = scaled([float(rows["size_bytes"].max())], "bytes")
    order = [policy for policy in COLOURS if (rows["policy"] == policy).any()]
    data = rows.assign(size=rows["size_bytes"] / size)
    plot = theme.plot(theme.NUMBERS, width)
    x = alt.X(
        "size:Q", title=f"size of the cache, {unit}", scale=dict(type="log", nice=False),
        axis=theme.x_axis(width, tickCount=theme.ticks(8, width), format="~r"),
    )  # fmt: skip
    legend = theme.legend(order, width, title=None, symbolType="stroke", symbolStrokeWidth=2)
    line = alt.Chart(data).mark_line(strokeWidth=2).encode(
        x=x,
        y=alt.Y("hit_rate:Q", title="hit rate", scale=dict(domain=[0, 1]),
                axis=theme.y_axis(theme.NUMBERS, format=".0%", tickCount=5)),
        color=alt.Color("policy:N", scale=dict(domain=order, range=[COLOURS[p] for p in order]), legend=legend),
        strokeDash=alt.StrokeDash("policy:N", scale=dict(domain=order, range=[DASHES[p] for p in order]),
                                  legend=legend),
    )  # fmt: skip
    drawn = line + line.mark_point(filled=True, size=60, opacity=0)  # the pointer finds points
    if cycle is not None and data["size"].min() <= cycle / size <= data["size"].max():
        mark = alt.Chart(pd.DataFrame({"size": [cycle / size]})).mark_rule(
            strokeDash=[4, 3], color=theme.INK["muted"][1]
        )
        drawn += mark.encode(x=x)
    return drawn.properties(width=plot, height=260)
