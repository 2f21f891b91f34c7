"""Stretches of the model file by colour, a row for each pass or several passes, and a bar for each row."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.heatmap import BETWEEN, Axis

ROW, TALL = 14, 200  # px: of a row, and of all rows; a quarter of it where the bars stand below
BARS = 150  # px: the width of the bars beside the map


def file_rows(
    cells: pd.DataFrame, columns: list[str], rows: pd.DataFrame, bars: pd.DataFrame, length: Any, axis: Axis, width: int
) -> tuple[Any, int, int]:
    """The stretches at the left, the bars at the right, or below in a narrow figure; the width of the stretches in px,
    and the room at their left.

    `cells`: row, step (of colour), begin, end, and what tooltips tell; `columns`: those of the drawn data in their
    order, label, colour, begin and end among them. `rows`: row and label; `bars`: row and what `length` shows.
    """
    named_rows = rows.drop_duplicates("row").sort_values("row")
    order, label = list(named_rows["label"]), named_rows.set_index("row")["label"]
    tall = TALL // 4 if theme.narrow(width) else TALL
    step = max(1.0 if theme.narrow(width) else 2.0, min(float(ROW), tall / max(len(order), 1)))
    keep = max(1, int(13.5 / step + 0.99))
    place = dict(sort=order, title=None, scale=dict(domain=order, paddingInner=0.12, paddingOuter=0.06))
    height = int(step * len(order))
    stacked = theme.narrow(width)
    room = theme.names(width, max(map(len, order), default=1))
    named = theme.y_axis(room, values=order[::keep], ticks=False, domain=False, labelFontSize=theme.SMALL)
    track = theme.plot(room, width) - (0 if stacked else BARS + BETWEEN)
    size, unit = axis.unit
    data = cells.assign(
        label=cells["row"].map(label),
        colour=theme.step_colours(cells["step"]),
        begin=cells["begin"] / size,
        end=cells["end"] / size,
    )[columns]
    x = alt.X(
        "begin:Q",
        title=f"place in the model file, {unit}",
        scale=dict(domain=[0, axis.total / size], nice=False),
        axis=theme.x_axis(width, grid=False, tickCount=theme.ticks(8, width)),
    )
    y, colour = alt.Y("label:N", axis=named, **place), alt.Color("colour:N", scale=None)
    file = alt.Chart(data).mark_rect().encode(x=x, x2=alt.X2("end:Q"), y=y, color=colour)
    file = file.properties(width=track, height=height)
    seams = pd.DataFrame({"begin": [b / size for b in axis.boundaries]}, dtype=float)
    file += alt.Chart(seams).mark_rule(strokeWidth=4, color=theme.INK["ground"][1]).encode(x=x)
    drawn = pd.DataFrame({"label": bars["row"].map(label)}).join(bars.drop(columns="row"))
    lengths = alt.Chart(drawn).mark_bar(color=theme.INK["muted"][1])
    lengths = lengths.encode(x=length, y=alt.Y("label:N", axis=named if stacked else None, **place))
    lengths = lengths.properties(width=track if stacked else BARS, height=height)
    return (
        (alt.vconcat if stacked else alt.hconcat)(file, lengths, spacing=BETWEEN // 2 if stacked else BETWEEN),
        track,
        room,
    )
