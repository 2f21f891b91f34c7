"""The legend of a scale in steps: a swatch for each step, with its upper end below it."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.pointing import LEGEND

STEP = 50  # px: the width of a step that has room for its text


def legend(title: str, ends: Sequence[str], width: int) -> Any:
    """`ends` are the upper ends of the steps, from the lightest on, as texts; where there is room for every second one
    only, the others are left out. `width` in px."""
    steps = len(ends)
    swatches = pd.DataFrame(
        [
            dict(
                begin=i,
                end=i + 1,
                colour=theme.SEQUENTIAL_LIGHT[i],
                text=ends[i] if width >= steps * STEP or (steps - i) % 2 else "",
            )
            for i in range(steps)
        ]
    )
    x = alt.X("begin:Q", axis=None, scale=dict(domain=[0, steps], nice=False))
    box = (
        alt.Chart(swatches, title=theme.wrapped(title, width))
        .mark_rect(stroke=theme.INK["ground"][1], strokeWidth=1)
        .encode(x=x, x2=alt.X2("end:Q"), color=alt.Color("colour:N", scale=None))
    )
    words = (
        alt.Chart(swatches)
        .mark_text(dy=16, align="right", fontSize=theme.SMALL, color=theme.INK["muted"][1])
        .encode(x=alt.X("end:Q", axis=None), text=alt.Text("text:N"))
    )
    return (box + words).properties(name=LEGEND, width=width, height=14)
