"""Duration of the pass of each generated token."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.by_layer import at_right
from tracegen.charts.channels import amounts
from tracegen.contract.text import three

MEDIAN = 90  # room for the median's label at the right


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Bars, or a line for many tokens, and the median; `rows`: produced_token, duration_ns of generate passes."""
    middle = float(rows["duration_ns"].astype(float).median())
    scale, unit = (1e6, "ms") if middle >= 1e6 else (1e3, "µs")
    data = pd.DataFrame(
        {"token": rows["produced_token"].astype(int), "time": rows["duration_ns"].astype(float) / scale}
    )
    few = len(data) <= 80
    x = alt.X("token:O" if few else "token:Q", title="token", axis=dict(labelAngle=0, labelOverlap=True, grid=False))
    base = alt.Chart(data).encode(x=x, y=amounts("time", f"{unit} per generate pass"))
    marks = base.mark_bar() if few else base.mark_line(strokeWidth=1, interpolate="step", color=theme.INK["bar"][1])
    line = pd.DataFrame(
        {
            "y": [middle / scale],
            "text": [f"{'dashed: ' if theme.narrow(width) else ''}median {three(middle / scale)} {unit}"],
        }
    )
    rule = alt.Chart(line).mark_rule(strokeDash=[4, 3], color=theme.INK["ink"][1]).encode(y=alt.Y("y:Q"))
    narrow = theme.narrow(width)  # then the label stands above the plot
    words = at_right(line, "y", narrow=narrow)
    return (marks + rule + words).properties(
        width=theme.plot(theme.NUMBERS, width) - (0 if narrow else MEDIAN), height=200
    )
