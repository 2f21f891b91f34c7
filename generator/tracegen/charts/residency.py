"""How much of each stretch of the model file is in memory after each pass; beside it the bytes read from the disk."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.file_rows import file_rows
from tracegen.charts.heatmap import Axis, size_text
from tracegen.charts.steps import legend
from tracegen.contract.text import three


def chart(
    shares: pd.DataFrame, read: pd.DataFrame, rows: pd.DataFrame, axis: Axis, *, width: int = theme.WIDTHS[-1]
) -> Any:
    """Left: stretches by their share in memory; right, or below in a narrow figure: bytes read.

    `shares`, `read` and `rows` are the results of `joined_shares`, `read_per_row` and `resident_rows`.
    """
    top = float(read["read_bytes"].max()) if len(read) else 0.0
    size, unit = (2**30, "GiB") if top >= 2**30 else (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    length = alt.X(
        "read:Q",
        title=f"read from the disk, {unit}",
        scale=dict(domain=[0, top / size or 1]),
        axis=dict(tickCount=3),
    )
    bars = pd.DataFrame({"row": read["row"], "read": read["read_bytes"] / size})
    both, track, _ = file_rows(shares, ["label", "begin", "end", "colour"], rows, bars, length, axis, width)
    title = f"in memory of a cell of {size_text(axis.cell_bytes)}, upper end of each step; no colour: nothing"
    ends = [f"{three((i + 1) / theme.N_STEPS * 100)} %" for i in range(theme.N_STEPS)]
    return alt.vconcat(legend(title, ends, min(480, track)), both, spacing=18)
