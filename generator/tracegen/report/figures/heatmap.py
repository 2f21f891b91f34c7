"""Which bytes of the model file each pass touched."""

from typing import Any

import pandas as pd

from tracegen.analysis import heatmap
from tracegen.charts import heatmap as heatmap_chart
from tracegen.charts import theme
from tracegen.charts.heatmap import Axis
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words import sentences

COLUMN = theme.WIDTHS[1]  # px: its data are those of the drawing for a column of text
ROWS = 12  # at most: the page of the file shows every pass, the appendix what they have in common
MOST_CELLS = 1000  # of a drawing; above it neighbours of one colour are joined, to keep the SVG small


def _with_texts(cells: pd.DataFrame, tensors: pd.DataFrame) -> pd.DataFrame:
    """`cells` with the texts of their tooltips: tensor (with its expert, or how many there are), layer, dtype."""
    about = tensors.sort_values(["file", "offset"])
    rank = {int(t): i for i, t in enumerate(about["tensor"])}
    names, layers, dtypes = (about[column].tolist() for column in ("name", "layer", "dtype"))
    keys = ["first_tensor", "last_tensor", "n_tensors", "expert"]
    texts = []
    for first, last, n, expert in cells[keys].drop_duplicates().itertuples(index=False):
        if pd.isna(first):
            texts.append((first, last, n, expert, "none: header or padding", "none", "none"))
            continue
        begin, end = rank[int(first)], rank[int(last)] + 1
        name = q.printable(names[begin])
        if int(n) > 1:
            name += f" to {q.printable(names[end - 1])}: {q.counted(int(n), 'tensor')}"
        elif not pd.isna(expert):
            name += f", expert {int(expert)}"
        there = ["none" if pd.isna(v) else str(int(v)) for v in dict.fromkeys(layers[begin:end])]
        layer = there[0] if len(there) == 1 else f"{there[0]} to {there[-1]}"
        of = ", ".join(dict.fromkeys(map(str, dtypes[begin:end])))
        texts.append((first, last, n, expert, name, layer, of))
    by_cell = pd.DataFrame(texts, columns=[*keys, "tensor", "layer", "dtype"])
    return cells.merge(by_cell.astype({key: cells[key].dtype for key in keys}), on=keys, how="left")


def _rows(context: Context) -> pd.DataFrame:
    return heatmap.display_rows(context.tables, ROWS)


def _buffer_use(context: Context) -> pd.DataFrame:
    """Bytes touched in each group of buffers, mean over the passes of a row: row, group, touched_bytes."""
    touched = context.buffer_use.merge(_rows(context), on="pass_id")
    touched = touched.assign(touched_bytes=touched["touched_bytes"].astype(float) / touched["n_passes"])
    return touched.groupby(["row", "group"])["touched_bytes"].sum().reset_index()


def _caption(context: Context, axis: Axis) -> str:
    rows = _rows(context)
    n_outside = int(rows["outside"].sum())
    warmup = f" and {q.counted(n_outside, 'warm-up pass')}" if n_outside else ""
    several = int(rows["n_passes"].max()) if len(rows) else 1
    averaged = f"up to {several} passes averaged in a row" if several > 1 else "one pass each"
    return (
        f"The model file{'s end to end, a seam between them' if axis.boundaries else ''} from first to last "
        "byte. The colour shows how much of the bytes at that place operations used in one pass, each byte once. A "
        "tensor, or an expert, that is wider than two pixels is one cell; elsewhere each column of a pixel is one. "
        f"Solid: mapped. Hatched: {context.copied}, drawn where the bytes came from in the file at load. Below: bytes "
        "touched in runtime buffers in the same rows (a byte touched twice counts twice). "
        f"n = {q.counted(len(rows) - n_outside, 'measured pass')}{warmup} in "
        f"{q.counted(int(rows['row'].nunique()), 'row')}, {averaged}. "
        f"{'Warm-up is drawn above the gap and left out of every statistic. ' if n_outside else ''}"
        "Loading runs no operation and is not drawn."
        f"{sentences.header(context.summary.header_bytes, context.summary.file_bytes)}"
        f"{f' {context.gaps} They are not drawn.' if context.gaps else ''}"
        f"{f' {context.padded}' if context.padded else ''}"
    )


def nothing_touched(file_bytes: int, rows: pd.DataFrame, touched: pd.DataFrame) -> str:
    """Why there is nothing to draw of the file; empty if there is. `rows`: of passes that evaluate a graph."""
    if not file_bytes:
        return "The trace names no model file."
    if rows.empty:
        return "The run has no pass that evaluates a graph: it only loaded the model."
    return "No pass touched a byte of the model file." if touched.empty else ""


def most_untouched(use: pd.DataFrame) -> tuple[str, float]:
    """Where most bytes lie that no measured pass touched, and which share of those bytes: ("", 0.0) if there is none.

    It is a tensor where one has half of them, else a part of the model. `use` is the result of `coverage.tensor_use`.
    """
    left = (use["size_bytes"] - use["touched_bytes"]).astype("float64")
    groups = use["component"].astype("object").map(theme.group)
    for place in (use["name"].map(q.printable), groups):
        sums = left.groupby(place).sum()
        if len(sums) and sums.max() >= 0.5 * left.sum() > 0:
            break
    whole = float(left.sum())
    return (str(sums.idxmax()), float(sums.max()) / whole) if whole > 0 else ("", 0.0)


def touched_and_rest(share: float | None, place: str, of_rest: float) -> tuple[Amount, ...]:
    """The share of all weights that measured passes touched, None if not known, and where most of the rest lies."""
    if share is None or not place:
        return ()
    return (
        Amount(share, "share", "of the weights touched by all measured passes together"),
        Amount(of_rest, "share", f"of the rest is in {place}"),
    )


def _content(context: Context) -> Content:
    tables, rows = context.tables, _rows(context)
    n_columns = heatmap_chart.track_px(COLUMN)
    known = {"used": context.used, "cut": context.pieces}
    cells = heatmap.shares(tables, n_columns, ROWS, **known)
    buffer_use, axis = _buffer_use(context), Axis.of(tables["files"])
    bands = heatmap.bands(tables, "layer"), heatmap.bands(tables, "component")

    def drawn(width: int = COLUMN) -> Any:
        columns = heatmap_chart.track_px(width)
        shares = cells if columns == n_columns else heatmap.shares(tables, columns, ROWS, **known)
        joined = heatmap.joined_shares(shares, theme.N_STEPS, MOST_CELLS)
        shown = _with_texts(joined, tables["tensors"])
        return heatmap_chart.chart(shown, rows, *bands, buffer_use, axis, width=width, copied=context.copied)

    share = context.summary.touched_weight_share if len(context.measured) else None
    size = f"{q.counted(int(rows['row'].nunique()), 'row')} of passes by the model file, {q.size(axis.total)}"
    return Content(
        answer=touched_and_rest(share, *most_untouched(context.tensor_use)),
        caption=_caption(context, axis),
        alt=f"Heatmap of {size}: the share of the bytes used.",
        chart=drawn,
        data=cells,
        empty=nothing_touched(axis.total, rows, cells),
        numbers={"n_columns": n_columns, "n_rows": ROWS},
    )


HEATMAP = Figure(
    key="heatmap",
    section="file",
    title="Which bytes of the file does each token touch?",
    needs=needs.FILE_USE,
    content=_content,
    wide=True,
    code="data = heatmap.shares(run.tables, n_columns=$n_columns, max_rows=$n_rows)",
)
