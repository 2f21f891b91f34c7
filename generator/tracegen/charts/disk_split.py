"""The time of each token in parts: computing, waiting for the disk, waiting behind a thread that does, the rest."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.analysis.disk_waits import PARTS
from tracegen.charts import theme
from tracegen.charts.channels import places

MOST = 80  # passes with a bar and a name of their own
NAMED = 26  # px that the name of a pass needs
# Part -> its colour; what the disk costs stands out.
COLOURS = {
    "computing_ns": theme.INK["bar"][1],
    "disk_ns": theme.INK["disk"][1],
    "behind_ns": theme.INK["behind"][1],
    "barrier_ns": theme.INK["inside"][1],
    "outside_ns": theme.INK["outside"][1],
}


def chart(rows: pd.DataFrame, labels: list[str], *, width: int = theme.WIDTHS[-1]) -> Any:
    """Stacked bars, one for each row of `disk_waits.pass_split`; `labels` names them, in the same order."""
    top = float(rows["duration_ns"].max()) if len(rows) else 0.0
    scale, unit = (1e9, "s") if top >= 2e9 else (1e6, "ms") if top >= 1e6 else (1e3, "µs")
    plot = theme.plot(theme.NUMBERS, width)
    parts = [
        rows.assign(place=range(len(rows)), label=labels, part=name, time=rows[part] / scale, order=i)[
            ["place", "label", "part", "time", "order"]
        ]
        for i, (part, name) in enumerate(PARTS.items())
    ]
    data = pd.concat(parts, ignore_index=True)
    padding = 0.15 if len(rows) <= MOST else 0
    x = places("label:N", "token", labels, NAMED, plot, {"grid": False}, padding, sort=labels)
    colour = alt.Color(
        "part:N",
        scale=dict(domain=list(PARTS.values()), range=list(COLOURS.values())),
        legend=theme.legend(list(PARTS.values()), width, title=None, offset=34),
        sort=list(PARTS.values()),
    )
    y = alt.Y("time:Q", title=f"{unit} per token", stack="zero", axis=theme.y_axis(theme.NUMBERS, tickCount=5))
    bars = alt.Chart(data).mark_bar().encode(x=x, y=y, color=colour, order=alt.Order("order:Q"))
    return bars.properties(width=plot, height=280)
