"""Charts of lines, one for each of several series, which differ by colour and by dashes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import along, amounts
from tracegen.charts.compared import scaled
from tracegen.charts.lazy import alt
from tracegen.contract import quantities as q

Look = tuple[str, list[int]]  # colour and dashes of a line
PLAIN, LONG, SHORT, MIXED = [1, 0], [6, 3], [2, 2], [8, 2, 2, 2]
INK, FFN, ATTENTION, EXPERTS, OUTPUT = (
    theme.INK["ink"][1],
    *(theme.GROUPS[name][1] for name in ("FFN", "attention", "experts", "output")),
)

POLICIES = {"Belady": (INK, PLAIN), "static": (FFN, LONG), "LRU": (ATTENTION, PLAIN)}
MEASURES = {"touched_bytes": "touched bytes", "n_accesses": "accesses", "work_ns": "time of operations"}
OF_MEASURES = {"touched bytes": (ATTENTION, PLAIN), "accesses": (EXPERTS, LONG), "time of operations": (FFN, SHORT)}
TOGETHER, NEW = "touched together", "new in the next pass"
WINDOWS = {TOGETHER: (ATTENTION, PLAIN), NEW: (EXPERTS, LONG)}
DASHES = (PLAIN, LONG, SHORT, MIXED)  # of groups in memory: a line shows through another one at the same height
ROOM = 2.2  # of the largest size of a cache: for the names of points at the right
MOST = 240  # points of a line of groups in memory


def hit_rates(
    rows: pd.DataFrame,
    cycle: float | None,
    marks: Sequence[tuple[float, float]] = (),
    measured: tuple[float, float] | None = None,
    *,
    width: int = theme.WIDTHS[-1],
) -> Any:
    """The hit rate of a cache by its size; `rows`: policy, size_bytes, hit_rate.

    `cycle`: the bytes that a token touches, a dashed line; None: unknown. `marks`: hit rates of LRU with their sizes in
    bytes, which are named at the curve. `measured`: bytes in memory, and the hit rate of the kernel with them.
    """
    size, unit = scaled([float(rows["size_bytes"].max())], "bytes")
    data = rows.assign(size=rows["size_bytes"] / size)
    scale = dict(type="log", nice=False, domain=[float(data["size"].min()), float(data["size"].max()) * ROOM])
    x = along("size", f"size of the cache, {unit}", width, scale, format="~r")
    y = _shares("hit_rate:Q", "hit rate")
    line = _lines(data, "policy", POLICIES, x, y, width)
    drawn = line + _points(line)
    if cycle is not None and data["size"].min() <= cycle / size <= data["size"].max():
        mark = alt.Chart(pd.DataFrame({"size": [cycle / size]})).mark_rule(
            strokeDash=[4, 3], color=theme.INK["muted"][1]
        )
        drawn += mark.encode(x=x)
    if marks:
        drawn += _named(marks, size, x, y, theme.narrow(width))
    if measured is not None:
        drawn += _kernel(measured, size, x, y)
    return _sized(drawn, width, 260)


def _kernel(measured: tuple[float, float], size: float, x: Any, y: Any) -> Any:
    """The measured point, named at its left."""
    table = pd.DataFrame([(measured[0] / size, measured[1], "kernel")], columns=["size", "hit_rate", "label"])
    base, ink = alt.Chart(table).encode(x=x, y=y), theme.INK["ink"][1]
    rim = dict(stroke=theme.INK["ground"][1], strokeWidth=4)
    words = base.mark_text(align="right", dx=-9, fontSize=theme.SMALL, color=ink, **rim).encode(
        text=alt.Text("label:N")
    )
    return base.mark_point(shape="diamond", filled=True, size=110, color=ink, opacity=1) + words


def _named(marks: Sequence[tuple[float, float]], size: float, x: Any, y: Any, short: bool) -> Any:
    """Points of LRU, named below them at the right, with size unless `short`; of one size the highest is named.

    A name may lie on other curves: it has a rim of the ground.
    """
    table = pd.DataFrame(marks, columns=["hit_rate", "size_bytes"])
    table["label"] = [f"{100 * rate:.0f} %{'' if short else f': {q.size(of)}'}" for rate, of in marks]
    table = table.assign(size=table["size_bytes"] / size).drop_duplicates("size_bytes", keep="last")
    base, ink = alt.Chart(table).encode(x=x, y=y), POLICIES["LRU"][0]
    rim = dict(stroke=theme.INK["ground"][1], strokeWidth=4)
    words = base.mark_text(align="left", dx=6, dy=9, fontSize=theme.SMALL, color=ink, **rim).encode(
        text=alt.Text("label:N")
    )
    return base.mark_point(filled=True, size=44, color=ink, opacity=1) + words


def use_shares(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Which share of the use the most used bytes of the file have, a line for each way to measure use.

    `rows`: measure, file_share, use_share, in order of each curve.
    """
    data = rows.assign(measure=rows["measure"].map(MEASURES))
    x = alt.X(
        "file_share:Q",
        title="share of the tensors’ bytes, the most used first",
        scale=dict(domain=[0, 1]),
        axis=theme.x_axis(width, format=".0%", tickCount=5),
    )
    line = _lines(data, "measure", OF_MEASURES, x, _shares("use_share:Q", "share of the use"), width, offset=30)
    ends = pd.DataFrame({"x": [0.0], "y": [0.0], "x2": [1.0], "y2": [1.0]})
    even = alt.Chart(ends).mark_rule(strokeDash=[4, 3], strokeWidth=1, color=theme.INK["muted"][1])
    even = even.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))
    return _sized(even + line + _points(line), width, 260)


