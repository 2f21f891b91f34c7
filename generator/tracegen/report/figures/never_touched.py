"""The tensors that no measured pass touched."""

from __future__ import annotations

from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_memory
from tracegen.report.figures.cells import Cell, Head, cells, number, size
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import sentences


def _content(context: Context) -> Rows:
    use = context.tensor_use
    never = use[use["n_passes"] == 0].sort_values(["size_bytes", "tensor"], ascending=[False, True])
    summary = sentences.never_touched(len(never), len(use), int(never["size_bytes"].sum()))
    beside = sentences.header(context.summary.header_bytes, context.summary.file_bytes)
    rows = [
        cells(
            Cell(q.printable(r["name"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            number(q.count(r["offset"])),
            size(r["size_bytes"]),
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
    return Rows(
        caption=f"{summary}{beside}{cut} {OUTSIDE}",
        head=(Head("Tensor"), Head("Component"), Head("Offset", "bytes", True), Head("Size", "MiB", True)),
        rows=rows,
        data=never,
        empty=nothing,
    )


NEVER_TOUCHED = Table(
    key="never-touched",
    page="memory",
    section="kinds",
    title="Which tensors were never touched?",
    needs=(*needs.BYTES, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        "Tensors of the file of which no operation touched a byte.",
        shared_memory.MEASURED,
        "Expect small tables that llama.cpp reads at load. Experts that no token chose are listed only if each expert "
        "is a tensor of its own.",
        code=shared_memory.USE
        + 'use = use[use["n_passes"] == 0]\ndata = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
    ),
)
