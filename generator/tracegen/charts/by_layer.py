"""Values of each layer: times by group of components, experts needed, experts chosen again, routing weights."""

from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import along, amounts, names, places
from tracegen.charts.lazy import alt

LETTER, GAP = 7, 8  # px at the right: for each letter of a name, and before it
WIDEST = 64  # px: the largest width of a bar
HEIGHT, LINE = 220, 15
FEW = 14  # up to so many layers, bars of times are horizontal; else vertical
LEAST = 180  # px: the least width of a plot that has names at its right
COLOURS = tuple(theme.INK["bar"][1] if i == 0 else theme.SEQUENTIAL_LIGHT[6 - i] for i in range(6))


def stacked(rows: pd.DataFrame, column: str, length: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A time by layer, a bar for each, stacked by component group.

    `rows`: layer (null: outside all layers), group, and the time in ns in `column`. `length` says
    what the length of a bar is; it follows the unit.
    """
    top = float(rows.groupby("layer", dropna=False)[column].sum().max())
    scale, unit = (1e6, "ms") if top >= 1e6 else (1e3, "µs")
    numbers = sorted(int(layer) for layer in rows["layer"].dropna().unique())
    named = {n: f"layer {n}" if len(numbers) <= FEW else str(n) for n in numbers}
    order = [*named.values(), *(["no layer"] if rows["layer"].isna().any() else [])]
    data = pd.DataFrame(
        {
            "layer": [named[int(v)] if pd.notna(v) else "no layer" for v in rows["layer"]],
            "group": rows["group"].astype(str),
            "rank": [list(theme.GROUPS).index(g) for g in rows["group"]],
            "time": rows[column].astype(float) / scale,
        }
    )
    present = list(data["group"].unique())
    lying = len(numbers) <= FEW
    offset = 12 if lying else 32  # vertical bars have the title of the y axis below the legend
    legend = theme.legend(present, width, offset=offset)
    base = alt.Chart(data).encode(
        color=alt.Color("group:N", scale=theme.group_scale(present), title=None, legend=legend),
        order=alt.Order("rank:Q"),
    )
    return (_lying if lying else _standing)(base, order, f"{unit} {length}", width)


def _lying(base: Any, order: list[str], length: str, width: int) -> Any:
    room = theme.names(width, max(map(len, order)))
    y = names("layer", order, room)
    x = along("time", length, width)
    plot = theme.plot(room, width)
    return base.mark_bar(height=16).encode(x=x, y=y).properties(width=plot, height=26 * len(order))


def _standing(base: Any, order: list[str], length: str, width: int) -> Any:
    x = alt.X(
        "layer:N",
        sort=order,
        title="layer (–: no layer)" if "no layer" in order else "layer",
        axis=dict(
            labelAngle=0,
            labelOverlap=True,
            ticks=False,
            labelExpr="datum.label == 'no layer' ? '–' : datum.label",
        ),
        scale=dict(domain=order, paddingInner=0.25),
    )
    y = alt.Y("time:Q", title=length, axis=theme.y_axis(theme.NUMBERS, tickCount=5))
    return base.mark_bar().encode(x=x, y=y).properties(width=theme.plot(theme.NUMBERS, width), height=220)


def against_chance(rows: pd.DataFrame, title: str, even: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: layer, value, low, high, even. A point per layer, the band of chance, a tick for an even choice."""
    data = rows[["layer", "value", "low", "high", "even"]].astype("float64").astype({"layer": int})
    narrow = theme.narrow(width)  # then the name of the ticks stands above the plot, else beside the last one
    plot = theme.plot(theme.NUMBERS, width) - (0 if narrow else GAP + LETTER * len(even))
    base = alt.Chart(data).encode(x=_layers(data, plot))
    step = plot / data["layer"].nunique()
    y = amounts("low", title)
    band = base.mark_bar(color=theme.INK["band2"][1], size=min(WIDEST, 0.75 * step)).encode(y=y, y2=alt.Y2("high:Q"))
    ticks = base.mark_tick(color=theme.INK["ink"][1], thickness=2, size=min(1.2 * WIDEST, 0.95 * step))
    ticks = ticks.encode(y=alt.Y("even:Q"))
    points = base.mark_point(filled=True, size=60, opacity=1, color=theme.INK["bar"][1]).encode(y=alt.Y("value:Q"))
    last = data.sort_values("layer", kind="stable").tail(1).assign(text=f"tick: {even}" if narrow else even)
    return (band + ticks + points + at_right(last, "even", narrow=narrow)).properties(width=plot, height=200)


def at_right(rows: pd.DataFrame, at: str, *, narrow: bool) -> Any:
    """The column `text` of `rows` at the right of a plot, as high as the column `at`; of a narrow plot above it."""
    place: dict[str, Any] = dict(align="right") if narrow else dict(align="left", dx=6)
    words = alt.Chart(rows).mark_text(**place, x="width", color=theme.INK["ink"][1])
    return words.encode(y=alt.YValue(-8) if narrow else alt.Y(f"{at}:Q"), text=alt.Text("text:N"))


def lines(rows: pd.DataFrame, order: list[str], title: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: layer, series, value. A line with points for each series; its name at its right end, or in a legend."""
    data = pd.DataFrame({"layer": rows["layer"].astype(int), "series": rows["series"], "value": rows["value"]})
    plot = theme.plot(theme.NUMBERS, width) - GAP - LETTER * max(map(len, order))
    narrow = plot < LEAST  # then a legend has the names
    plot = theme.plot(theme.NUMBERS, width) if narrow else plot
    colours = [COLOURS[min(i, len(COLOURS) - 1)] for i in range(len(order))]
    x = _layers(data, plot)
    y = amounts("value", title)
    legend = theme.legend(order, width, offset=32) if narrow else None
    colour = alt.Color("series:N", scale=dict(domain=order, range=colours), title=None, legend=legend)
    base = alt.Chart(data).encode(x=x, y=y, color=colour)
    drawn = base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=30, opacity=1)
    if narrow:
        return drawn.properties(width=plot, height=HEIGHT)
    last = _apart(data[data["layer"] == data["layer"].max()], float(data["value"].max()))
    words = alt.Chart(last).mark_text(align="left", dx=6, x="width", color=theme.INK["ink"][1])
    words = words.encode(y=alt.Y("at:Q"), text=alt.Text("series:N"))
    return (drawn + words).properties(width=plot, height=HEIGHT)


def _apart(rows: pd.DataFrame, top: float) -> pd.DataFrame:
    """`rows` with `at`, the height of the name at the right end: the value, or lower if names would overlap."""
    rows = rows.sort_values("value", ascending=False, kind="stable")
    heights: list[float] = []
    for value in rows["value"].astype(float):
        heights.append(min([value, *(height - LINE * top / HEIGHT for height in heights[-1:])]))
    return rows.assign(at=heights)


def _layers(data: pd.DataFrame, width: int) -> Any:
    numbers = [int(n) for n in sorted(data["layer"].unique())]
    return places("layer:O", "layer", numbers, 30, width, {"grid": False}, {"paddingInner": 0.25})
