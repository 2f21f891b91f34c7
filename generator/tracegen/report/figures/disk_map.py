"""For which bytes of the model file each pass waited."""

from __future__ import annotations

from tracegen.analysis import disk_waits, heatmap
from tracegen.charts import disk_map, theme
from tracegen.charts.heatmap import Axis
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_disk import FAULTS, RECORDED
from tracegen.report.words import disk_sentences as say

CELLS = 4_500  # at most, to keep the SVG small


def _content(context: Context) -> Content:
    """The time waited for each stretch of the file in each pass."""
    tables = context.tables
    rows = context.display_rows
    rows = rows[~rows["outside"].to_numpy(bool)]
    n_rows = max(int(rows["row"].nunique()), 1)
    n_bins = max(40, min(280, CELLS // n_rows))
    cells, longest = disk_waits.cells(tables, rows, n_bins, theme.N_STEPS)
    files = tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0
    width = -(-total // n_bins)
    axis = Axis(total, tuple(int(b) for b in sorted(files["axis_begin"]) if b), width)
    ends = [q.duration(longest / disk_waits.FACTOR ** (theme.N_STEPS - 1 - i)) for i in range(theme.N_STEPS)]
    bands = heatmap.bands(tables, "layer"), heatmap.bands(tables, "component")
    n_cells = len(cells[["begin"]].drop_duplicates())
    title = say.map_title(n_cells, -(-total // width) if width else 0)
    return Content(
        title=title,
        caption=f"Left: the model file from first to last byte; each cell is {q.size(width)} of file. Its colour is "
        "the time of page faults on its bytes, summed over threads; each step of colour is four times the one before. "
        f"Right, or below: the sum of the row. n = {q.counted(len(rows), 'pass')} in {q.counted(n_rows, 'row')}"
        f"{'; where several share a row, it is their mean' if len(rows) > n_rows else ''}. Load and warm-up are left "
        "out.",
        alt=f"Heatmap of {q.counted(n_rows, 'row')} by {n_bins} stretches of the file. {q.ended(title)}",
        chart=lambda width: disk_map.chart(cells, rows, bands, axis, ends, width=width),
        data=cells,
        empty="" if len(cells) else "No measured pass had a page fault of the model file.",
        numbers={"n_bins": n_bins},
    )


DISK_MAP = Figure(
    key="disk-map",
    page="disk",
    section="split",
    title="For which bytes of the file do tokens wait?",
    needs=(*needs.TIMES, needs.PLACES, needs.FAULTS),
    when=RECORDED,
    content=_content,
    wide=True,
    explanation=Explanation(
        f"The time of page faults by the place of the byte that was touched, one row for each pass. {FAULTS}",
        "Page faults of measured passes. Load and warm-up are left out.",
        "A row that is filled all over waited for most of the file: a prompt from a cold page cache. A column that "
        "stays filled is a stretch that does not stay in memory. Read-ahead reads more than the page that was touched, "
        "so the neighbours of a filled cell may have been read without a wait.",
        code="""
from tracegen.analysis import disk_waits, heatmap
rows = heatmap.display_rows(run.tables)
data, longest_ns = disk_waits.cells(run.tables, rows[~rows["outside"]], n_bins=$n_bins, n_steps=8)
""",
    ),
)
