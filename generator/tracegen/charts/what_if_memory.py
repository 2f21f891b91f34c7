"""The time to read by size of memory, a line for each order of the file."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import amounts
from tracegen.charts.compared import scaled
from tracegen.charts.lines import LONG, MIXED, PLAIN, SHORT, lines, points

LOOKS = {
    "today": (theme.INK["ink"][1], PLAIN),
    "layer": (theme.GROUPS["FFN"][1], LONG),
    "first-touch": (theme.GROUPS["attention"][1], PLAIN),
    "hot": (theme.GROUPS["experts"][1], SHORT),
    "co-activated": (theme.GROUPS["output"][1], MIXED),
}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: order, memory_bytes, time_ns."""
    size, unit = scaled([float(rows["memory_bytes"].max())], "bytes")
    time, clock = scaled([float(rows["time_ns"].max())], "ns")
    data = pd.DataFrame({"order": rows["order"], "memory": rows["memory_bytes"] / size, "time": rows["time_ns"] / time})
    x = alt.X("memory:Q", title=f"memory for the file, {unit}", scale=dict(nice=False),
              axis=theme.x_axis(width, tickCount=theme.ticks(8, width)))  # fmt: skip
    y = amounts("time", f"time to read, {clock}")
    line = lines(data, "order", LOOKS, x, y, width, offset=30)
    return (line + points(line)).properties(width=theme.plot(theme.NUMBERS, width), height=240)
