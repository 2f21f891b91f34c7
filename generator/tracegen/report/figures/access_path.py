"""Where in the file, and when, the operations of one pass touched it."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import order
from tracegen.charts import access_path
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure


def _content(context: Context, pass_id: int | None = None) -> Content:
    """The accesses of the measured pass `pass_id`, by default the typical pass."""
    drawn = context.typical_pass if pass_id is None else pass_id
    empty = shared_access.nothing(context)
    if not empty and (drawn is None or drawn not in set(context.measured["pass_id"])):
        empty = "The ends of measured passes were not recorded."
    rows = pd.DataFrame() if empty else order.path(context.tables, context.disk_accesses, int(drawn or 0))
    if not empty and rows.empty:
        empty = "The operations of the pass touched no mapped file, or have no times of their own."
    if empty:
        return Content(caption="", alt="", chart=lambda _: None, data=rows, empty=empty)
    files = context.tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max())
    label = context.labels[int(drawn or 0)]
    more = " Files stand one behind the other." if len(files) > 1 else ""
    return Content(
        title=f"Where in the file are the operations of {label}, one after the other?",
        caption=f"Each mark is an access of {label}: as high as the bytes that it covers, as wide as its operation "
        f"takes; thin ones are drawn thicker. n = {q.counted(len(rows), 'access')}.{more} Weights that were copied "
        f"into memory are not in it.{shared_access.left_out(context)}",
        alt=f"Marks of {q.counted(len(rows), 'access')} by time and place in the file.",
        chart=lambda width: access_path.chart(rows, total, width=width),
        data=rows,
        numbers={"pass_id": int(drawn or 0)},
    )


ACCESS_PATH = Figure(
    key="access-path",
    page="access",
    section="order",
    title="Where in the file are the operations, one after the other?",
    needs=(*needs.TIMES, *needs.BYTES),
    content=_content,
    wide=True,
    explanation=Explanation(
        "The way of one pass through the mapped file: time from left to right, the file from bottom to top.",
        f"{shared_access.MEASURED} The pass is the generate pass of median length, or the prompt if there is none.",
        "A line that rises steadily is a file that stands in the order of use. Jumps up and down are steps forward and "
        "backward. A wide mark took long: it touches many bytes, or waited for them.",
        code=shared_access.ACCESSES + "data = order.path(run.tables, touched, $pass_id)",
    ),
)
