"""The hit rate of a cache by its size, a line for each way to choose what it keeps."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.compared import scaled
from tracegen.charts.lines import LONG, MIXED, PLAIN, SHORT, lines, points
from tracegen.contract import quantities as q

LOOKS = {
    "Belady": (theme.INK["ink"][1], PLAIN),
    "static": (theme.GROUPS["FFN"][1], LONG),
    "LRU": (theme.GROUPS["attention"][1], PLAIN),
    "LFU": (theme.GROUPS["experts"][1], SHORT),
    "FIFO": (theme.GROUPS["output"][1], MIXED),
}
ROOM = 2.2  # of the largest size: for the names of points at the right


def chart(
    rows: pd.DataFrame,
    cycle: float | None,
    marks: Sequence[tuple[float, float]] = (),
    *,
    width: int = theme.WIDTHS[-1],
) -> Any:
    """`rows`: policy, size_bytes, hit_rate. `cycle`: the bytes that a token touches, a dashed line; None: unknown.

    `marks`: hit rates of LRU with their sizes in bytes, which are named at the curve.
    """
    size, unit = scaled([float(rows["size_bytes"].max())], "bytes")
    data = rows.assign(size=rows["size_bytes"] / size)
    plot = theme.plot(theme.NUMBERS, width)
    x = alt.X(
        "size:Q", title=f"size of the cache, {unit}",
        scale=dict(type="log", nice=False, domain=[float(data["size"].min()), float(data["size"].max()) * ROOM]),
        axis=theme.x_axis(width, tickCount=theme.ticks(8, width), format="~r"),
    )  # fmt: skip
    y = alt.Y("hit_rate:Q", title="hit rate", scale=dict(domain=[0, 1]),
              axis=theme.y_axis(theme.NUMBERS, format=".0%", tickCount=5))  # fmt: skip
    line = lines(data, "policy", LOOKS, x, y, width)
    drawn = line + points(line)
    if cycle is not None and data["size"].min() <= cycle / size <= data["size"].max():
        mark = alt.Chart(pd.DataFrame({"size": [cycle / size]})).mark_rule(
            strokeDash=[4, 3], color=theme.INK["muted"][1]
        )
        drawn += mark.encode(x=x)
    if marks:
        drawn += _named(marks, size, x, y, theme.narrow(width))
    return drawn.properties(width=plot, height=260)


def _named(marks: Sequence[tuple[float, float]], size: float, x: Any, y: Any, short: bool) -> Any:
    """Points of LRU, named below them at the right, with size unless `short`; of one size the highest is named."""
    table = pd.DataFrame(marks, columns=["hit_rate", "size_bytes"])
    table["label"] = [f"{100 * rate:.0f} %{'' if short else f': {q.size(of)}'}" for rate, of in marks]
    table = table.assign(size=table["size_bytes"] / size).drop_duplicates("size_bytes", keep="last")
    base, ink = alt.Chart(table).encode(x=x, y=y), LOOKS["LRU"][0]
    words = base.mark_text(align="left", dx=6, dy=9, fontSize=theme.SMALL, color=ink).encode(text="label:N")
    return base.mark_point(filled=True, size=44, color=ink, opacity=1) + words
