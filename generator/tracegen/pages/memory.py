"""The memory page: what lies where in the file, what was used of it, what buffers held."""

from __future__ import annotations

from typing import Any

from tracegen.analysis import buffers, coverage, heatmap
from tracegen.charts import buffers as buffers_chart
from tracegen.charts import heatmap as heatmap_chart
from tracegen.charts import theme
from tracegen.figures.context import OUTSIDE, Context
from tracegen.pages.explorers.memory_data import write_memory
from tracegen.pages.residency import residency_figure
from tracegen.pages.views import Cell, FigureView, Head, TableView, cells, table
from tracegen.words import quantities as q
from tracegen.words import sentences

CELLS = 4_500  # marks of a heatmap at most, so that it stays one light SVG


def memory(context: Context) -> dict[str, Any]:
    """Everything the template of the memory page prints."""
    return {
        "heatmap": heatmap_figure(context),
        "explorer": write_memory(context),
        "state": {
            "data": "../data/",
            "groups": dict(theme.GROUP_OF),
            "colours": {n: v for n, (v, *_) in theme.GROUPS.items()},
        },
        "residency": residency_figure(context),
        "groups": _groups(context),
        "biggest": _biggest(context),
        "never": _never(context),
        "buffers": buffers_figure(context),
        "peaks": _peaks(context),
    }