def working_sets(rows: pd.DataFrame, noun: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """What passes in a row touch together, and what of the next one is new, by their number.

    `rows`: n_passes, bytes, least_bytes, most_bytes, new_bytes (null: unknown). `noun`: what passes are, plural.
    """
    size, unit = scaled([float(rows["most_bytes"].max())], "bytes")
    count = rows["n_passes"].astype(int)
    series = [
        pd.DataFrame({"n": count, "series": name, "size": rows[column].astype(float) / size})
        for name, column in ((TOGETHER, "bytes"), (NEW, "new_bytes"))
    ]
    data = pd.concat(series, ignore_index=True).dropna()
    values = [int(n) for n in count]
    named = values[:-1] if len(values) > 1 and values[-1] < 1.5 * values[-2] else values  # names that have room
    x = alt.X(
        "n:Q",
        title=f"{noun} in a row",
        scale=dict(type="log", base=2, domain=[1, max(values[-1], 2)], nice=False),
        axis=theme.x_axis(width, values=named if width > theme.NARROW else named[::2], format=",d"),
    )
    band = pd.DataFrame({"n": count, "low": rows["least_bytes"] / size, "high": rows["most_bytes"] / size})
    around = alt.Chart(band).mark_area(color=theme.INK["band"][1])
    around = around.encode(x=x, y=alt.Y("low:Q", title=unit), y2=alt.Y2("high:Q"))
    line = _lines(data, "series", WINDOWS, x, amounts("size", unit), width, offset=30)
    return _sized(around + line + _points(line, size=40, opacity=1), width)


def memory_speed(rows: pd.DataFrame, measured: tuple[float, float] | None, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Speed of generation by memory for pages of the model, as a band; `rows`: those of `memory_speed.memory_speed`.

    `measured`: memory in bytes and speed in tokens/s of the run itself.
    """
    size, unit = scaled([float(rows["memory_bytes"].max())], "bytes")
    band = pd.DataFrame({"size": rows["memory_bytes"] / size, "low": rows["low_tokens_per_second"]})
    band = band.assign(high=rows["high_tokens_per_second"])
    x = along("size", f"memory for pages of the model, {unit}", width, dict(zero=False, nice=False), format="~r")
    y = amounts("low", "tokens/s")
    steps = dict(interpolate="step-after")  # between two sizes only the smaller one is known to be enough
    drawn = alt.Chart(band).mark_area(color=theme.INK["band"][1], **steps).encode(x=x, y=y, y2=alt.Y2("high:Q"))
    for end in ("low", "high"):
        drawn += alt.Chart(band).mark_line(color=ATTENTION, **steps).encode(x=x, y=amounts(end, "tokens/s"))
    if measured:
        run = pd.DataFrame({"size": [measured[0] / size], "low": [measured[1]], "name": ["this run"]})
        point = alt.Chart(run).encode(x=x, y=y)
        drawn += point.mark_point(color=INK, filled=True, size=70, opacity=1)
        drawn += point.mark_text(color=INK, align="left", dx=8, dy=-8).encode(text="name:N")
    return _sized(drawn, width)


def in_memory(rows: pd.DataFrame, order: list[str], *, width: int = theme.WIDTHS[-1]) -> Any:
    """The share of each component group that was in memory when each load and pass had ended.

    `rows`: number (of the load or pass, from 0), group, share. `order`: the groups, as the legend has them.
    """
    last = int(rows["number"].max())
    kept = np.unique(np.linspace(0, last, min(last + 1, MOST)).round().astype(int))
    data = rows[rows["number"].isin(kept)]
    looks = {name: (theme.colour(name), DASHES[at % len(DASHES)]) for at, name in enumerate(order)}
    scale = dict(domain=[0, max(last, 1)], nice=False)
    x = along("number", "loads and passes, in their order", width, scale, format=",d", tickMinStep=1)
    line = _lines(data, "group", looks, x, _shares("share:Q", "in memory"), width, offset=30)
    return _sized(line + _points(line, opacity=0 if last > 1 else 1), width)


def _lines(data: pd.DataFrame, series: str, looks: Mapping[str, Look], x: Any, y: Any, width: int, **more: Any) -> Any:
    """The lines of the series that `data` has, in the order of `looks`; `series`: the column with their names.

    `more`: what the legend has besides.
    """
    order = [name for name in looks if (data[series] == name).any()]
    legend = theme.legend(order, width, title=None, symbolType="stroke", symbolStrokeWidth=2, **more)
    colours, dashes = ([looks[name][place] for name in order] for place in (0, 1))
    return (
        alt.Chart(data)
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color(f"{series}:N", scale=dict(domain=order, range=colours), legend=legend),
            strokeDash=alt.StrokeDash(f"{series}:N", scale=dict(domain=order, range=dashes), legend=legend),
        )
    )


def _points(line: Any, size: int = 60, opacity: float = 0) -> Any:
    """The points of lines: the pointer finds them, even where they are not seen."""
    return line.mark_point(filled=True, size=size, opacity=opacity)


def _shares(field: str, title: str) -> Any:
    """Shares at the left, from 0 to 1."""
    axis = theme.y_axis(theme.NUMBERS, format=".0%", tickCount=5)
    return alt.Y(field, title=title, scale=dict(domain=[0, 1]), axis=axis)


def _sized(drawn: Any, width: int, height: int = 240) -> Any:
    return drawn.properties(width=theme.plot(theme.NUMBERS, width), height=height)
