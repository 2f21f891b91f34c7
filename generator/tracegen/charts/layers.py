"""A time by layer, stacked by component group."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import names

FEW = 14  # up to so many layers, bars are horizontal; else vertical


def chart(rows: pd.DataFrame, column: str, length: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """One bar per layer; `rows`: layer (null: outside all layers), group, and the time in ns in `column`.

    `length` says what the length of a bar is; it follows the unit.
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
    legend = theme.legend(
        present, width, offset=12 if lying else 32
    )  # vertical bars have the title of the y axis below the legend
    base = alt.Chart(data).encode(
        color=alt.Color("group:N", scale=theme.group_scale(present), title=None, legend=legend),
        order=alt.Order("rank:Q"),
    )
    return (_lying if lying else _standing)(base, order, f"{unit} {length}", width)


def _lying(base: Any, order: list[str], length: str, width: int) -> Any:
    room = theme.names(width, max(map(len, order)))
    y = names("layer", order, room)
    x = alt.X("time:Q", title=length, axis=theme.x_axis(width, tickCount=theme.ticks(8, width)))
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