def heatmap_figure(context: Context) -> FigureView:
    """Which bytes of the file each pass used, and how many of each kind of buffer."""
    tables, files = context.tables, context.tables["files"]
    rows = context.display_rows
    total = int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0
    n_rows = max(int(rows["row"].nunique()), 1)
    n_bins = max(40, min(280, CELLS // n_rows))
    cells_ = heatmap.file_cells(tables, n_bins, used=context.used)
    joined = heatmap.joined_cells(cells_, rows, theme.N_STEPS)
    width = -(-total // n_bins) if total else 0
    top = float(heatmap.row_means(cells_, rows)["touched_bytes"].max()) if len(cells_) else 0.0
    touched = context.buffer_use.merge(rows, on="pass_id")
    touched = touched.assign(touched_bytes=touched["touched_bytes"].astype(float) / touched["n_passes"])
    touched = touched.groupby(["row", "group"])["touched_bytes"].sum().reset_index()
    boundaries = tuple(int(b) for b in sorted(files["axis_begin"]) if b) if len(files) else ()
    axis = heatmap_chart.Axis(total, boundaries, width)
    n_outside = int(rows["outside"].sum())
    several = int(rows["n_passes"].max()) if len(rows) else 1
    averaged = f"up to {several} passes averaged in a row" if several > 1 else "one pass each"
    share = context.summary.touched_share
    known = share if len(context.measured) and not context.refusal("heatmap") else None
    title = sentences.heatmap_title(known)
    caption = (
        f"Left: the model file{'s end to end, a seam between them' if boundaries else ''} from first to last byte; "
        f"each cell is {q.size(width)} of file, "
        f"its colour the bytes that operations touched there in one pass (a byte used twice counts twice). Solid: "
        f"read through the mapping. Hatched: copied at load and read from memory, "
        f"drawn where the bytes came from. Right: bytes touched in runtime buffers in the same pass. "
        f"n = {sentences.heatmap_rows(len(rows) - n_outside, n_outside, n_rows)}, {averaged}. "
        f"{'Warm-up stands apart above the gap and is in no statistic. ' if n_outside else ''}"
        "Loading runs no operation and is not drawn."
        f"{f' {context.gaps} They are not drawn.' if context.gaps else ''}"
        f"{f' {context.padded}' if context.padded else ''}"
    )
    alt = f"Heatmap of {q.counted(n_rows, 'row')} of passes by {n_bins} stretches of file, {q.size(total)}. "
    alt += q.ended(title)
    empty = (
        "The trace names no model file."
        if not total
        else "The run has no pass that evaluates a graph: it only loaded the model."
        if rows.empty
        else "No pass touched a byte of the model file."
        if joined.empty
        else ""
    )
    return context.figure(
        "heatmap",
        "memory",
        title,
        caption,
        alt,
        lambda: heatmap_chart.chart(
            joined, rows, heatmap.bands(tables, "layer"), heatmap.bands(tables, "component"), touched, axis, top
        ),
        data=cells_,
        empty=empty,
        numbers={"n_bins": n_bins},
    )


def _groups(context: Context) -> TableView:
    reason = context.refusal("tensor-groups")
    data = coverage.group_use(context.tensor_use, theme.GROUP_OF)
    rows = [
        cells(
            Cell(r["group"], dot=r["group"]),
            _num(q.count(r["n_tensors"])),
            _size(r["size_bytes"]),
            _size(r["mapped_bytes"]),
            _size(r["copied_bytes"]),
            _share(r["touched_bytes"], r["size_bytes"]),
        )
        for r in ([] if reason else data.to_dict("records"))
    ]
    head = (
        Head("Group"),
        Head("Tensors", number=True),
        Head("Size", "MiB", True),
        Head("Used, mapped", "MiB", True),
        Head("Used, copied", "MiB", True),
        Head("Used at least once", number=True),
    )
    return table(
        "tensor-groups",
        "How much of each part of the model is used?",
        f"Bytes of tensors in the file, and of them those that at least one of "
        f"{q.counted(len(context.measured), 'measured pass')} used; each byte counts once. {_noted(context)}",
        head,
        rows,
        reason or "The trace names no tensor.",
        context.csv("tensor-groups", data),
    )


def _biggest(context: Context) -> TableView:
    use = context.tensor_use.sort_values(["size_bytes", "tensor"], ascending=[False, True])
    reason = context.refusal("biggest-tensors")
    rows = [
        cells(
            Cell(q.printable(r["name"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            Cell(str(r["dtype"]), code=True),
            _num(q.count(r["offset"])),
            _size(r["size_bytes"]),
            str(r["memory"]) if q.known(r["memory"]) else "never used",
            _share(r["touched_bytes"], r["size_bytes"]),
        )
        for r in ([] if reason else use.head(15).to_dict("records"))
    ]
    head = (
        Head("Tensor"),
        Head("Component"),
        Head("Type"),
        Head("Offset", "bytes", True),
        Head("Size", "MiB", True),
        Head("Memory"),
        Head("Used at least once", number=True),
    )
    return table(
        "biggest-tensors",
        "Which tensors are biggest?",
        f"The {len(rows)} largest of {len(use)} tensors; offset in the tensor's own file; share of bytes used by a "
        f"measured pass. The CSV has all. {_noted(context)}",
        head,
        rows,
        reason or "The trace names no tensor.",
        context.csv("tensors-use", use),
    )


def _never(context: Context) -> TableView:
    use = context.tensor_use
    never = use[use["n_passes"] == 0].sort_values(["size_bytes", "tensor"], ascending=[False, True])
    reason = context.refusal("never-touched")
    never = never.head(0) if reason else never
    told = sentences.never_touched(len(never), len(use), int(never["size_bytes"].sum()))
    rows = [
        cells(
            Cell(q.printable(r["name"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            _num(q.count(r["offset"])),
            _size(r["size_bytes"]),
        )
        for r in never.head(200).to_dict("records")
    ]
    cut = f" The first 200 of {len(never)}; the CSV has all." if len(never) > 200 else ""
    nothing = (
        "No pass was measured."
        if not len(context.measured)
        else "Every tensor was touched."
        if len(use)
        else "The trace names no tensor."
    )
    return table(
        "never-touched",
        "Which tensors were never touched?",
        OUTSIDE if reason else f"{told}{cut} {OUTSIDE}",
        (Head("Tensor"), Head("Component"), Head("Offset", "bytes", True), Head("Size", "MiB", True)),
        rows,
        reason or nothing,
        context.csv("never-touched", never),
    )


def buffers_figure(context: Context) -> FigureView:
    """What the runtime's buffers held over the life of the process."""
    level = buffers.occupancy(context.tables)
    passes = context.tables["passes"]
    ends = passes["end_ns"].dropna()
    begin = min([*(level["time_ns"].head(1)), *(passes["begin_ns"].head(1))], default=0)
    end = int(ends.max()) - begin if len(ends) else 0
    data = level.assign(time_ns=level["time_ns"] - begin)
    return context.figure(
        "buffers",
        "memory",
        "How much do the runtime's buffers hold?",
        "Bytes allocated and not yet freed, by what the buffer holds; n = "
        f"{q.counted(len(buffers.allocations(context.tables)), 'event')} (allocations "
        "and frees of more than 0 bytes). The file mapping, which llama.cpp wraps in a buffer too, takes no memory of "
        "its own and is not in it.",
        f"Stacked area of allocated bytes over time; peak {q.size(buffers.total_peak(context.tables))}.",
        lambda: buffers_chart.chart(data, end),
        data=data,
        empty="" if len(level) else "The trace holds no allocation.",
    )


def _peaks(context: Context) -> TableView:
    made, reason = buffers.peaks(context.tables), context.refusal("buffer-peaks")
    rows = [
        cells(str(r["group"]), _num(q.count(r["n_buffers"])), _size(r["peak_bytes"]))
        for r in ([] if reason else made.to_dict("records"))
    ]
    return table(
        "buffer-peaks",
        "What is the most each kind of buffer held?",
        f"Peak of the bytes allocated at one time, per group.{context.noted('buffer-peaks')}",
        (Head("Group"), Head("Allocations", number=True), Head("Peak", "MiB", True)),
        rows,
        reason or "The trace holds no allocation.",
        context.csv("buffer-peaks", made),
    )


def _noted(context: Context) -> str:
    return f"{OUTSIDE} {context.gaps}".strip() + context.noted("tensor-groups")


def _num(text: str) -> Cell:
    return Cell(text, number=True)


def _share(used: Any, size: int) -> Cell:
    """Which part of `size` bytes was used, with its bar; none when that is unknown."""
    if not q.known(used) or not size:
        return Cell(q.UNKNOWN, number=True)
    return Cell(q.percent(used / size), number=True, bar=used / size)


def _size(value: Any) -> Cell:
    if not q.known(value):
        return Cell(q.UNKNOWN, number=True)
    mib = float(value) / 2**20
    return Cell(q.decimal(mib, 3 if 0 < mib < 1 else 2), number=True, exact=f"{q.count(value)} bytes")
