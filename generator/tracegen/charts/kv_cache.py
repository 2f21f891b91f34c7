"""The bytes of the KV cache that each generated token uses."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.buffers import COLOURS
from tracegen.charts.channels import amounts
from tracegen.charts.compared import scaled


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A step for each token; `rows`: produced_token, touched_bytes."""
    size, unit = scaled([float(rows["touched_bytes"].max())], "bytes")
    data = pd.DataFrame({"token": rows["produced_token"].astype(int), "used": rows["touched_bytes"] / size})
    end = data.tail(1).assign(token=data["token"] + 1)  # of the last step
    data = pd.concat([data, end], ignore_index=True)
    x = alt.X("token:Q", title="token", axis=dict(grid=False, tickMinStep=1, tickCount=theme.ticks(8, width)))
    mark = alt.Chart(data).mark_area(interpolate="step-after", color=COLOURS["KV cache"])
    plot = theme.plot(theme.NUMBERS, width)
    return mark.encode(x=x, y=amounts("used", f"{unit} used")).properties(width=plot, height=160)
