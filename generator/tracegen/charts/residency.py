"""How much of each stretch of the model file is in memory after each pass; beside it the bytes read from the disk."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.heatmap import BETWEEN, Axis, size_text
from tracegen.charts.steps import legend
from tracegen.contract.text import three

ROW = 14
READ = 150  # px: the width of the bytes read beside the map


def chart(
    shares: pd.DataFrame, read: pd.DataFrame, rows: pd.DataFrame, axis: Axis, *, width: int = theme.WIDTHS[-1]
) -> Any:
    """Left: stretches by their share in memory; right, or below in a narrow figure: bytes read.

    `shares`, `read` and `rows` are the results of `joined_shares`, `read_per_row` and `resident_rows`.
    """
    names = rows.drop_duplicates("row").sort_values("row")
    order, label = list(names["label"]), names.set_index("row")["label"]
    step = max(8.0, min(float(ROW), 700 / max(len(order), 1)))
    keep = max(1, int(13.5 / step + 0.99))
    place = dict(sort=order, title=None, scale=dict(domain=order, paddingInner=0.12, paddingOuter=0.06))
    height = int(step * len(order))
    stacked = theme.narrow(width)
    room = theme.names(width, max(map(len, order), default=1))
    named = theme.y_axis(room, values=order[::keep], ticks=False, domain=False, labelFontSize=theme.SMALL)
    y = alt.Y("label:N", axis=named, **place)
    track = theme.plot(room, width) - (0 if stacked else READ + BETWEEN)
    size, unit = axis.unit
    colours = theme.step_colours(shares["step"])
    data = shares.assign(label=shares["row"].map(label), colour=colours)
    data = data.assign(begin=shares["begin"] / size, end=shares["end"] / size)[["label", "begin", "end", "colour"]]
    x = alt.X(
        "begin:Q",
        title=f"place in the model file, {unit}",
        scale=dict(domain=[0, axis.total / size], nice=False),
        axis=theme.x_axis(width, grid=False, tickCount=theme.ticks(8, width)),
    )
    file = (
        alt.Chart(data)
        .mark_rect()
        .encode(x=x, x2=alt.X2("end:Q"), y=y, color=alt.Color("colour:N", scale=None))
        .properties(width=track, height=height)
    )
    seams = pd.DataFrame({"begin": [b / size for b in axis.boundaries]}, dtype=float)
    file += alt.Chart(seams).mark_rule(strokeWidth=4, color=theme.INK["ground"][1]).encode(x=x)
    beside = _read(
        read.assign(label=read["row"].map(label)),
        alt.Y("label:N", axis=named if stacked else None, **place),
        (track if stacked else READ, height),
    )
    title = f"in memory of a cell of {size_text(axis.cell_bytes)}, upper end of each step; no colour: nothing"
    ends = [f"{three((i + 1) / theme.N_STEPS * 100)} %" for i in range(theme.N_STEPS)]
    both = (alt.vconcat if stacked else alt.hconcat)(file, beside, spacing=BETWEEN)
    return alt.vconcat(legend(title, ends, min(480, track)), both, spacing=18)


def _read(read: pd.DataFrame, y: Any, area: tuple[int, int]) -> Any:
    top = float(read["read_bytes"].max()) if len(read) else 0.0
    size, unit = (2**30, "GiB") if top >= 2**30 else (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    x = alt.X(
        "read:Q",
        title=f"read from the disk, {unit}",
        scale=dict(domain=[0, top / size or 1]),
        axis=dict(tickCount=3),
    )
    return (
        alt.Chart(read.assign(read=read["read_bytes"] / size)[["label", "read"]])
        .mark_bar(color=theme.INK["muted"][1])
        .encode(x=x, y=y)
        .properties(width=area[0], height=area[1])
    )
