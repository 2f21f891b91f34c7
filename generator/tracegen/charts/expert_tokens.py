"""Which experts each token chose in one layer: tokens by experts."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import experts, names

ROW, TALL = 14, 390  # px: height of a line, and of all lines at most
FEW = 26  # labels at most


def chart(rows: pd.DataFrame, labels: list[str], n_experts: int, several: int, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Tokens by experts; `rows` and `several` (tokens of a line) are the result of `routing.grid`.

    `labels` are the names of the lines; all must differ.
    """
    share = rows["n_tokens"].to_numpy("float64") / several
    step = np.clip(np.ceil(share * theme.N_STEPS).astype(int) - 1, 0, theme.N_STEPS - 1)
    data = pd.DataFrame(
        {
            "line": [labels[i] for i in rows["line"]],
            "expert": rows["expert"].astype(int),
            "colour": theme.step_colours(step) if several > 1 else theme.INK["bar"][1],
        }
    )
    room = theme.names(width, max(map(len, labels), default=1))
    plot = theme.plot(room, width)
    x = experts(n_experts, plot, paddingInner=0.1)
    named = labels[:: max(1, -(-len(labels) // FEW))]
    y = names("line", labels, room, {"values": named}, paddingInner=0.15, paddingOuter=0)
    chosen = alt.Chart(data).mark_rect().encode(x=x, y=y, color=alt.Color("colour:N", scale=None))
    ground = alt.Chart(pd.DataFrame({"line": labels})).mark_rect(color=theme.INK["band"][1])
    lines = ground.encode(y=y, x=alt.value(0), x2=alt.value(plot))
    return (lines + chosen).properties(width=plot, height=min(ROW * len(labels), TALL))
