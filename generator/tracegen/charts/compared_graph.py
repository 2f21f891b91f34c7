"""The operations of two graphs in their order, a row for each layer, coloured by what differs."""

from typing import Any

import pandas as pd

from tracegen.charts import channels, theme
from tracegen.charts.lazy import alt

# change -> colour and sign: nothing is shown by colour alone
CHANGES = {
    "same": (theme.INK["band2"][1], ""),
    "changed": (theme.GROUPS["attention"][1], "~"),
    "moved": (theme.INK["after"][1], "↕"),
    "new": (theme.GROUPS["FFN"][1], "+"),
    "gone": (theme.GROUPS["experts"][1], "−"),
}
HIGH = 20  # px of a row
SIGN = 8  # px that a box must be wide to hold its sign


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """A box for each operation. `rows`: row (its name), place (from 1), op, name, component, change, what."""
    order = list(dict.fromkeys(rows["row"]))
    room = theme.names(width, max(map(len, order)))
    plot, most = theme.plot(room, width), int(rows["place"].max())
    names = [name for name in CHANGES if name in set(rows["change"])]
    data = rows.assign(
        begin=rows["place"] - 1,
        end=rows["place"] - min(0.15, most / plot),
        sign=[CHANGES[change][1] for change in rows["change"]],
    )
    scale = dict(domain=[0, most], nice=False)
    x = channels.along("begin", "operations of a token, in their order", width, scale, tickMinStep=1)
    base = alt.Chart(data).encode(y=channels.names("row", order, room))
    colours = alt.Scale(domain=names, range=[CHANGES[name][0] for name in names])
    boxes = base.mark_rect(height=HIGH - 6).encode(
        x=x,
        x2=alt.X2("end"),
        color=alt.Color("change:N", scale=colours, legend=alt.Legend(**theme.legend(names, width, title=None))),
    )
    if plot / most < SIGN:
        return boxes.properties(width=plot, height=HIGH * len(order))
    signs = (
        base.transform_calculate(middle="(datum.begin + datum.end) / 2")
        .mark_text(fontSize=11, fontWeight="bold", color=theme.INK["ground"][1])
        .encode(x=alt.X("middle:Q"), text="sign:N")
    )
    return (boxes + signs).properties(width=plot, height=HIGH * len(order))
