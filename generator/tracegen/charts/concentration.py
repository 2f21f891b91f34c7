"""Which share of the use the most used bytes of the file have, a line for each way to measure use."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme

NAMES = {"touched_bytes": "touched bytes", "n_accesses": "accesses", "work_ns": "time of operations"}
COLOURS = {
    "touched bytes": theme.GROUPS["attention"][1],
    "accesses": theme.GROUPS["experts"][1],
    "time of operations": theme.GROUPS["FFN"][1],
}
DASHES = {"touched bytes": [1, 0], "accesses": [6, 3], "time of operations": [2, 2]}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: measure, file_share, use_share, in order of each curve."""
    data = rows.assign(measure=rows["measure"].map(NAMES))
    order = [name for name in COLOURS if (data["measure"] == name).any()]
    axis = dict(format=".0%", tickCount=5)
    legend = theme.legend(order, width, title=None, symbolType="stroke", symbolStrokeWidth=2, offset=30)
    line = alt.Chart(data).mark_line(strokeWidth=2).encode(
        x=alt.X("file_share:Q", title="share of the tensors’ bytes, the most used first",
                scale=dict(domain=[0, 1]), axis=theme.x_axis(width, **axis)),
        y=alt.Y("use_share:Q", title="share of the use", scale=dict(domain=[0, 1]),
                axis=theme.y_axis(theme.NUMBERS, **axis)),
        color=alt.Color("measure:N", scale=dict(domain=order, range=[COLOURS[name] for name in order]), legend=legend),
        strokeDash=alt.StrokeDash("measure:N", scale=dict(domain=order, range=[DASHES[name] for name in order]),
                                  legend=legend),
    )  # fmt: skip
    ends = pd.DataFrame({"x": [0.0], "y": [0.0], "x2": [1.0], "y2": [1.0]})
    even = alt.Chart(ends).mark_rule(strokeDash=[4, 3], strokeWidth=1, color=theme.INK["muted"][1])
    even = even.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))
    drawn = even + line + line.mark_point(filled=True, size=60, opacity=0)  # the pointer finds points
    return drawn.properties(width=theme.plot(theme.NUMBERS, width), height=260)
