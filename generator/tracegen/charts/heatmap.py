"""The heatmap: the model file from first to last byte, buffers beside it, one row for each pass or several passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.buffers import COLOURS
from tracegen.charts.pointing import LEGEND
from tracegen.charts.text import three

BUFFERS, BETWEEN = 150, 28
LANES = {"disk": "mapped", "copied": "copied"}  # kind of memory -> its name in the figure
TRACK = theme.plot(theme.NAMES) - BUFFERS - BETWEEN
NAME, STRIP, LAYER, ROW = 17, 7, 17, 14  # px: heights of names of parts, their colours, layers, a pass
GLYPH = 6.6  # px: upper estimate of a character's width in a text of 12 px


@dataclass(frozen=True)
class Axis:
    """The disk axis: its length, the boundaries between files, and the bytes of one cell."""

    total: int
    boundaries: tuple[int, ...]
    cell_bytes: int

    @property
    def unit(self) -> tuple[int, str]:
        """Bytes per unit of the axis, and the unit's name."""
        return (2**30, "GiB") if self.total >= 4 * 2**30 else (2**20, "MiB") if self.total >= 2**20 else (2**10, "KiB")


def chart(
    cells: pd.DataFrame,
    rows: pd.DataFrame,
    layers: pd.DataFrame,
    components: pd.DataFrame,
    buffers: pd.DataFrame,
    axis: Axis,
    top_bytes: float,
) -> Any:
    """Draw the heatmap; disk cells are solid, copied ones hatched.

    `cells` is the result of `heatmap.joined_cells`, `rows` of `heatmap.display_rows`, `layers` and `components` of
    `heatmap.bands`. `buffers` has row, group, touched_bytes (mean per pass); `top_bytes` is the largest cell.
    """
    names = rows.drop_duplicates("row").sort_values("row")
    shown = [*names.loc[names["outside"], "label"], "", *names.loc[~names["outside"], "label"]]
    order = shown if names["outside"].any() else shown[1:]
    step = max(8.0, min(float(ROW), 700 / max(len(order), 1)))
    height = int(step * len(order))
    label = names.set_index("row")["label"]
    keep = max(1, int(13.5 / step + 0.99))
    y = alt.Y(
        "label:N",
        sort=order,
        title=None,
        scale=dict(domain=order, paddingInner=0.12, paddingOuter=0),
        axis=theme.y_axis(
            theme.NAMES,
            values=[n for i, n in enumerate(order) if n and i % keep == 0],
            ticks=False,
            domain=False,
            labelFontSize=12,
        ),
    )
    disk = _disk(cells.assign(label=cells["row"].map(label)), y, axis, height)
    bands = ruler(layers, components, axis)
    track = alt.vconcat(bands, disk, spacing=6)
    if len(buffers):
        side = _buffers(buffers.assign(label=buffers["row"].map(label)), y, height)
        track = alt.vconcat(
            bands, alt.hconcat(disk, side, spacing=BETWEEN).resolve_scale(color="independent"), spacing=6
        )
    return alt.vconcat(_legend(axis, top_bytes, set(cells["memory"])), track, spacing=18)


def _x(disk: Axis, **more: Any) -> Any:
    size, unit = disk.unit
    scale = dict(domain=[0, disk.total / size], nice=False)
    return alt.X("begin:Q", scale=scale, **({"title": f"place in the model file, {unit}"} | more))


def _disk(cells: pd.DataFrame, y: Any, axis: Axis, height: int) -> Any:
    size, _ = axis.unit
    colours = theme.step_colours(cells["step"], cells["memory"] == "copied")
    data = cells.assign(begin=cells["begin"] / size, end=cells["end"] / size, colour=colours)
    data = data.sort_values("memory", ascending=False)[["label", "begin", "end", "memory", "touched_bytes", "colour"]]
    data = data.assign(memory=[LANES[str(memory)] for memory in data["memory"]])
    marks = (
        alt.Chart(data)
        .mark_rect()
        .encode(
            x=_x(axis, axis=dict(grid=False, tickCount=8)),
            x2=alt.X2("end:Q"),
            y=y,
            color=alt.Color("colour:N", scale=None),
        )
    )
    return (marks + _gaps(axis)).properties(width=TRACK, height=height)


def _gaps(axis: Axis) -> Any:
    """Lines in the colour of the ground between the files of a split model."""
    size, _ = axis.unit
    data = pd.DataFrame({"begin": [b / size for b in axis.boundaries]}, dtype=float)
    return alt.Chart(data).mark_rule(strokeWidth=4, color=theme.INK["ground"][1]).encode(x=_x(axis))


def ruler(layers: pd.DataFrame, components: pd.DataFrame, axis: Axis) -> Any:
    """Two strips above a map of the file: its component groups and layers, named where there is room."""
    parts = _bands(_joined(components.assign(value=components["component"].map(theme.group))), axis)
    rows = _bands(
        _joined(layers.assign(value=["" if pd.isna(v) else f"layer {int(v)}" for v in layers["layer"]])), axis
    )
    numbers = [text.removeprefix("layer ") for text in rows["value"]]
    fits = rows["width"] > GLYPH * rows["value"].str.len() + 6
    shades = [theme.INK["band"][1], theme.INK["band2"][1]]
    rows = rows.assign(
        text=[text if fit else number for text, number, fit in zip(rows["value"], numbers, fits, strict=True)],
        colour=[shades[i % 2] if text else theme.INK["ground"][1] for i, text in enumerate(rows["value"])],
    )
    strip = _strip(parts, axis, alt.value(NAME)).encode(
        y2=alt.value(NAME + STRIP),
        color=alt.Color("value:N", scale=theme.group_scale(list(parts["value"])), title=None),
    )
    names = _words(parts.assign(text=parts["value"]), _lane("part"), dy=-STRIP / 2)
    boxes = _strip(rows, axis, _lane("layer")).encode(color=alt.Color("colour:N", scale=None))
    views = (
        (strip + names + _gaps(axis)).properties(width=TRACK, height=NAME + STRIP),
        (boxes + _words(rows, _lane("layer")) + _gaps(axis)).properties(width=TRACK, height=LAYER),
    )
    return alt.vconcat(*views, spacing=2).resolve_scale(color="independent")


