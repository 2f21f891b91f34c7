"""What each slot computed over time: prompts, what of them had been computed before, and generation."""

from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import along, names
from tracegen.charts.lazy import alt

AGAIN, PROMPT, GENERATION = "prompt, computed again", "prompt", "generation"
COLOURS = {AGAIN: theme.INK["warn"][1], PROMPT: theme.INK["bar"][1], GENERATION: theme.INK["touched"][1]}
LANE = 34  # px


def slots(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A lane for each slot. `rows`: slot (its name), part (of COLOURS), begin_ns and end_ns from a common begin."""
    order = list(rows["slot"].drop_duplicates())
    room = theme.names(width, max(map(len, order)))
    present = [part for part in COLOURS if part in set(rows["part"])]
    top = float(rows["end_ns"].max())
    scale, unit = (1e9, "s") if top >= 1e9 else (1e6, "ms")
    data = rows.assign(begin=rows["begin_ns"] / scale, end=rows["end_ns"] / scale)[["slot", "part", "begin", "end"]]
    colour = alt.Color(
        "part:N",
        title=None,
        scale=dict(domain=present, range=[COLOURS[part] for part in present]),
        legend=theme.legend(present, width),
    )
    x = along("begin", f"{unit} since the first prompt", width, dict(domain=[0, top / scale], nice=False))
    drawn = (
        alt.Chart(data).mark_bar(height=20).encode(x=x, x2=alt.X2("end:Q"), y=names("slot", order, room), color=colour)
    )
    return drawn.properties(width=theme.plot(room, width), height=LANE * len(order))
