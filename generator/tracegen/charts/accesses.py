"""The accesses of passes to the mapped files: where one pass was in the file."""

from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import along
from tracegen.charts.compared import scaled
from tracegen.charts.lazy import alt

HEIGHT = 340
LEAST = 1.5  # px: the least extent of a mark, as most accesses are thin in one direction


def path(rows: pd.DataFrame, total: int, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Where in the file the accesses of one pass were, and when.

    A mark for each, from its first to its last byte and from the start to the end of its operation.
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
    marks = (
        alt.Chart(data)
        .mark_rect(strokeWidth=LEAST)
        .encode(
            x=along("from", f"time since the start of the pass, {clock}", width, dict(nice=False, zero=True)),
            x2=alt.X2("to:Q"),
            y=alt.Y(
                "begin:Q",
                title=f"place in the model file, {unit}",
                scale=dict(domain=[0, total / size], nice=False),
                axis=theme.y_axis(theme.NUMBERS, tickCount=6),
            ),
            y2=alt.Y2("end:Q"),
            color=alt.Color("group:N", scale=scale, legend=theme.legend(scale["domain"], width, title=None, offset=30)),
            stroke=alt.Stroke("group:N", scale=scale, legend=None),
        )
    )
    return marks.properties(width=plot, height=HEIGHT)
