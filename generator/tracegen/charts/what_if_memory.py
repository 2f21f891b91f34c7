"""The time to read by size of memory, a line for each order of the file."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.compared import scaled

COLOURS = {
    "today": theme.INK["ink"][1],
    "layer": theme.GROUPS["FFN"][1],
    "first-touch": theme.GROUPS["attention"][1],
    "hot": theme.GROUPS["experts"][1],
    "co-activated": theme.GROUPS["output"][1],
}
DASHES = {"today": [1, 0], "layer": [6, 3], "first-touch": [1, 0], "hot": [2, 2], "co-activated": [8, 2, 2, 2]}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: order, memory_bytes, time_ns."""
    size, unit = scaled([float(rows["memory_bytes"].max())], "bytes")
    time, clock = scaled([float(rows["time_ns"].max())], "ns")
    orders = [name for name in COLOURS if (rows["order"] == name).any()]
    data = pd.DataFrame({"order": rows["order"], "memory": rows["memory_bytes"] / size, "time": rows["time_ns"] / time})
    legend = theme.legend(orders, width, title=None, symbolType="stroke", symbolStrokeWidth=2, offset=30)
    line = alt.Chart(data).mark_line(strokeWidth=2).encode(
        x=alt.X("memory:Q", title=f"memory for the file, {unit}", scale=dict(nice=False),
                axis=theme.x_axis(width, tickCount=theme.ticks(8, width))),
        y=alt.Y("time:Q", title=f"time to read, {clock}", scale=dict(zero=True),
                axis=theme.y_axis(theme.NUMBERS, tickCount=5)),
        color=alt.Color("order:N", scale=dict(domain=orders, range=[COLOURS[name] for name in orders]), legend=legend),
        strokeDash=alt.StrokeDash("order:N", scale=dict(domain=orders, range=[DASHES[name] for name in orders]),
                                  legend=legend),
    )  # fmt: skip
    drawn = line + line.mark_point(filled=True, size=60, opacity=0)  # the pointer finds points
    return drawn.properties(width=theme.plot(theme.NUMBERS, width), height=240)
