"""How the choices are shared among the experts: from the most to the least chosen, over all layers."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import amounts, places


def chart(ranked: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Per place the range over layers, the median, and the even choice; `ranked`: see `routing.ranked`."""
    grouped = ranked.assign(share=ranked["share"] * 100).groupby("place")["share"]
    data = grouped.agg(low="min", middle="median", high="max").reset_index()
    n = len(data)
    plot = theme.plot(theme.NUMBERS, width)
    title = "place of the expert in its layer, most chosen first"
    x = places("place:O", title, range(1, n + 1), 30, plot, theme.x_axis(width, grid=False), 0.2)
    y = amounts("low", "% of the layer’s choices")
    base = alt.Chart(data).encode(x=x)
    spread = base.mark_bar(color=theme.INK["band2"][1]).encode(y=y, y2=alt.Y2("high:Q"))
    middle = base.mark_tick(color=theme.INK["bar"][1], thickness=3, size=max(4, 0.8 * plot / n)).encode(
        y=alt.Y("middle:Q")
    )
    shares = sorted((100 * ranked["even"].unique()).tolist(), reverse=True)  # one, unless layers differ in experts
    even = pd.DataFrame({"even": shares, "text": ["even choice", *[""] * (len(shares) - 1)]})
    rule = alt.Chart(even).mark_rule(strokeDash=[4, 3], color=theme.INK["ink"][1]).encode(y=alt.Y("even:Q"))
    words = alt.Chart(even).mark_text(align="right", dy=-8, x="width", color=theme.INK["ink"][1])
    words = words.encode(y=alt.Y("even:Q"), text=alt.Text("text:N"))
    return (spread + middle + rule + words).properties(width=plot, height=220)
