"""Time per token by component, prompt and generation side by side."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from tracegen.analysis.pass_parts import OUTSIDE_OPS
from tracegen.charts import theme
from tracegen.charts.text import printable, three, whole_percent

MOST = 18  # bars of a panel
BETWEEN = 24  # px between panels


def chart(rows: pd.DataFrame, key: str = "component") -> Any:
    """Bars of `timing.by(…, key, …)`, longest first: one panel per phase, all on one scale."""
    rows = rows.dropna(subset=["ns_per_token"])
    longest = rows.groupby(key, observed=True)["ns_per_token"].max().sort_values(ascending=False)
    order = [printable(name) for name in longest.index[:MOST]]
    top = float(longest.max()) if len(longest) else 1.0
    scale, unit = (1e6, "ms") if top >= 1e6 else (1e3, "µs")
    phases = [phase for phase in ("prompt", "generate") if phase in set(rows["phase"])]
    data = pd.DataFrame(
        {
            "phase": rows["phase"],
            "name": [printable(name) for name in rows[key]],
            "time": rows["ns_per_token"].astype(float) / scale,
            "share": rows["share"].astype(float),
            "colour": [_colour(value, key) for value in rows[key]],
        }
    )
    data = data[data["name"].isin(order)]
    data["text"] = [f"{three(t)} {unit} · {whole_percent(s)}" for t, s in zip(data["time"], data["share"], strict=True)]
    width = (theme.plot(theme.NAMES) - BETWEEN * (len(phases) - 1)) // max(len(phases), 1)
    panels = [
        _panel(data[data["phase"] == phase], phase, order, top / scale, unit, width, i == 0)
        for i, phase in enumerate(phases)
    ]
    return alt.hconcat(*panels, spacing=BETWEEN)


def _colour(value: object, key: str) -> str:
    """Pale for time outside operations; the colour of its group for a component."""
    if value in OUTSIDE_OPS.values():
        return theme.INK["after"][1]
    return theme.colour(value) if key == "component" else theme.INK["bar"][1]


def _panel(data: pd.DataFrame, phase: str, order: list[str], top: float, unit: str, width: int, labelled: bool) -> Any:
    room = theme.NAMES if labelled else 0
    words_room = 1 + 130 / max(width - 130, 1)  # leaves 130 px for the label of the longest bar
    base = alt.Chart(data, title={"prompt": "Prompt", "generate": "Generation"}[phase]).encode(
        y=alt.Y("name:N", sort=order, title=None, scale=dict(domain=order),
                axis=theme.y_axis(room, ticks=False, domain=False, labels=labelled)),
        x=alt.X("time:Q", title=f"{unit} per token row",
                scale=dict(domain=[0, top * words_room], nice=False), axis=dict(tickCount=5)),
    )  # fmt: skip
    bars = base.mark_bar(height=12).encode(color=alt.Color("colour:N", scale=None))
    words = base.mark_text(align="left", dx=6).encode(text=alt.Text("text:N"))
    return (bars + words).properties(width=width, height=22 * len(order))
