"""The hit rate of a cache by its size, a line for each way to choose what it keeps."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.compared import scaled
from tracegen.charts.lines import LONG, MIXED, PLAIN, SHORT, lines, points

LOOKS = {
    "Belady": (theme.INK["ink"][1], PLAIN),
    "static": (theme.GROUPS["FFN"][1], LONG),
    "LRU": (theme.GROUPS["attention"][1], PLAIN),
    "LFU": (theme.GROUPS["experts"][1], SHORT),
    "FIFO": (theme.GROUPS["output"][1], MIXED),
}


def chart(rows: pd.DataFrame, cycle: float | None, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: policy, size_bytes, hit_rate. `cycle`: the bytes that a token touches, a dashed line; None: unknown."""
    size, unit = scaled([float(rows["size_bytes"].max())], "bytes")
    data = rows.assign(size=rows["size_bytes"] / size)
    plot = theme.plot(theme.NUMBERS, width)
    x = alt.X(
        "size:Q", title=f"size of the cache, {unit}", scale=dict(type="log", nice=False),
        axis=theme.x_axis(width, tickCount=theme.ticks(8, width), format="~r"),
    )  # fmt: skip
    y = alt.Y("hit_rate:Q", title="hit rate", scale=dict(domain=[0, 1]),
              axis=theme.y_axis(theme.NUMBERS, format=".0%", tickCount=5))  # fmt: skip
    line = lines(data, "policy", LOOKS, x, y, width)
    drawn = line + points(line)
    if cycle is not None and data["size"].min() <= cycle / size <= data["size"].max():
        mark = alt.Chart(pd.DataFrame({"size": [cycle / size]})).mark_rule(
            strokeDash=[4, 3], color=theme.INK["muted"][1]
        )
        drawn += mark.encode(x=x)
    return drawn.properties(width=plot, height=260)
