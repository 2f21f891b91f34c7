"""Time per token by layer, stacked by component group."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme


def chart(rows: pd.DataFrame) -> Any:
    """`rows`: layer (null: of no layer), group, ns_per_token of one phase. One bar per layer."""
    top = float(rows.groupby("layer", dropna=False)["ns_per_token"].sum().max())
    scale, unit = (1e6, "ms") if top >= 1e6 else (1e3, "µs")
    numbers = sorted(int(layer) for layer in rows["layer"].dropna().unique())
    order = [str(n) for n in numbers] + ["no layer"]
    data = pd.DataFrame(
        {
            "layer": [str(int(v)) if pd.notna(v) else "no layer" for v in rows["layer"]],
            "group": rows["group"].astype(str),
            "rank": [list(theme.GROUPS).index(g) for g in rows["group"]],
            "time": rows["ns_per_token"].astype(float) / scale,
        }
    )
    present = list(data["group"].unique())
    return (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X(
                "layer:N",
                sort=order,
                title="layer",
                axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False),
                scale=alt.Scale(domain=order, paddingInner=0.25),
            ),
            y=alt.Y("time:Q", title=f"{unit} of op wall time per token", axis=alt.Axis(tickCount=5)),
            color=alt.Color("group:N", scale=theme.group_scale(present), title=None),
            order=alt.Order("rank:Q"),
        )
        .properties(width=theme.WIDTH - 70, height=220)
    )
