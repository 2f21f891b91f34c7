"""The biggest tensors of the model file."""

from __future__ import annotations

from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_memory
from tracegen.report.figures.cells import Cell, Head, cells, number, share, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import terms


def _content(context: Context) -> Rows:
    use = context.tensor_use.sort_values(["size_bytes", "tensor"], ascending=[False, True])
    rows = [
        cells(
            Cell(q.printable(r["name"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            Cell(str(r["dtype"]) if q.known(r["dtype"]) else "unknown", code=True),
            number(q.count(r["offset"])),
            size(r["size_bytes"]),
            terms.memory_name(r["memory"]) if q.known(r["memory"]) else "never touched",
            share(r["touched_bytes"], r["size_bytes"]),
        )
        for r in use.head(15).to_dict("records")
    ]
    head = (
        Head("Tensor"),
        Head("Component"),
        Head("Type"),
        Head("Offset", "bytes", True),
        Head("Size", "MiB", True),
        Head("Memory"),
        Head("Touched at least once", number=True),
    )
    return Rows(
        caption=f"The {len(rows)} largest of {len(use)} tensors; offset in the tensor's own file; share of bytes "
        f"that a measured pass touched. The CSV has all tensors. {shared_memory.bounds(context)}",
        head=head,
        rows=rows,
        data=use,
        file="tensors-use",
        empty="The trace names no tensor.",
    )


BIGGEST_TENSORS = Table(
    key="biggest-tensors",
    page="memory",
    section="kinds",
    title="Which tensors are biggest?",
    needs=(*needs.BYTES, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        "Every tensor with its place in its file, and the share of its bytes that was touched. "
        f"{shared_memory.TOUCHED}",
        f"{shared_memory.MEASURED} The page lists 15 tensors; the CSV has all.",
        "Memory is where operations touched the tensor: mapped is in the mapped model file, copied is in a copy made "
        "at load.",
        code=shared_memory.USE + 'data = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
    ),
)
