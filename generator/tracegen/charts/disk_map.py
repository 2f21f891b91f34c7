"""How long threads waited for each stretch of the model file, one row for each pass or several passes; the sums."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.heatmap import BETWEEN, Axis, ruler, size_text
from tracegen.charts.steps import legend
from tracegen.contract.text import three

ROW = 14
SUMS = 150  # px: the width of the sums beside the map


def chart(
    cells: pd.DataFrame,
    rows: pd.DataFrame,
    bands: tuple[pd.DataFrame, pd.DataFrame],
    axis: Axis,
    ends: list[str],
    *,
    width: int = theme.WIDTHS[-1],
) -> Any:
    """Left: stretches by the time waited for them. Right, or below in a narrow figure: the sum of each row.

    `cells` is the first result of `disk_waits.cells`, `rows` those of `heatmap.display_rows` that are drawn, `bands`
    the layers and components of `heatmap.bands`, `ends` the upper end of each step of colour, as a text.
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
    track = theme.plot(room, width) - (0 if stacked else SUMS + BETWEEN)
    size, unit = axis.unit
    data = pd.DataFrame(
        {
            "label": cells["row"].map(label),
            "colour": theme.step_colours(cells["step"]),
            "begin": cells["begin"] / size,
            "end": cells["end"] / size,
            "waited": [f"{three(ns / 1e6)} ms" for ns in cells["waited_ns"]],
        }
    )
    x = alt.X(
        "begin:Q",
        title=f"place in the model file, {unit}",
        scale=dict(domain=[0, axis.total / size], nice=False),
        axis=theme.x_axis(width, grid=False, tickCount=theme.ticks(8, width)),
    )
    file = (
        alt.Chart(data)
        .mark_rect()
        .encode(
            x=x, x2=alt.X2("end:Q"), y=alt.Y("label:N", axis=named, **place), color=alt.Color("colour:N", scale=None)
        )
        .properties(width=track, height=height)
    )
    seams = pd.DataFrame({"begin": [b / size for b in axis.boundaries]}, dtype=float)
    file += alt.Chart(seams).mark_rule(strokeWidth=4, color=theme.INK["ground"][1]).encode(x=x)
    sums = _sums(cells, label, {**place, "axis": named if stacked else None}, (track if stacked else SUMS, height))
    beside = (alt.vconcat if stacked else alt.hconcat)(file, sums, spacing=BETWEEN)
    title = f"waited for a cell of {size_text(axis.cell_bytes)}, upper end of each step; no colour: no page fault"
    whole = alt.vconcat(ruler(*bands, axis, track, room), beside, spacing=6)
    return alt.vconcat(legend(title, ends, min(560, track)), whole, spacing=18)


def _sums(cells: pd.DataFrame, label: pd.Series, y: dict[str, Any], size: tuple[int, int]) -> Any:
    waited = cells.groupby("row")["waited_ns"].sum().reset_index()
    scale, unit = (1e9, "s") if float(waited["waited_ns"].max()) >= 2e9 else (1e6, "ms")
    data = pd.DataFrame({"label": waited["row"].map(label), "waited": waited["waited_ns"] / scale})
    x = alt.X("waited:Q", title=f"waited in all, {unit}", axis=dict(tickCount=3), scale=dict(zero=True))
    bars = alt.Chart(data).mark_bar(color=theme.INK["muted"][1]).encode(x=x, y=alt.Y("label:N", **y))
    return bars.properties(width=size[0], height=size[1])
