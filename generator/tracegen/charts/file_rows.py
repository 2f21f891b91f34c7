"""Stretches of the model file by colour, a row for each pass or several passes, and a bar for each row."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.heatmap import BETWEEN, Axis, ruler, size_text
from tracegen.charts.lazy import alt
from tracegen.charts.pointing import LEGEND
from tracegen.contract.text import three

ROW, TALL = 14, 200  # px: of a row, and of all rows; a quarter of it where the bars stand below
BARS = 150  # px: the width of the bars beside the map
STEP = 50  # px: the width of a step that has room for its text


def waits(
    cells: pd.DataFrame,
    rows: pd.DataFrame,
    bands: tuple[pd.DataFrame, pd.DataFrame],
    axis: Axis,
    ends: list[str],
    *,
    width: int = theme.WIDTHS[-1],
) -> Any:
    """How long threads waited for each region of the file.

    Left: regions by the time waited for them. Right, or below in a narrow figure: the sum of each row.

    `cells` is the first result of `disk_waits.cells`, `rows` those of `heatmap.display_rows` that are drawn, `bands`
    the layers and components of `heatmap.bands`, `ends` the upper end of each step of colour, as a text.
    """
    waited = cells.groupby("row")["waited_ns"].sum().reset_index()
    scale, unit = (1e9, "s") if float(waited["waited_ns"].max()) >= 2e9 else (1e6, "ms")
    bars = pd.DataFrame({"row": waited["row"], "waited": waited["waited_ns"] / scale})
    length = alt.X("waited:Q", title=f"waited in all, {unit}", axis=dict(tickCount=3), scale=dict(zero=True))
    cells = cells.assign(waited=[f"{three(ns / 1e6)} ms" for ns in cells["waited_ns"]])
    beside, track, room = _file_rows(cells, rows, bars, length, axis, width)
    title = f"waited for a cell of {size_text(axis.cell_bytes)}, upper end of each step; no colour: no page fault"
    whole = alt.vconcat(ruler(*bands, axis, track, room), beside, spacing=6)
    return alt.vconcat(_legend(title, ends, min(560, track)), whole, spacing=10)


def residency(
    shares: pd.DataFrame, read: pd.DataFrame, rows: pd.DataFrame, axis: Axis, *, width: int = theme.WIDTHS[-1]
) -> Any:
    """How much of each region of the file is in memory after each pass.

    Left: regions by their share in memory; right, or below in a narrow figure: bytes read. `shares`, `read`
    and `rows` are the results of `joined_shares`, `read_per_row` and `resident_rows`.
    """
    top = float(read["read_bytes"].max()) if len(read) else 0.0
    size, unit = (2**30, "GiB") if top >= 2**30 else (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    length = alt.X(
        "read:Q",
        title=f"read from the disk, {unit}",
        scale=dict(domain=[0, top / size or 1]),
        axis=dict(tickCount=3),
    )
    bars = pd.DataFrame({"row": read["row"], "read": read["read_bytes"] / size})
    both, track, _ = _file_rows(shares, rows, bars, length, axis, width)
    title = f"in memory of a cell of {size_text(axis.cell_bytes)}, upper end of each step; no colour: nothing"
    ends = [f"{three((i + 1) / theme.N_STEPS * 100)} %" for i in range(theme.N_STEPS)]
    return alt.vconcat(_legend(title, ends, min(480, track)), both, spacing=18)


def _file_rows(
    cells: pd.DataFrame, rows: pd.DataFrame, bars: pd.DataFrame, length: Any, axis: Axis, width: int
) -> tuple[Any, int, int]:
    """The regions at the left, the bars at the right, or below in a narrow figure; the width of the regions in px,
    and the room at their left.

    `cells`: row, step (of colour), begin, end, and waited, where tooltips tell it. `rows`: row and label; `bars`: row
    and what `length` shows.
    """
    named_rows = rows.drop_duplicates("row").sort_values("row", kind="stable")
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
    ).filter(["label", "colour", "begin", "end", "waited"])
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


def _legend(title: str, ends: Sequence[str], width: int) -> Any:
    """`ends` are the upper ends of the steps, from the lightest on, as texts; where there is room for every second one
    only, the others are left out. `width` in px."""
    steps = len(ends)
    swatches = pd.DataFrame(
        [
            dict(
                begin=i,
                end=i + 1,
                colour=theme.SEQUENTIAL_LIGHT[i],
                text=ends[i] if width >= steps * STEP or (steps - i) % 2 else "",
            )
            for i in range(steps)
        ]
    )
    x = alt.X("begin:Q", axis=None, scale=dict(domain=[0, steps], nice=False))
    box = (
        alt.Chart(swatches, title=theme.wrapped(title, width))
        .mark_rect(stroke=theme.INK["ground"][1], strokeWidth=1)
        .encode(x=x, x2=alt.X2("end:Q"), color=alt.Color("colour:N", scale=None))
    )
    words = (
        alt.Chart(swatches)
        .mark_text(dy=16, align="right", fontSize=theme.SMALL, color=theme.INK["muted"][1])
        .encode(x=alt.X("end:Q", axis=None), text=alt.Text("text:N"))
    )
    return (box + words).properties(name=LEGEND, width=width, height=14)
