"""A value of each generated token: the duration of its pass, the parts of its time, the bytes of the KV cache."""

from typing import Any

import pandas as pd

from tracegen.analysis.attribution import PARTS
from tracegen.charts import theme
from tracegen.charts.buffers import COLOURS
from tracegen.charts.by_layer import at_right
from tracegen.charts.channels import amounts, places
from tracegen.charts.compared import scaled
from tracegen.charts.lazy import alt
from tracegen.contract.text import three

MEDIAN = 90  # room for the median's label at the right
MOST = 80  # passes with a bar and a name of their own
NAMED = 26  # px that the name of a pass needs
# Part -> its colour; what the disk costs stands out.
OF_PARTS = {
    "computing_ns": theme.INK["bar"][1],
    "disk_ns": theme.INK["disk"][1],
    "behind_ns": theme.INK["behind"][1],
    "paging_ns": theme.INK["paging"][1],
    "processor_ns": theme.INK["processor"][1],
    "barrier_ns": theme.INK["inside"][1],
    "elsewhere_ns": theme.INK["elsewhere"][1],
    "outside_ns": theme.INK["outside"][1],
}


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """The duration of the pass of each token: bars, or a line for many, and the median.

    `rows`: produced_token, duration_ns of generate passes.
    """
    middle = float(rows["duration_ns"].astype(float).median())
    scale, unit = (1e6, "ms") if middle >= 1e6 else (1e3, "µs")
    data = pd.DataFrame(
        {"token": rows["produced_token"].astype(int), "time": rows["duration_ns"].astype(float) / scale}
    )
    few = len(data) <= MOST
    x = alt.X("token:O" if few else "token:Q", title="token", axis=dict(labelAngle=0, labelOverlap=True, grid=False))
    base = alt.Chart(data).encode(x=x, y=amounts("time", f"{unit} per generate pass"))
    marks = base.mark_bar() if few else base.mark_line(strokeWidth=1, interpolate="step", color=theme.INK["bar"][1])
    line = pd.DataFrame(
        {
            "y": [middle / scale],
            "text": [f"{'dashed: ' if theme.narrow(width) else ''}median {three(middle / scale)} {unit}"],
        }
    )
    rule = alt.Chart(line).mark_rule(strokeDash=[4, 3], color=theme.INK["ink"][1]).encode(y=alt.Y("y:Q"))
    narrow = theme.narrow(width)  # then the label stands above the plot
    words = at_right(line, "y", narrow=narrow)
    return (marks + rule + words).properties(
        width=theme.plot(theme.NUMBERS, width) - (0 if narrow else MEDIAN), height=200
    )


def parts(rows: pd.DataFrame, labels: list[str], *, width: int = theme.WIDTHS[-1]) -> Any:
    """The time of each token in parts: computing, waiting for the disk and behind a thread that does, the rest.

    Stacked bars, one for each row of `attribution.by_pass`; `labels` names them, in the same order.
    """
    top = float(rows["duration_ns"].max()) if len(rows) else 0.0
    scale, unit = (1e9, "s") if top >= 2e9 else (1e6, "ms") if top >= 1e6 else (1e3, "µs")
    plot = theme.plot(theme.NUMBERS, width)
    stacked = [
        rows.assign(place=range(len(rows)), label=labels, part=name, time=rows[part] / scale, order=i)[
            ["place", "label", "part", "time", "order"]
        ]
        for i, (part, name) in enumerate(PARTS.items())
    ]
    data = pd.concat(stacked, ignore_index=True)
    padding = {"paddingInner": 0.15 if len(rows) <= MOST else 0}
    x = places("label:N", "token", labels, NAMED, plot, {"grid": False}, padding, sort=labels)
    colour = alt.Color(
        "part:N",
        scale=dict(domain=list(PARTS.values()), range=list(OF_PARTS.values())),
        legend=theme.legend(list(PARTS.values()), width, title=None, offset=34),
        sort=list(PARTS.values()),
    )
    y = alt.Y("time:Q", title=f"{unit} per token", stack="zero", axis=theme.y_axis(theme.NUMBERS, tickCount=5))
    bars = alt.Chart(data).mark_bar().encode(x=x, y=y, color=colour, order=alt.Order("order:Q"))
    return bars.properties(width=plot, height=280)


def kv_cache(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """The bytes of the KV cache that each token uses, a step for each; `rows`: produced_token, touched_bytes."""
    size, unit = scaled([float(rows["touched_bytes"].max())], "bytes")
    data = pd.DataFrame({"token": rows["produced_token"].astype(int), "used": rows["touched_bytes"] / size})
    end = data.tail(1).assign(token=data["token"] + 1)  # of the last step
    data = pd.concat([data, end], ignore_index=True)
    x = alt.X("token:Q", title="token", axis=dict(grid=False, tickMinStep=1, tickCount=theme.ticks(8, width)))
    mark = alt.Chart(data).mark_area(interpolate="step-after", color=COLOURS["KV cache"])
    plot = theme.plot(theme.NUMBERS, width)
    return mark.encode(x=x, y=amounts("used", f"{unit} used")).properties(width=plot, height=160)
