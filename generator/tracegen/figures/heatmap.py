"""Which bytes of the model file each pass touched."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tracegen.analysis import heatmap
from tracegen.charts import heatmap as heatmap_chart
from tracegen.charts import theme
from tracegen.charts.heatmap import Axis
from tracegen.figures import needs, shared_memory
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.figure import Content, Figure
from tracegen.words import quantities as q
from tracegen.words import sentences

CELLS = 4_500  # at most, to keep the SVG small


@dataclass(frozen=True)
class _Grid:
    """The grid of the heatmap: rows of passes by `n_bins` stretches of `width` bytes of the `total` bytes of files."""

    rows: pd.DataFrame
    n_rows: int
    n_bins: int
    total: int
    width: int
    boundaries: tuple[int, ...]


def _grid(context: Context) -> _Grid:
    """The grid with at most CELLS cells; `boundaries` are the begins of the second and further files."""
    rows, files = context.display_rows, context.tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0
    n_rows = max(int(rows["row"].nunique()), 1)
    n_bins = max(40, min(280, CELLS // n_rows))
    boundaries = tuple(int(b) for b in sorted(files["axis_begin"]) if b) if len(files) else ()
    return _Grid(rows, n_rows, n_bins, total, -(-total // n_bins) if total else 0, boundaries)


def _buffer_use(context: Context) -> pd.DataFrame:
    """Bytes touched in each group of buffers, mean over the passes of a row: row, group, touched_bytes."""
    touched = context.buffer_use.merge(context.display_rows, on="pass_id")
    touched = touched.assign(touched_bytes=touched["touched_bytes"].astype(float) / touched["n_passes"])
    return touched.groupby(["row", "group"])["touched_bytes"].sum().reset_index()


def _caption(context: Context, grid: _Grid) -> str:
    rows = grid.rows
    n_outside = int(rows["outside"].sum())
    several = int(rows["n_passes"].max()) if len(rows) else 1
    averaged = f"up to {several} passes averaged in a row" if several > 1 else "one pass each"
    return (
        f"Left: the model file{'s end to end, a seam between them' if grid.boundaries else ''} from first to last "
        f"byte. Each cell is {q.size(grid.width)} of file; its colour shows the bytes that operations touched there "
        "in one pass (a byte touched twice counts twice). Solid: mapped. Hatched: copied out of the file at load, "
        "drawn where the bytes came from. Right: bytes touched in runtime buffers in the same pass. "
        f"n = {sentences.heatmap_rows(len(rows) - n_outside, n_outside, grid.n_rows)}, {averaged}. "
        f"{'Warm-up is drawn above the gap and left out of every statistic. ' if n_outside else ''}"
        "Loading runs no operation and is not drawn."
        f"{f' {context.gaps} They are not drawn.' if context.gaps else ''}"
        f"{f' {context.padded}' if context.padded else ''}"
    )


def _empty(grid: _Grid, joined: pd.DataFrame) -> str:
    """Why there is nothing to draw; empty if there is."""
    if not grid.total:
        return "The trace names no model file."
    if grid.rows.empty:
        return "The run has no pass that evaluates a graph: it only loaded the model."
    return "No pass touched a byte of the model file." if joined.empty else ""


def _content(context: Context) -> Content:
    """Which bytes of the file each pass touched, and how many of each kind of buffer."""
    tables, grid = context.tables, _grid(context)
    binned = heatmap.file_cells(tables, grid.n_bins, used=context.used)
    joined = heatmap.joined_cells(binned, grid.rows, theme.N_STEPS)
    top = float(heatmap.row_means(binned, grid.rows)["touched_bytes"].max()) if len(binned) else 0.0
    buffer_use, axis = _buffer_use(context), Axis(grid.total, grid.boundaries, grid.width)
    title = sentences.heatmap_title(context.summary.touched_share if len(context.measured) else None)
    size = f"{q.counted(grid.n_rows, 'row')} of passes by {grid.n_bins} stretches of the file, {q.size(grid.total)}"
    return Content(
        title=title,
        caption=_caption(context, grid),
        alt=f"Heatmap of {size}. {q.ended(title)}",
        chart=lambda: heatmap_chart.chart(
            joined,
            grid.rows,
            heatmap.bands(tables, "layer"),
            heatmap.bands(tables, "component"),
            buffer_use,
            axis,
            top,
        ),
        data=binned,
        empty=_empty(grid, joined),
        numbers={"n_bins": grid.n_bins},
    )


HEATMAP = Figure(
    key="heatmap",
    page="memory",
    section="file",
    title="Which bytes of the file does each token touch?",
    needs=(*needs.BYTES, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        f"Touched bytes of the model file by stretch and by pass. {shared_memory.TOUCHED} A byte that two operations "
        "touch counts twice.",
        "Every pass that evaluates a graph; warm-up is drawn apart and left out of every statistic. Loading runs no "
        "operation and is not drawn. If there are many generate passes, several share a row, which is then their mean.",
        "The file runs from left to right, the passes from top to bottom. A column that is dark in every row is "
        "touched by every token; a scattered one holds experts or rows that only some tokens choose; an empty one is "
        "not touched. Solid is mapped; hatched is a copy in memory.",
        code="""
from tracegen.analysis import heatmap
data = heatmap.file_cells(run.tables, n_bins=$n_bins)
""",
    ),
)
