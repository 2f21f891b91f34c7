"""The dual-track heatmap: the model file from first to last byte, the buffers beside it, token by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.buffers import COLOURS

TRACK, BUFFERS, RULER = 560, 130, 14


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
    """All frames as `analysis.heatmap` and `analysis.buffers` give them; `top_bytes`: the run's largest cell.

    `buffers`: row, group, touched_bytes (mean per pass). Disk cells are solid, copied ones hatched.
    """
    names = rows.drop_duplicates("row").sort_values("row")
    shown = [*names.loc[names["outside"], "label"], "", *names.loc[~names["outside"], "label"]]
    order = shown if names["outside"].any() else shown[1:]
    step = max(6.0, min(22.0, 400 / max(len(order), 1)))
    height = int(step * len(order))
    label = names.set_index("row")["label"]
    keep = max(1, int(13 / step + 0.99))
    y = alt.Y(
        "label:N",
        sort=order,
        title=None,
        scale=alt.Scale(domain=order, paddingInner=0.12, paddingOuter=0),
        axis=alt.Axis(
            values=[n for i, n in enumerate(order) if n and (i % keep == 0 or i < 3)], ticks=False, domain=False
        ),
    )
    disk = _disk(cells.assign(label=cells["row"].map(label)), y, axis, height)
    ruler = _ruler(layers, components, axis)
    track = alt.vconcat(ruler, disk, spacing=4)
    if len(buffers):
        side = _buffers(buffers.assign(label=buffers["row"].map(label)), y, height)
        track = alt.vconcat(ruler, alt.hconcat(disk, side, spacing=26).resolve_scale(color="independent"), spacing=4)
    return alt.vconcat(_legend(axis, top_bytes, set(cells["memory"])), track, spacing=14)


def _x(disk: Axis, **more: Any) -> Any:
    size, unit = disk.unit
    scale = alt.Scale(domain=[0, disk.total / size], nice=False)
    return alt.X("begin:Q", scale=scale, **({"title": f"place in the model file, {unit}"} | more))


def _disk(cells: pd.DataFrame, y: Any, axis: Axis, height: int) -> Any:
    size, _ = axis.unit
    colours = [
        (theme.SEQUENTIAL_COPIED if memory == "copied" else theme.SEQUENTIAL_LIGHT)[int(step)]
        for memory, step in zip(cells["memory"], cells["step"], strict=True)
    ]
    data = cells.assign(begin=cells["begin"] / size, end=cells["end"] / size, colour=colours)
    data = data.sort_values("memory", ascending=False)[["label", "begin", "end", "memory", "touched_bytes", "colour"]]
    marks = (
        alt.Chart(data)
        .mark_rect()
        .encode(
            x=_x(axis, axis=alt.Axis(grid=False, tickCount=8)), x2="end:Q", y=y, color=alt.Color("colour:N", scale=None)
        )
    )
    return (marks + _gaps(axis)).properties(width=TRACK, height=height)


def _gaps(axis: Axis) -> Any:
    """The seams between split files: a stroke in the colour of the ground."""
    size, _ = axis.unit
    data = pd.DataFrame({"begin": [b / size for b in axis.boundaries]}, dtype=float)
    return alt.Chart(data).mark_rule(strokeWidth=4, color=theme.INK["ground"][1]).encode(x=_x(axis))


def _ruler(layers: pd.DataFrame, components: pd.DataFrame, axis: Axis) -> Any:
    """Two strips: component groups with their legend, and layers, numbered where there is room."""
    parts = pd.DataFrame(_bands(components, axis), columns=["value", "begin", "end", "middle", "width"])
    parts = parts.assign(lane="part", group=parts["value"].map(theme.group))
    strip = (
        alt.Chart(parts[["lane", "begin", "end", "group"]])
        .mark_rect()
        .encode(
            x=_x(axis, axis=None),
            x2="end:Q",
            y=_lane("part"),
            color=alt.Color(
                "group:N",
                scale=theme.group_scale(list(parts["group"])),
                title=None,
                legend=alt.Legend(orient="top", offset=6),
            ),
        )
    )
    rows = pd.DataFrame(_bands(layers, axis), columns=["value", "begin", "end", "middle", "width"])
    shades = [theme.INK["band"][1], theme.INK["band2"][1]]
    text = ["" if pd.isna(v) else str(int(v)) for v in rows["value"]]
    rows = rows.assign(
        lane="layer",
        text=text,
        room=[w > 7 * len(t) + 4 for t, w in zip(text, rows["width"], strict=True)],
        colour=[shades[i % 2] if t else theme.INK["ground"][1] for i, t in enumerate(text)],
    )
    boxes = (
        alt.Chart(rows[["lane", "begin", "end", "colour"]])
        .mark_rect()
        .encode(x=_x(axis, axis=None), x2="end:Q", y=_lane("layer"), color=alt.Color("colour:N", scale=None))
    )
    words = (
        alt.Chart(rows.loc[rows["room"] & (rows["text"] != ""), ["lane", "middle", "text"]])
        .mark_text(fontSize=11, color=theme.INK["ink"][1])
        .encode(x=alt.X("middle:Q", axis=None), y=_lane("layer"), text="text:N")
    )
    size = {"width": TRACK, "height": RULER}
    return alt.vconcat(
        (strip + _gaps(axis)).properties(**size), (boxes + words + _gaps(axis)).properties(**size), spacing=2
    ).resolve_scale(color="independent")


def _bands(frame: pd.DataFrame, axis: Axis) -> list[tuple[Any, float, float, float, float]]:
    """value, begin, end, middle (in units of the axis) and width in pixels; none is thinner than one pixel."""
    size, _ = axis.unit
    pixel = axis.total / TRACK
    return [
        (value, begin / size, max(end, begin + pixel) / size, (begin + end) / 2 / size, (end - begin) / pixel)
        for value, begin, end in zip(frame.iloc[:, 0], frame["begin"], frame["end"], strict=True)
    ]


def _lane(name: str) -> Any:
    return alt.Y("lane:N", title=None, scale=alt.Scale(domain=[name]), axis=alt.Axis(ticks=False, domain=False))


def _buffers(data: pd.DataFrame, y: Any, height: int) -> Any:
    top = float(data.groupby("row")["touched_bytes"].sum().max())
    size, unit = (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    order = [name for name in COLOURS if name in set(data["group"])]
    data = data.assign(touched=data["touched_bytes"].astype(float) / size, rank=data["group"].map(order.index))
    return (
        alt.Chart(data[["label", "group", "touched", "rank"]])
        .mark_bar()
        .encode(
            x=alt.X("touched:Q", title=f"touched in buffers, {unit}", axis=alt.Axis(tickCount=3)),
            y=alt.Y("label:N", sort=y["sort"], title=None, scale=y["scale"], axis=None),
            color=alt.Color(
                "group:N",
                title=None,
                scale=alt.Scale(domain=order, range=[COLOURS[n] for n in order]),
                legend=alt.Legend(orient="bottom", columns=1),
            ),
            order=alt.Order("rank:Q"),
        )
        .properties(width=BUFFERS, height=height)
    )


def _legend(axis: Axis, top_bytes: float, memories: set[str]) -> Any:
    """The colour steps with their values, for each kind of memory that occurs."""
    size, unit = (2**20, "MiB") if top_bytes >= 2**20 else (2**10, "KiB") if top_bytes >= 2**10 else (1, "B")
    lanes: list[str] = [lane for lane in ("disk", "copied") if lane in memories]
    swatches = pd.DataFrame(
        [
            dict(
                lane=lane,
                begin=i,
                end=i + 1,
                colour=palette[i],
                text=f"{(i + 1) / theme.N_STEPS * top_bytes / size:.3g}",
            )
            for lane, palette in (("disk", theme.SEQUENTIAL_LIGHT), ("copied", theme.SEQUENTIAL_COPIED))
            if lane in lanes
            for i in range(theme.N_STEPS)
        ],
        columns=["lane", "begin", "end", "colour", "text"],
    )
    x = alt.X("begin:Q", axis=None, scale=alt.Scale(domain=[0, theme.N_STEPS], nice=False))
    y = alt.Y("lane:N", sort=lanes, title=None, axis=alt.Axis(ticks=False, domain=False), scale=alt.Scale(domain=lanes))
    box = (
        alt.Chart(swatches, title=f"up to … {unit} touched per cell of {_size(axis.cell_bytes)}")
        .mark_rect(stroke=theme.INK["ground"][1], strokeWidth=1)
        .encode(x=x, x2="end:Q", y=y, color=alt.Color("colour:N", scale=None))
    )
    words = (
        alt.Chart(swatches[swatches["lane"] == (lanes or [""])[-1]])
        .mark_text(dy=16, align="right", fontSize=11, color=theme.INK["muted"][1])
        .encode(x=alt.X("end:Q", axis=None), y=y, text="text:N")
    )
    return (box + words).properties(width=320, height=15 * max(len(lanes), 1))


def _size(count: int) -> str:
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {unit} of file"
    return f"{count} B of file"
