"""The threads during one pass: work by component, waiting inside ops and after them."""

from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import along, names
from tracegen.charts.lazy import alt

MOST_LETTERS = 16  # of a device's name beside its lane
DISK = "device"  # the lane of the device that holds the model


def _short(name: str) -> str:
    """A name with its begin and its end: devices of a server differ in the one, servers in the other."""
    return name if len(name) <= MOST_LETTERS else f"{name[:4]}…{name[5 - MOST_LETTERS :]}"


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """One lane per thread, time since the pass began; `rows` is the result of `timeline.segments`."""
    longest = float(rows["end_ns"].max())
    scale, unit = (1e6, "ms") if longest >= 1e6 else (1e3, "µs")
    kind = [
        theme.group(component) if state == "work" else state
        for state, component in zip(rows["state"], rows["component"], strict=True)
    ]
    threads, devices = sorted(rows["thread"].dropna().unique()), sorted(map(_short, rows["device"].dropna().unique()))
    disk = bool((rows["thread"].isna() & rows["device"].isna()).any())
    data = pd.DataFrame(
        {
            "thread": [
                DISK if pd.isna(t) and pd.isna(d) else _short(d) if pd.isna(t) else f"thread {t}"
                for t, d in zip(rows["thread"], rows["device"], strict=True)
            ],
            "begin": rows["begin_ns"].astype(float) / scale,
            "end": rows["end_ns"].astype(float) / scale,
            "kind": kind,
        }
    )
    palette = {name: light for name, (_, light, _) in theme.GROUPS.items()} | theme.STATE_COLOURS
    palette["device busy"] = theme.INK["bar"][1]
    shown = [name for name in palette if name in set(kind)]
    lanes = [*(f"thread {t}" for t in threads), *devices, *([DISK] if disk and threads else [])]
    room = theme.names(width, max(map(len, lanes), default=1))
    colours = dict(domain=shown, range=[palette[n] for n in shown])
    x = along("begin", f"{unit} since the pass began", width, dict(domain=[0, longest / scale], nice=False), many=12)
    y = names("thread", lanes, room, paddingInner=0.2)
    colour = alt.Color("kind:N", scale=colours, title=None, legend=theme.legend(shown, width))
    bars = alt.Chart(data).mark_bar().encode(x=x, x2=alt.X2("end:Q"), y=y, color=colour)
    return bars.properties(width=theme.plot(room, width), height=alt.Step(34))
