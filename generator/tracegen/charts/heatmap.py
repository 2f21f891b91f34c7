"""The heatmap: the model file from first to last byte, buffers below it, one row for each pass or several passes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.buffers import COLOURS
from tracegen.charts.lazy import alt
from tracegen.charts.pointing import LEGEND

BUFFERS, BETWEEN = 150, 28
MEMORIES = ("disk", "copied")
TRACK = theme.plot(theme.NAMES) - BUFFERS - BETWEEN
NAME, STRIP, LAYER, ROW = 17, 7, 17, 14  # px: heights of names of parts, their colours, layers, a pass
LEAST_ROW, TALL = 4.0, (90, 140)  # px: a row is this high at least; where TALL (narrow, else) has room, up to ROW
LEAST_BAR, BARS_TALL, BAR = 2.0, (40, 62), 10  # px: the same for the bytes of buffers of a row
CUT = 2.0  # rows with more bytes of buffers than so many times those of any token are cut
APART = 0.6  # steps of the scale between small shares and the others in the legend
NARROW = 600  # px: a narrower drawing has less room for names
NAME_HIGH = 13.5  # px: a name of a row, with its distance from the next
SHORT = " → token "  # of the name of a prompt's pass; a narrow drawing writes ` → `
GLYPH = 7.0  # px: upper estimate of a character's width in a text of theme.SMALL
EVERY = (1, 2, 5, 10, 20, 50, 100)  # every so many layers have a number


@dataclass(frozen=True)
class Axis:
    """The disk axis: its length, the boundaries between files, and the bytes of one cell."""

    total: int
    boundaries: tuple[int, ...]
    cell_bytes: int

    @classmethod
    def of(cls, files: pd.DataFrame, n_cells: int = 0) -> Axis:
        """The axis of these files, one behind the other, cut into `n_cells` cells; 0: they are cut otherwise."""
        total = int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0
        return cls(
            total, tuple(int(b) for b in sorted(files["axis_begin"]) if b), -(-total // n_cells) if n_cells else 0
        )

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
    *,
    width: int = theme.WIDTH,
    copied: str = "copied",
) -> Any:
    """Draw the heatmap of shares; mapped cells are solid, copied ones hatched; buffers lie below, row by row.

    `cells` is the result of `heatmap.joined_shares` with the texts tensor, layer and dtype for tooltips, `rows` that
    of `heatmap.display_rows`, `layers` and `components` of `heatmap.bands`. `buffers` has row, group, touched_bytes
    (mean per pass). `width` is that of the whole drawing, px; `copied` is what weights are that are not mapped.
    """
    room = names_room(width)
    track = track_px(width)
    names = rows.drop_duplicates("row").sort_values("row", kind="stable")
    if width < NARROW:
        names = names.assign(label=names["label"].str.replace(SHORT, " → ", regex=False))
    label = names.set_index("row")["label"]
    tall, bars_tall = TALL[width >= NARROW], BARS_TALL[width >= NARROW]
    lanes = _Lanes.of(names, max(LEAST_ROW, min(ROW, tall / max(len(names), 1))))
    named = {"disk": "mapped", "copied": copied}
    cells = cells.assign(label=cells["row"].map(label), memory_name=cells["memory"].astype(str).map(named))
    disk = _disk(cells, lanes.y(room), axis, track, lanes.height)
    parts = [_legend({m: named[m] for m in MEMORIES if m in set(cells["memory"])}, room, track)]
    parts.append(alt.vconcat(ruler(layers, components, axis, track, room), disk, spacing=6))
    if len(buffers):
        lanes = _Lanes.of(names, max(LEAST_BAR, min(BAR, bars_tall / max(len(names), 1))))
        below = buffers.assign(label=buffers["row"].map(label))
        tokens = below["row"].isin(rows.loc[rows["generate"], "row"])
        parts.append(_buffers(below, tokens, lanes.y(room), track, lanes.height))
    return alt.vconcat(*parts, spacing=10, resolve=_own_colours())


def _own_colours() -> Any:
    """Each part of a drawing has colours of its own."""
    return alt.Resolve(scale=alt.ScaleResolveMap(color="independent"))


def names_room(width: int) -> int:
    """The room for names at the left of a drawing `width` px wide."""
    return theme.NAMES if width >= NARROW else 84


def track_px(width: int) -> int:
    """The width of the file, px, in a drawing `width` px wide."""
    return width - names_room(width) - theme.RIGHT


@dataclass(frozen=True)
class _Lanes:
    """The rows of a panel in their order, blank ones between warm-up and the rest; each is `step` px high."""

    order: list[str]
    named: list[str]
    step: float

    @classmethod
    def of(cls, names: pd.DataFrame, step: float) -> _Lanes:
        """Rows that are named so far apart that their names do not touch; the first of each part is named."""
        every = max(1, math.ceil(NAME_HIGH / step))
        outside, measured = (names.loc[names["outside"] == is_, "label"].tolist() for is_ in (True, False))
        room = every - len(outside) + (len(outside) - 1) // every * every  # blank rows below the last name of warm-up
        blank = [" " * i for i in range(max(1, room))] if outside else []
        return cls([*outside, *blank, *measured], [*outside[::every], *measured[::every]], step)

    @property
    def height(self) -> int:
        return int(self.step * len(self.order))

    def y(self, room: int) -> Any:
        axis = theme.y_axis(room, values=self.named, ticks=False, domain=False, labelFontSize=theme.SMALL)
        axis |= {"labelLimit": room - 8, "labelOverlap": False}
        scale = dict(domain=self.order, paddingInner=0.12, paddingOuter=0.06)  # at 0 Vega may drop the first name
        return alt.Y("label:N", sort=self.order, title=None, scale=scale, axis=axis)


def _x(disk: Axis, **more: Any) -> Any:
    size, unit = disk.unit
    scale = dict(domain=[0, disk.total / size], nice=False)
    return alt.X("begin:Q", scale=scale, **({"title": f"place in the model file, {unit}"} | more))


TOOLTIP = {
    "label": "pass",
    "tensor": "tensor",
    "layer": "layer",
    "dtype": "type",
    "used": "bytes used",
    "memory": "memory",
    "stretch": "bytes of the file",
}
PLACE = ["begin", "end", "tensor", "layer", "dtype", "size_bytes"]
USED = "format(datum.touched_bytes / datum.n_passes, ',.0f') + ' of ' + format(datum.size_bytes, ',') + ' bytes (' + "
USED += "format(datum.touched_bytes / datum.n_passes / datum.size_bytes, '.1%') + ')'"


def _disk(cells: pd.DataFrame, y: Any, axis: Axis, track: int, height: int) -> Any:
    """The cells; what they tell of a place stands once in the data, however many rows have it."""
    size, _ = axis.unit
    data = cells.assign(colour=theme.step_colours(cells["step"], cells["memory"] == "copied"))
    data["memory"] = data.pop("memory_name")
    data["place"] = data.groupby(PLACE, sort=False).ngroup()
    where = data.drop_duplicates("place").sort_values("begin", kind="stable")[["place", *PLACE]]
    where = where.assign(from_byte=where["begin"], to_byte=where["end"])
    where = where.assign(begin=where["begin"] / size, end=where["end"] / size)
    data = data.sort_values(["memory", "row", "begin"], ascending=[False, True, True])
    marks = (
        alt.Chart(data[["label", "place", "n_passes", "touched_bytes", "memory", "colour"]])
        .transform_lookup("place", from_=alt.LookupData(where, "place", list(where.columns.drop("place"))))
        .transform_calculate(used=USED, stretch="format(datum.from_byte, ',') + ' to ' + format(datum.to_byte, ',')")
        .mark_rect()
        .encode(
            x=_x(axis, axis=dict(grid=False, tickCount=max(3, track // 110))),
            x2=alt.X2("end:Q"),
            y=y,
            color=alt.Color("colour:N", scale=None),
            tooltip=[alt.Tooltip(f"{field}:N", title=title) for field, title in TOOLTIP.items()],
        )
    )
    return alt.layer(marks, _gaps(axis), width=track, height=height)


def _gaps(axis: Axis) -> Any:
    """Lines in the colour of the ground between the files of a split model."""
    size, _ = axis.unit
    data = pd.DataFrame({"begin": [b / size for b in axis.boundaries]}, dtype=float)
    return alt.Chart(data).mark_rule(strokeWidth=4, color=theme.INK["ground"][1]).encode(x=_x(axis))


def ruler(
    layers: pd.DataFrame, components: pd.DataFrame, axis: Axis, track: int = TRACK, names: int = theme.NAMES
) -> Any:
    """Two strips above a map of the file, `track` px wide: its groups of components and its layers.

    They are named as far as there is room; the room at the left has `names` px.
    """
    parts = _bands(_joined(components.assign(value=components["component"].map(theme.group))), axis, track)
    numbers = ["" if pd.isna(layer) else str(int(layer)) for layer in layers["layer"]]
    rows = _bands(_joined(layers.assign(value=numbers)), axis, track)
    shades = [theme.INK["band"][1], theme.INK["band2"][1]]
    colours = [shades[i % 2] if text else theme.INK["ground"][1] for i, text in enumerate(rows["value"])]
    rows = rows.assign(text=_every_few(rows), colour=colours)
    groups = list(dict.fromkeys(parts["value"]))
    strip = _strip(parts, axis, alt.YValue(NAME)).encode(
        y2=alt.Y2Value(NAME + STRIP),
        color=alt.Color("value:N", scale=theme.group_scale(groups), title=None, legend=theme.legend(groups, track)),
    )
    room = parts["width"] > GLYPH * parts["value"].str.len() + 4
    parts_named = _words(parts.assign(text=parts["value"].where(room, "")), _lane("part", names), dy=-STRIP / 2)
    boxes = _strip(rows, axis, _lane("layer", names)).encode(color=alt.Color("colour:N", scale=None))
    words = _words(rows, _lane("layer", names))
    views = (
        alt.layer(strip, parts_named, _gaps(axis), width=track, height=NAME + STRIP),
        alt.layer(boxes, words, _gaps(axis), width=track, height=LAYER),
    )
    return alt.vconcat(*views, spacing=2, resolve=_own_colours())


def _strip(bands: pd.DataFrame, axis: Axis, lane: Any) -> Any:
    columns = [c for c in ("begin", "end", "true_end", "value", "colour") if c in bands]
    return alt.Chart(bands[columns]).mark_rect().encode(x=_x(axis, axis=None), x2=alt.X2("end:Q"), y=lane)


def _words(bands: pd.DataFrame, lane: Any, dy: float = 0) -> Any:
    """The names of the bands, where they have one."""
    shown = bands.loc[bands["text"] != "", ["middle", "text"]]
    mark = alt.Chart(shown).mark_text(fontSize=theme.SMALL, dy=dy, color=theme.INK["ink"][1])
    return mark.encode(x=alt.X("middle:Q", axis=None), y=lane, text=alt.Text("text:N"))


def _every_few(layers: pd.DataFrame) -> pd.Series:
    """The numbers of the layers, of every second, fifth, … where all have no room; the others are empty."""
    named = layers[layers["value"] != ""]
    half = (GLYPH * named["value"].str.len() + 4) / 2
    for step in EVERY:
        left, right = (named["place"] - half).iloc[::step], (named["place"] + half).iloc[::step]
        if (left.to_numpy()[1:] >= right.to_numpy()[:-1]).all():
            break
    return layers["value"].where(layers.index.isin(left.index), "")


def _joined(bands: pd.DataFrame) -> pd.DataFrame:
    """Neighbouring bands of one value as one: value, begin, end."""
    change = (bands["value"] != bands["value"].shift()).cumsum()
    grouped = bands.groupby(change)
    return grouped.agg(value=("value", "first"), begin=("begin", "min"), end=("end", "max")).reset_index(drop=True)


def _bands(frame: pd.DataFrame, axis: Axis, track: int) -> pd.DataFrame:
    """value; begin, end, middle in units of the axis; place of the middle and width in px; none is thinner than one."""
    size, _ = axis.unit
    pixel = axis.total / track
    begin, end = frame["begin"].astype(float), frame["end"].astype(float)
    return pd.DataFrame(
        {
            "value": frame["value"].astype(object),
            "begin": begin / size,
            "end": end.clip(lower=begin + pixel) / size,
            "true_end": end / size,  # the end in the tooltip
            "middle": (begin + end) / 2 / size,
            "place": (begin + end) / 2 / pixel,
            "width": (end - begin) / pixel,
        }
    )


def _lane(name: str, room: int = theme.NAMES) -> Any:
    """A y channel with a single lane, its name at the left."""
    axis = theme.y_axis(room, ticks=False, domain=False, labelFontSize=theme.SMALL)
    return alt.Y(datum=name, type="nominal", title=None, scale=dict(domain=[name]), axis=axis)


def _buffers(data: pd.DataFrame, tokens: pd.Series, y: Any, track: int, height: int) -> Any:
    """The bytes of buffers, on a scale for `tokens`; rows that reach far beyond it are cut, and the title says so."""
    sums = data.groupby("row")["touched_bytes"].sum().astype(float)
    of_tokens = sums[sums.index.isin(data.loc[tokens, "row"])].max()
    top = float(of_tokens) if sums.max() > CUT * of_tokens else float(sums.max())
    size, unit = (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    n_cut = int((sums > top).sum())
    cut = f"; {n_cut} {'row' if n_cut == 1 else 'rows'} cut, up to {sums.max() / size:,.0f} {unit}" if n_cut else ""
    order = [name for name in COLOURS if name in set(data["group"])]
    data = data.assign(touched=data["touched_bytes"].astype(float) / size, rank=data["group"].map(order.index))
    return (
        alt.Chart(data[["label", "group", "touched", "rank"]])
        .mark_bar()
        .encode(
            x=alt.X(
                "touched:Q",
                title=f"touched in buffers, {unit}{cut}",
                scale=dict(domain=[0, top / size], clamp=True) if n_cut else alt.Undefined,
                axis=dict(tickCount=max(3, track // 150)),
            ),
            y=y,
            color=alt.Color(
                "group:N",
                title=None,
                scale=dict(domain=order, range=[COLOURS[n] for n in order]),
                legend=dict(orient="top", offset=8, **({} if track >= NARROW else {"columns": 2})),
            ),
            order=alt.Order("rank:Q"),
        )
        .properties(width=track, height=height)
    )


def _legend(memories: Mapping[str, str], room: int, track: int) -> Any:
    """The one scale of all runs, 0 to 100 %, for each kind of memory that occurs; left of it shares of up to 1 %."""
    lanes = list(memories.values())
    swatches = pd.DataFrame(
        [
            dict(lane=lane, begin=i + (i < 0) * -APART, end=i + 1 + (i < 0) * -APART, colour=colour)
            for memory, lane in memories.items()
            for i in range(-1, theme.N_STEPS)
            for colour in theme.step_colours([i], [memory == "copied"])
        ],
        columns=["lane", "begin", "end", "colour"],
    )
    words_above = ["share of the bytes there that was used,", "each byte once; 0 % has no colour"]
    if track >= NARROW - theme.NAMES:
        words_above = [" ".join(words_above)]
    x = alt.X("begin:Q", axis=None, scale=dict(domain=[-1 - APART, theme.N_STEPS], nice=False))
    edge = theme.y_axis(room, ticks=False, domain=False, labelFontSize=theme.SMALL)
    y = alt.Y("lane:N", sort=lanes, title=None, axis=edge, scale=dict(domain=lanes))
    box = (
        alt.Chart(swatches, title=alt.TitleParams(words_above))
        .mark_rect(stroke=theme.INK["ground"][1], strokeWidth=1)
        .encode(x=x, x2=alt.X2("end:Q"), y=y, color=alt.Color("colour:N", scale=None))
    )
    marked = {-0.5 - APART: "up to 1 %"} | {i / 4 * theme.N_STEPS: f"{i * 25} %" for i in range(1, 5)}
    quarters = pd.DataFrame({"lane": (lanes or [""])[-1], "at": list(marked), "text": list(marked.values())})
    words = (
        alt.Chart(quarters)
        .mark_text(dy=16, fontSize=theme.SMALL, color=theme.INK["muted"][1])
        .encode(x=alt.X("at:Q", axis=None), y=y, text=alt.Text("text:N"))
    )
    return (box + words).properties(name=LEGEND, width=min(400, track - 16), height=14 * max(len(lanes), 1))


def size_text(count: int) -> str:
    """The size of a cell, such as `96.2 KiB of file`."""
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {unit} of file"
    return f"{count} B of file"
