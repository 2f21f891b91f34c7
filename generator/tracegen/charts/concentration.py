"""Which share of the use the most used bytes of the file have, a line for each way to measure use."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.lines import LONG, PLAIN, SHORT, lines, points

NAMES = {"touched_bytes": "touched bytes", "n_accesses": "accesses", "work_ns": "time of operations"}
LOOKS = {
    "touched bytes": (theme.GROUPS["attention"][1], PLAIN),
    "accesses": (theme.GROUPS["experts"][1], LONG),
    "time of operations": (theme.GROUPS["FFN"][1], SHORT),
}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: measure, file_share, use_share, in order of each curve."""
    data = rows.assign(measure=rows["measure"].map(NAMES))
    axis = dict(format=".0%", tickCount=5)
    x = alt.X("file_share:Q", title="share of the tensors’ bytes, the most used first",
              scale=dict(domain=[0, 1]), axis=theme.x_axis(width, **axis))  # fmt: skip
    y = alt.Y("use_share:Q", title="share of the use", scale=dict(domain=[0, 1]),
              axis=theme.y_axis(theme.NUMBERS, **axis))  # fmt: skip
    line = lines(data, "measure", LOOKS, x, y, width, offset=30)
    ends = pd.DataFrame({"x": [0.0], "y": [0.0], "x2": [1.0], "y2": [1.0]})
    even = alt.Chart(ends).mark_rule(strokeDash=[4, 3], strokeWidth=1, color=theme.INK["muted"][1])
    even = even.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))
    return (even + line + points(line)).properties(width=theme.plot(theme.NUMBERS, width), height=260)
