"""The share of each component group that was in memory when each load and pass had ended."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.lines import LONG, MIXED, PLAIN, SHORT, lines, points

MOST = 240  # points of a line
DASHES = (PLAIN, LONG, SHORT, MIXED)  # so that a line shows through another one at the same height


def chart(rows: pd.DataFrame, order: list[str], *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: number (of the load or pass, from 0), group, share. `order`: the groups, as the legend has them."""
    last = int(rows["number"].max())
    kept = np.unique(np.linspace(0, last, min(last + 1, MOST)).round().astype(int))
    data = rows[rows["number"].isin(kept)]
    looks = {name: (theme.colour(name), DASHES[at % len(DASHES)]) for at, name in enumerate(order)}
    x = alt.X("number:Q", title="loads and passes, in their order", scale=dict(domain=[0, max(last, 1)], nice=False),
              axis=theme.x_axis(width, tickCount=theme.ticks(8, width), format=",d", tickMinStep=1))  # fmt: skip
    y = alt.Y("share:Q", title="in memory", scale=dict(domain=[0, 1]),
              axis=theme.y_axis(theme.NUMBERS, format=".0%", tickCount=5))  # fmt: skip
    line = lines(data, "group", looks, x, y, width, offset=30)
    drawn = line + points(line, opacity=0 if last > 1 else 1)
    return drawn.properties(width=theme.plot(theme.NUMBERS, width), height=240)
