"""Runtime buffers, and all of the memory, over the life of the process."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import amounts
from tracegen.charts.lazy import alt

COLOURS = {
    "KV cache": theme.BUFFERS["KV cache"][1],
    "compute": theme.BUFFERS["compute"][1],
    "copied weights": theme.SEQUENTIAL_COPIED[3],
    "weights": theme.BUFFERS["weights"][1],
    "work": theme.BUFFERS["work"][1],
    "other": theme.BUFFERS["other"][1],
}


# What the process holds: what it computes with below, the file that the kernel can drop on top.
HELD = {
    **{name: colour for name, colour in COLOURS.items() if name != "other"},
    "other buffers": COLOURS["other"],
    **{name: theme.HELD[name][1] for name in ("saved states", "other memory", "stacks", "programs and libraries")},
    **{name: theme.HELD[name][1] for name in ("memory of drivers", "tracer")},
    **dict.fromkeys(("other mappings", "other"), COLOURS["other"]),
    "model file": theme.HELD["model file"][1],
}


def chart(
    rows: pd.DataFrame,
    end_ns: int,
    begins: pd.Series,
    *,
    width: int = theme.WIDTHS[-1],
    colours: Mapping[str, str] = COLOURS,
    what: str = "allocated",
) -> Any:
    """Stacked areas, one step per event; `rows`: `buffers.occupancy` with times from the run's begin.

    `begins`: those of passes. Each pass is as wide as any other, so that loading does not take all of the width.
    `colours`: those of the groups, from the lowest on; `what` the bytes are.
    """
    order = [name for name in colours if name in set(rows["group"])]
    wide = rows.pivot_table(index="time_ns", columns="group", values="size_bytes", fill_value=0)[order]
    wide.loc[max(end_ns, int(wide.index.max()) + 1)] = wide.iloc[-1]
    top = float(wide.sum(axis=1).max())
    size, unit = (2**30, "GiB") if top >= 2**30 else (2**20, "MiB") if top >= 2**20 else (2**10, "KiB")
    known = np.unique([0.0, *begins.astype(float), float(wide.index.max())])
    times = np.interp(wide.index.to_numpy(float), known, np.arange(len(known)))
    highs = (wide / size).cumsum(axis=1).iloc[:-1]
    lows, ends = highs.shift(axis=1, fill_value=0.0), {"begin": times[:-1], "end": times[1:]}
    areas = [pd.DataFrame({"group": name, **ends, "low": lows[name], "high": highs[name]}) for name in order]
    data = pd.concat(areas, ignore_index=True)
    data = data[data["high"] > data["low"]]
    x = alt.X(
        "begin:Q",
        title="passes since the trace began, load first",
        axis=dict(grid=False, tickCount=theme.ticks(8, width)),
    )
    colour = alt.Color(
        "group:N",
        title=None,
        scale=dict(domain=order, range=[colours[n] for n in order]),
        legend=theme.legend(order, width, offset=26),
    )
    y, top_y = amounts("low", f"{unit} {what}"), alt.Y2("high:Q")
    drawn = alt.Chart(data).mark_rect().encode(x=x, x2=alt.X2("end:Q"), y=y, y2=top_y, color=colour)
    return drawn.properties(width=theme.plot(theme.NUMBERS, width), height=160)
