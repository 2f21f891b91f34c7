"""Which part of the model file was in memory after each load and pass."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import residency
from tracegen.charts import residency as residency_chart
from tracegen.charts import theme
from tracegen.charts.heatmap import Axis
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure, When
from tracegen.report.words import sentences

MARKS = 4_500  # at most, to keep the SVG small


def _looked(context: Context) -> bool:
    return not context.tables["residency"].empty and not context.tables["files"].empty


RECORDED = When("a run that recorded which pages were in memory (residency = true)", _looked)


def _content(context: Context) -> Content:
    """Which part of the model file was in memory after each load and pass."""
    tables = context.tables
    page = context.fact("host", "page_bytes")
    if page is None:  # an older run without the size of a page: its pages have no place in the file
        return Content(
            "", "", lambda _: None, pd.DataFrame(), empty="The size of the machine’s pages was not recorded."
        )
    rows = residency.resident_rows(tables)
    files = tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max())
    n_bins = max(40, min(280, MARKS // max(int(rows["row"].nunique()), 1)))
    binned = residency.resident_cells(tables, page, n_bins)
    read = residency.read_per_row(tables, rows)
    together = binned.groupby("pass_id")["resident_bytes"].sum().reindex(rows["pass_id"], fill_value=0)
    begun, ended = (float(together.iloc[place]) / total for place in (0, -1))
    loaded = tables["passes"].set_index("pass_id")["kind"].get(together.index[0]) == "load"
    title = sentences.residency_title(begun, ended, "load" if loaded else "first pass", len(together))
    width = -(-total // n_bins)
    axis = Axis(total, tuple(int(b) for b in sorted(files["axis_begin"]) if b), width)
    return Content(
        title=title,
        caption=f"Left: the model file from first to last byte; each cell is {q.size(width)} of file. Its colour is "
        f"the share of its pages ({q.size(page)} each) that the kernel had in memory when the load or pass had ended, "
        "whoever read them. The head of the file, which llama.cpp unmaps after the load, was not looked at. Right, or "
        "below: bytes that the process made the kernel read from the disk in the same time, read-ahead included. "
        f"n = {q.counted(len(together), 'load or pass', 'loads and passes')} in "
        f"{q.counted(int(rows['row'].nunique()), 'row')}; where several share a row, it is their mean.",
        alt=f"Heatmap of {q.counted(int(rows['row'].nunique()), 'row')} by {n_bins} stretches of the file. "
        f"{q.ended(title)}",
        chart=lambda width: residency_chart.chart(
            residency.joined_shares(binned, rows, theme.N_STEPS), read, rows, axis, width=width
        ),
        data=binned,
        values={"page_bytes": (page, "bytes", q.size(page))},
        numbers={"page_bytes": page, "n_bins": n_bins},
    )


RESIDENCY = Figure(
    key="residency",
    page="memory",
    section="kinds",
    title="How much of the file was in memory?",
    needs=(needs.EVIDENCE, needs.KINDS),
    when=RECORDED,
    content=_content,
    wide=True,
    explanation=Explanation(
        "The share of the file’s pages that the kernel had in memory (mincore) when a load or pass had ended.",
        "Loads and passes that ended. The head of the file, which llama.cpp unmaps after the load, was not looked at.",
        "The file runs from left to right, the run from top to bottom. Rows that grow darker show a file that is read "
        "into memory; cells that grow paler show pages that the kernel gave up.",
        code="""
from tracegen.analysis import residency
data = residency.resident_cells(run.tables, page_bytes=$page_bytes, n_bins=$n_bins)
""",
    ),
)
