"""How long threads waited for each stretch of the model file, one row for each pass or several passes; the sums."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.file_rows import file_rows
from tracegen.charts.heatmap import Axis, ruler, size_text
from tracegen.charts.steps import legend
from tracegen.contract.text import three


def chart(
    cells: pd.DataFrame,
    rows: pd.DataFrame,
    bands: tuple[pd.DataFrame, pd.DataFrame],
    axis: Axis,
    ends: list[str],
    *,
    width: int = theme.WIDTHS[-1],
) -> Any:
    """Left: stretches by the time waited for them. Right, or below in a narrow figure: the sum of each row.

    `cells` is the first result of `disk_waits.cells`, `rows` those of `heatmap.display_rows` that are drawn, `bands`
    the layers and components of `heatmap.bands`, `ends` the upper end of each step of colour, as a text.
    """
    waited = cells.groupby("row")["waited_ns"].sum().reset_index()
    scale, unit = (1e9, "s") if float(waited["waited_ns"].max()) >= 2e9 else (1e6, "ms")
    bars = pd.DataFrame({"row": waited["row"], "waited": waited["waited_ns"] / scale})
    length = alt.X("waited:Q", title=f"waited in all, {unit}", axis=dict(tickCount=3), scale=dict(zero=True))
    columns = ["label", "colour", "begin", "end", "waited"]
    told = cells.assign(waited=[f"{three(ns / 1e6)} ms" for ns in cells["waited_ns"]])
    beside, track, room = file_rows(told, columns, rows, bars, length, axis, width)
    title = f"waited for a cell of {size_text(axis.cell_bytes)}, upper end of each step; no colour: no page fault"
    whole = alt.vconcat(ruler(*bands, axis, track, room), beside, spacing=6)
    return alt.vconcat(legend(title, ends, min(560, track)), whole, spacing=10)
