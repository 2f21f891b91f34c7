"""A line for each of several series, told apart by colour and by dashes."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme

Look = tuple[str, list[int]]  # colour and dashes of a line
PLAIN, LONG, SHORT, MIXED = [1, 0], [6, 3], [2, 2], [8, 2, 2, 2]


def lines(data: pd.DataFrame, series: str, looks: Mapping[str, Look], x: Any, y: Any, width: int, **legend: Any) -> Any:
    """The lines of the series that `data` has, in the order of `looks`; `series`: the column with their names.

    `legend`: what the legend has besides.
    """
    order = [name for name in looks if (data[series] == name).any()]
    legend = theme.legend(order, width, title=None, symbolType="stroke", symbolStrokeWidth=2, **legend)
    colours, dashes = ([looks[name][place] for name in order] for place in (0, 1))
    return alt.Chart(data).mark_line(strokeWidth=2).encode(
        x=x, y=y,
        color=alt.Color(f"{series}:N", scale=dict(domain=order, range=colours), legend=legend),
        strokeDash=alt.StrokeDash(f"{series}:N", scale=dict(domain=order, range=dashes), legend=legend),
    )  # fmt: skip


def points(line: Any, size: int = 60, opacity: float = 0) -> Any:
    """The points of lines: the pointer finds them, even where they are not seen."""
    return line.mark_point(filled=True, size=size, opacity=opacity)