def _strip(bands: pd.DataFrame, axis: Axis, lane: Any) -> Any:
    columns = [c for c in ("begin", "end", "true_end", "value", "colour") if c in bands]
    return alt.Chart(bands[columns]).mark_rect().encode(x=_x(axis, axis=None), x2=alt.X2("end:Q"), y=lane)


def _words(bands: pd.DataFrame, lane: Any, dy: float = 0) -> Any:
    """The names of the bands that have room for them."""
    room = bands["width"] > GLYPH * bands["text"].str.len() + 4
    shown = bands.loc[room & (bands["text"] != ""), ["middle", "text"]]
    mark = alt.Chart(shown).mark_text(fontSize=12, dy=dy, color=theme.INK["ink"][1])
    return mark.encode(x=alt.X("middle:Q", axis=None), y=lane, text=alt.Text("text:N"))


def _joined(bands: pd.DataFrame) -> pd.DataFrame:
    """Neighbouring bands of one value as one: value, begin, end."""
    change = (bands["value"] != bands["value"].shift()).cumsum()
    grouped = bands.groupby(change)
    return grouped.agg(value=("value", "first"), begin=("begin", "min"), end=("end", "max")).reset_index(drop=True)


def _bands(frame: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """value, begin, end, middle (in units of the axis) and width in pixels; none is thinner than one pixel."""
    size, _ = axis.unit
    pixel = axis.total / TRACK
    begin, end = frame["begin"].astype(float), frame["end"].astype(float)
    return pd.DataFrame(
        {
            "value": frame["value"].astype(object),
            "begin": begin / size,
            "end": end.clip(lower=begin + pixel) / size,
            "true_end": end / size,  # the end in the tooltip
            "middle": (begin + end) / 2 / size,
            "width": (end - begin) / pixel,
        }
    )


def _lane(name: str) -> Any:
    """A y channel with a single lane, its name at the left."""
    axis = theme.y_axis(theme.NAMES, ticks=False, domain=False, labelFontSize=12)
    return alt.Y(datum=name, type="nominal", title=None, scale=dict(domain=[name]), axis=axis)


def _buffers(data: pd.DataFrame, y: Any, height: int) -> Any:
    top = float(data.groupby("row")["touched_bytes"].sum().max())
    size, unit = (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    order = [name for name in COLOURS if name in set(data["group"])]
    data = data.assign(touched=data["touched_bytes"].astype(float) / size, rank=data["group"].map(order.index))
    return (
        alt.Chart(data[["label", "group", "touched", "rank"]])
        .mark_bar()
        .encode(
            x=alt.X("touched:Q", title=f"touched in buffers, {unit}", axis=dict(tickCount=3)),
            y=alt.Y("label:N", sort=y["sort"], title=None, scale=y["scale"], axis=None),
            color=alt.Color(
                "group:N",
                title=None,
                scale=dict(domain=order, range=[COLOURS[n] for n in order]),
                legend=dict(orient="top", columns=1, offset=4),
            ),
            order=alt.Order("rank:Q"),
        )
        .properties(width=BUFFERS, height=height)
    )


def _legend(axis: Axis, top_bytes: float, memories: set[str]) -> Any:
    """The colour steps with their values, for each kind of memory that occurs."""
    size, unit = (2**20, "MiB") if top_bytes >= 2**20 else (2**10, "KiB") if top_bytes >= 2**10 else (1, "B")
    lanes: list[str] = [lane for memory, lane in LANES.items() if memory in memories]
    swatches = pd.DataFrame(
        [
            dict(
                lane=lane,
                begin=i,
                end=i + 1,
                colour=palette[i],
                text=three((i + 1) / theme.N_STEPS * top_bytes / size),
            )
            for lane, palette in zip(LANES.values(), (theme.SEQUENTIAL_LIGHT, theme.SEQUENTIAL_COPIED), strict=True)
            if lane in lanes
            for i in range(theme.N_STEPS)
        ],
        columns=["lane", "begin", "end", "colour", "text"],
    )
    x = alt.X("begin:Q", axis=None, scale=dict(domain=[0, theme.N_STEPS], nice=False))
    edge = theme.y_axis(theme.NAMES, ticks=False, domain=False, labelFontSize=12)
    y = alt.Y("lane:N", sort=lanes, title=None, axis=edge, scale=dict(domain=lanes))
    box = (
        alt.Chart(swatches, title=f"{unit} touched in a cell of {size_text(axis.cell_bytes)}, upper end of each step")
        .mark_rect(stroke=theme.INK["ground"][1], strokeWidth=1)
        .encode(x=x, x2=alt.X2("end:Q"), y=y, color=alt.Color("colour:N", scale=None))
    )
    words = (
        alt.Chart(swatches[swatches["lane"] == (lanes or [""])[-1]])
        .mark_text(dy=16, align="right", fontSize=12, color=theme.INK["muted"][1])
        .encode(x=alt.X("end:Q", axis=None), y=y, text=alt.Text("text:N"))
    )
    return (box + words).properties(name=LEGEND, width=400, height=14 * max(len(lanes), 1))


def size_text(count: int) -> str:
    """The size of a cell, such as `96.2 KiB of file`."""
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {unit} of file"
    return f"{count} B of file"
