"""The model file of two sides, one above the other: how much of each place a token used, and where that differs."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme

LANES = ("A", "B", "B − A")
MORE, LESS = theme.GROUPS["attention"][1], theme.GROUPS["experts"][1]
ROOM = 56  # px at the left
STEPS = 4  # of the opacity of a difference


def chart(cells: pd.DataFrame, total: int, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Three lanes on one axis. `cells`: begin, end (bytes on the axis), a, b (shares, 0 to 1); `total`: bytes of it."""
    size, unit = (2**30, "GiB") if total >= 2**30 else (2**20, "MiB") if total >= 2**20 else (2**10, "KiB")
    rows = pd.concat([_lane(cells, "A", cells["a"]), _lane(cells, "B", cells["b"]), _difference(cells)])
    rows = rows.assign(begin=rows["begin"] / size, end=rows["end"] / size)
    axis = theme.y_axis(ROOM, ticks=False, domain=False)
    names, colours = _legend()
    base = alt.Chart(rows).encode(
        x=alt.X("begin:Q", title=f"place in the model file, {unit}",
                scale=dict(domain=[0, total / size], nice=False), axis=dict(tickCount=theme.ticks(8, width))),
        x2=alt.X2("end"),
        y=alt.Y("lane:N", title=None, scale=dict(domain=list(LANES)), axis=axis),
    )  # fmt: skip
    cells_drawn = base.mark_rect(height=26).encode(
        color=alt.Color("colour:N", scale=None),
        opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
    )
    legend = theme.legend(names, width, title=None)
    keyed = alt.Chart(pd.DataFrame({"name": names})).mark_point(opacity=0).encode(
        color=alt.Color("name:N", scale=dict(domain=names, range=colours), legend=legend)
    )  # fmt: skip
    return (
        (cells_drawn + keyed).resolve_scale(color="independent").properties(width=theme.plot(ROOM, width), height=108)
    )


def track_px(width: int) -> int:
    """How many pixels the axis has in a figure `width` px wide."""
    return theme.plot(ROOM, width)


def _legend() -> tuple[list[str], list[str]]:
    steps = theme.SEQUENTIAL_LIGHT
    names = ["little of the bytes there", "half", "all"]
    colours = [steps[0], steps[3], steps[-1]]
    return [*names, "more in B", "less in B"], [*colours, MORE, LESS]


def _lane(cells: pd.DataFrame, lane: str, share: pd.Series) -> pd.DataFrame:
    used = cells[(share > 0).to_numpy(bool)]
    steps = (share[used.index] * theme.N_STEPS).apply(lambda value: min(int(-(-value // 1)) - 1, theme.N_STEPS - 1))
    return used[["begin", "end"]].assign(lane=lane, colour=theme.step_colours(steps), opacity=1.0)


def _difference(cells: pd.DataFrame) -> pd.DataFrame:
    change = cells["b"] - cells["a"]
    some = cells[(change.abs() > 0.005).to_numpy(bool)]
    part = change[some.index]
    opacity = [max(1, -int(-abs(value) * STEPS // 1)) / STEPS for value in part]
    return some[["begin", "end"]].assign(
        lane=LANES[2], colour=[MORE if value > 0 else LESS for value in part], opacity=opacity
    )
