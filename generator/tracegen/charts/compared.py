"""Two sides beside each other: every run as a dot, and times by part of the model as pairs of bars."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import names
from tracegen.charts.lazy import alt
from tracegen.contract.text import printable, three

SIDES = {"A": theme.INK["after"][1], "B": theme.INK["bar"][1]}
MOST = 16  # pairs of bars
BAR, PAIR = 13, 38  # px
WORDS = 92  # px: room for the label of a bar


def dots(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A panel for each measure: the value of each run as a dot, the median as a line.

    `rows`: measure (the title of its panel), unit (of the axis), side (A or B), value; in the order of the panels.
    """
    plot = theme.plot(40, width)
    panels = []
    for measure, of in rows.groupby("measure", sort=False):
        data = of.assign(side=of["side"].astype(str))
        unit = str(of["unit"].iloc[0])
        named = theme.y_axis(40, ticks=False, domain=False)
        base = alt.Chart(data, title=theme.wrapped(str(measure), width)).encode(
            y=alt.Y("side:N", title=None, scale=dict(domain=list(SIDES)), axis=named),
            color=_of_side(None),
        )
        near_zero = of["value"].min() < of["value"].max() / 4
        scale = dict(domainMin=0) if near_zero else dict(zero=False, padding=12)
        x = dict(scale=scale | dict(nice=True), axis=dict(tickCount=theme.ticks(8, width)))
        points = base.mark_circle(size=64, opacity=0.85).encode(x=alt.X("value:Q", title=unit, **x))
        middle = base.mark_tick(thickness=2, size=22, color=theme.INK["ink"][1]).encode(
            x=alt.X("median(value):Q", title=unit), color=alt.ColorValue(theme.INK["ink"][1])
        )
        panels.append((points + middle).properties(width=plot, height=58))
    return alt.vconcat(*panels, spacing=14)


def cells(rows: pd.DataFrame, unit: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A row of dots for each cell of a matrix, all on one scale; the median as a line. `rows`: cell, value."""
    order, least, most = list(dict.fromkeys(rows["cell"])), rows["value"].min(), rows["value"].max()
    scale = dict(type="log", nice=True) if 0 < least < most / 20 else dict(domainMin=0, nice=True)
    room = cell_names(order, width)
    x = alt.X("value:Q", title=unit, scale=scale, axis=dict(tickCount=theme.ticks(8, width)))
    base = alt.Chart(rows).encode(y=names("cell", order, room), x=x)
    points = base.mark_circle(size=64, opacity=0.85, color=SIDES["B"])
    middle = base.mark_tick(thickness=2, size=20, color=theme.INK["ink"][1]).encode(
        x=alt.X("median(value):Q", title=unit)
    )
    return (points + middle).properties(width=theme.plot(room, width), height=26 * len(order))


def cell_names(cells: Sequence[str], width: int) -> int:
    """The room, px, of the names of cells: on a phone at most half of the figure, as they differ at their ends."""
    longest = int(theme.GLYPH * max(map(len, cells), default=1)) + 14
    return min(width // 2, longest) if theme.narrow(width) else 320


def curves(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """The distribution of times on both sides. `rows`: side (A or B), duration_ns, share of its side up to it."""
    size, unit = scaled(rows["duration_ns"].tolist(), "ns")
    data = rows.assign(time=rows["duration_ns"] / size)
    wide = rows["duration_ns"].max() > 20 * rows["duration_ns"].min() > 0
    scale = dict(type="log", nice=True) if wide else dict(zero=True)
    x, y = dict(tickCount=theme.ticks(8, width)), theme.y_axis(52, format=".0%", tickCount=5)
    legend = theme.legend(list(SIDES), width, title=None, symbolType="stroke", symbolStrokeWidth=2)
    line = (
        alt.Chart(data)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("time:Q", title=f"time of a token, {unit}", scale=scale, axis=x),
            y=alt.Y("share:Q", title=None, scale=dict(domain=[0, 1]), axis=y),
            color=_of_side(legend),
        )
    )
    return line.properties(width=theme.plot(52, width), height=190)


def pairs(rows: pd.DataFrame, unit: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Two bars for each item, the longest first. `rows`: item, side (A or B), value (in `unit`)."""
    longest = rows.groupby("item")["value"].max().sort_values(ascending=False, kind="stable")
    order = [printable(item) for item in longest.index[:MOST]]
    data = rows.assign(item=[printable(item) for item in rows["item"]], text=[three(v) for v in rows["value"]])
    data = data[data["item"].isin(order)]
    room = theme.names(width, max(map(len, order), default=1))
    plot = theme.plot(room, width)
    top = float(longest.max()) if len(longest) else 1.0
    domain = [0, top * (1 + WORDS / max(plot - WORDS, 1))]
    ticks = dict(tickCount=theme.ticks(6, width))
    base = alt.Chart(data).encode(
        y=names("item", order, room, paddingInner=0.25),
        yOffset=alt.YOffset("side:N", scale=dict(domain=list(SIDES))),
        x=alt.X("value:Q", title=unit, scale=dict(domain=domain, nice=False), axis=ticks),
    )
    legend = theme.legend(list(SIDES), width, title=None)
    bars = base.mark_bar(height=BAR).encode(color=_of_side(legend))
    labels = base.mark_text(align="left", dx=5).encode(text=alt.Text("text:N"))
    return (bars + labels).properties(width=plot, height=PAIR * len(order))


def _of_side(legend: dict[str, Any] | None) -> Any:
    return alt.Color("side:N", scale=dict(domain=list(SIDES), range=list(SIDES.values())), legend=legend)


def scaled(values: Sequence[float], unit: str) -> tuple[float, str]:
    """The divisor and the name of the unit in which the largest of `values` reads well."""
    top = max(map(abs, values), default=0.0)
    steps: dict[str, tuple[tuple[float, str], ...]] = {
        "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
        "bytes": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes")),
    }
    return next(((size, name) for size, name in steps.get(unit, ()) if top >= size), (1.0, unit))
