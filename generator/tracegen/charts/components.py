"""Time per token by component, prompt and generation side by side."""

from typing import Any

import pandas as pd

from tracegen.analysis.pass_parts import OUTSIDE_OPS
from tracegen.charts import theme
from tracegen.charts.channels import names
from tracegen.charts.lazy import alt
from tracegen.contract.text import printable, three, whole_percent

MOST, MOST_STACKED = 18, 8  # bars of a panel; of one that stands above another, so that both fit on a page
BETWEEN = 24  # px between panels
WORDS = 130  # px: room for the label of a bar


def chart(rows: pd.DataFrame, key: str = "component", *, width: int = theme.WIDTHS[-1]) -> Any:
    """Bars of `timing.by(…, key, …)`, longest first: one panel per phase, all on one scale; stacked if narrow."""
    rows = rows.dropna(subset=["ns_per_token"])
    longest = rows.groupby(key, observed=True)["ns_per_token"].max().sort_values(ascending=False, kind="stable")
    most = MOST_STACKED if theme.narrow(width) else MOST
    order = [printable(name) for name in longest.index[:most]]
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
    named, stacked = theme.names(width, max(map(len, order), default=1)), theme.narrow(width)
    beside = 1 if stacked else max(len(phases), 1)
    plot = (theme.plot(named, width) - BETWEEN * (beside - 1)) // beside
    title = f"{unit} per token{f', the {most} longest of {len(longest)}' if len(longest) > most else ''}"
    panels = [
        _panel(data[data["phase"] == phase], phase, order, top / scale, title, plot, named if i == 0 or stacked else 0)
        for i, phase in enumerate(phases)
    ]
    return (alt.vconcat if stacked else alt.hconcat)(*panels, spacing=BETWEEN)


def _colour(value: object, key: str) -> str:
    """Pale for time outside operations; the colour of its group for a component."""
    if value in OUTSIDE_OPS.values():
        return theme.INK["outside"][1]
    return theme.colour(value) if key == "component" else theme.INK["bar"][1]


def _panel(data: pd.DataFrame, phase: str, order: list[str], top: float, title: str, width: int, room: int) -> Any:
    words = min(WORDS, width // 2)
    words_room = 1 + words / max(width - words, 1)  # leaves room for the label of the longest bar
    base = alt.Chart(data, title={"prompt": "Prompt", "generate": "Generation"}[phase]).encode(
        y=names("name", order, room, {"labels": room > 0}),
        x=alt.X(
            "time:Q",
            title=title,
            scale=dict(domain=[0, top * words_room], nice=False),
            axis=dict(tickCount=5 if width > 300 else 3),
        ),
    )
    bars = base.mark_bar(height=12).encode(color=alt.Color("colour:N", scale=None))
    labels = base.mark_text(align="left", dx=6).encode(text=alt.Text("text:N"))
    return alt.layer(bars, labels, width=width, height=16 * len(order))
