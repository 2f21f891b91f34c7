"""The model file of two sides, one above the other: how much of each place a token used, and where that differs."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.compared import cell_names
from tracegen.charts.lazy import alt

LANES = ("A", "B", "B − A")
MORE, LESS = theme.GROUPS["attention"][1], theme.GROUPS["experts"][1]
ROOM = 56  # px at the left
STEPS = 4  # of the opacity of a difference
_SHARES = (
    ("little of the bytes there", theme.SEQUENTIAL_LIGHT[0]),
    ("half", theme.SEQUENTIAL_LIGHT[3]),
    ("all", theme.SEQUENTIAL_LIGHT[-1]),
)


def chart(cells: pd.DataFrame, total: int, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Three lanes on one axis, `total` bytes long.

    `cells`: begin, end (bytes on the axis), a, b (shares of the bytes there, 0 to 1), copied_a, copied_b (as far as
    they were used in copied memory).
    """
    sides = [_lane(cells, lane.upper(), cells[lane], cells[f"copied_{lane}"]) for lane in "ab"]
    rows = pd.concat([*sides, _difference(cells)])
    return _lanes(rows, LANES, ROOM, total, [*_SHARES, ("more in B", MORE), ("less in B", LESS)], width)


def many(cells: pd.DataFrame, lanes: Sequence[str], total: int, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A lane for each name, all on one scale. `cells`: lane, begin, end (bytes on the axis), share, copied (0 to 1)."""
    of_lanes = {lane: cells[(cells["lane"] == lane).to_numpy(bool)] for lane in lanes}
    rows = [_lane(of, lane, of["share"], of["copied"]) for lane, of in of_lanes.items() if len(of)]
    return _lanes(pd.concat(rows), lanes, cell_names(lanes, width), total, _SHARES, width)


def _lanes(
    rows: pd.DataFrame, lanes: Sequence[str], room: int, total: int, keys: Sequence[tuple[str, str]], width: int
) -> Any:
    size, unit = (2**30, "GiB") if total >= 2**30 else (2**20, "MiB") if total >= 2**20 else (2**10, "KiB")
    rows = rows.assign(begin=rows["begin"] / size, end=rows["end"] / size)
    axis = theme.y_axis(room, ticks=False, domain=False)
    names, colours = [name for name, _ in keys], [colour for _, colour in keys]
    base = alt.Chart(rows).encode(
        x=alt.X(
            "begin:Q",
            title=f"place in the model file, {unit}",
            scale=dict(domain=[0, total / size], nice=False),
            axis=dict(tickCount=theme.ticks(8, width)),
        ),
        x2=alt.X2("end"),
        y=alt.Y("lane:N", title=None, scale=dict(domain=list(lanes)), axis=axis),
    )
    cells_drawn = base.mark_rect(height=26).encode(
        color=alt.Color("colour:N", scale=None),
        opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
    )
    legend = theme.legend(names, width, title=None, symbolType="square", symbolOpacity=1, symbolSize=110)
    keyed = (
        alt.Chart(pd.DataFrame({"name": names}))
        .mark_point(opacity=0, filled=True)
        .encode(color=alt.Color("name:N", scale=dict(domain=names, range=colours), legend=legend))
    )
    drawn = (cells_drawn + keyed).resolve_scale(color="independent")
    return drawn.properties(width=theme.plot(room, width), height=36 * len(lanes))


def track_px(width: int, room: int = ROOM) -> int:
    """How many pixels the axis has in a figure `width` px wide with names `room` px wide."""
    return theme.plot(room, width)


def _lane(cells: pd.DataFrame, lane: str, share: pd.Series, copied: pd.Series) -> pd.DataFrame:
    used = cells[(share > 0).to_numpy(bool)]
    steps = (share[used.index] * theme.N_STEPS).apply(lambda value: min(int(-(-value // 1)) - 1, theme.N_STEPS - 1))
    return used[["begin", "end"]].assign(
        lane=lane, colour=theme.step_colours(steps, (2 * copied >= share)[used.index]), opacity=1.0
    )


def _difference(cells: pd.DataFrame) -> pd.DataFrame:
    change = cells["b"] - cells["a"]
    some = cells[(change.abs() > 0.005).to_numpy(bool)]
    part = change[some.index]
    opacity = [max(1, -int(-abs(value) * STEPS // 1)) / STEPS for value in part]
    return some[["begin", "end"]].assign(
        lane=LANES[2], colour=[MORE if value > 0 else LESS for value in part], opacity=opacity
    )
