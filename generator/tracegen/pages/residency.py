"""The figure of what was in memory: only of runs that looked."""

from __future__ import annotations

from tracegen.analysis import residency
from tracegen.charts import residency as residency_chart
from tracegen.charts import theme
from tracegen.charts.heatmap import Axis
from tracegen.figures.context import Context
from tracegen.pages.views import FigureView
from tracegen.words import quantities as q
from tracegen.words import sentences

MARKS = 4_500  # of the picture at most, so that it stays one light SVG


def residency_figure(context: Context) -> FigureView | None:
    """What of the model file was in memory after each load and pass; None where nobody asked."""
    tables = context.tables
    if tables["residency"].empty or tables["files"].empty:
        return None
    page = context.fact("host", "page_bytes")
    if page is None:  # runs of before it was kept: pages could not be placed in the file
        title = "What of the file was in memory?"
        return FigureView("residency", title, "", title, None, "The size of the machine’s pages was not recorded.")
    context.value("page_bytes", page, "bytes", q.size(page))
    rows = residency.resident_rows(tables)
    files = tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max())
    n_bins = max(40, min(280, MARKS // max(int(rows["row"].nunique()), 1)))
    cells = residency.resident_cells(tables, page, n_bins)
    read = residency.read_per_row(tables, rows)
    together = cells.groupby("pass_id")["resident_bytes"].sum().reindex(rows["pass_id"], fill_value=0)
    begun, ended = (float(together.iloc[place]) / total for place in (0, -1))
    loaded = tables["passes"].set_index("pass_id")["kind"].get(together.index[0]) == "load"
    title = sentences.residency_title(begun, ended, "load" if loaded else "first pass", len(together))
    width = -(-total // n_bins)
    axis = Axis(total, tuple(int(b) for b in sorted(files["axis_begin"]) if b), width)
    return context.figure(
        "residency",
        "memory",
        title,
        f"Left: the model file from first to last byte; each cell is {q.size(width)} of file, its colour the share of "
        f"its pages ({q.size(page)} each) that the kernel had in memory when the load or pass had ended, whoever read "
        "them; what llama.cpp unmaps after the load, the head of the file, was not looked at. Right: bytes that the "
        "process made the kernel read from storage in the same time, read-ahead included. "
        f"n = {q.counted(len(together), 'load or pass', 'loads and passes')} in "
        f"{q.counted(int(rows['row'].nunique()), 'row')}; where several share a row, it is their mean.",
        f"Heatmap of {q.counted(int(rows['row'].nunique()), 'row')} by {n_bins} stretches of file. {q.ended(title)}",
        lambda: residency_chart.chart(residency.joined_shares(cells, rows, theme.N_STEPS), read, rows, axis),
        data=cells,
        numbers={"page_bytes": page, "n_bins": n_bins},
    )
