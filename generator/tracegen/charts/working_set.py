"""What passes in a row touch together, and what the next one needs anew, by their number."""

from typing import Any

import altair as alt
import pandas as pd

from tracegen.charts import theme
from tracegen.charts.channels import amounts
from tracegen.charts.compared import scaled
from tracegen.charts.lines import LONG, PLAIN, lines, points

TOGETHER, NEW = "touched together", "needed anew by the next"
LOOKS = {TOGETHER: (theme.GROUPS["attention"][1], PLAIN), NEW: (theme.GROUPS["experts"][1], LONG)}


def chart(rows: pd.DataFrame, noun: str, *, width: int = theme.WIDTHS[-1]) -> Any:
    """`rows`: n_passes, bytes, least_bytes, most_bytes, new_bytes (null: unknown). `noun`: what passes are, plural."""
    size, unit = scaled([float(rows["most_bytes"].max())], "bytes")
    count = rows["n_passes"].astype(int)
    series = [
        pd.DataFrame({"n": count, "series": name, "size": rows[column].astype(float) / size})
        for name, column in ((TOGETHER, "bytes"), (NEW, "new_bytes"))
    ]
    data = pd.concat(series, ignore_index=True).dropna()
    values = [int(n) for n in count]
    named = values[:-1] if len(values) > 1 and values[-1] < 1.5 * values[-2] else values  # names that have room
    x = alt.X(
        "n:Q", title=f"{noun} in a row", scale=dict(type="log", base=2, domain=[1, max(values[-1], 2)], nice=False),
        axis=theme.x_axis(width, values=named if width > theme.NARROW else named[::2], format=",d"),
    )  # fmt: skip
    y = amounts("size", unit)
    band = pd.DataFrame({"n": count, "low": rows["least_bytes"] / size, "high": rows["most_bytes"] / size})
    around = alt.Chart(band).mark_area(color=theme.INK["band"][1])
    around = around.encode(x=x, y=alt.Y("low:Q", title=unit), y2=alt.Y2("high:Q"))
    line = lines(data, "series", LOOKS, x, y, width, offset=30)
    drawn = around + line + points(line, size=40, opacity=1)
    return drawn.properties(width=theme.plot(theme.NUMBERS, width), height=240)
