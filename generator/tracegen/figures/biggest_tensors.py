"""The biggest tensors of the model file."""

from __future__ import annotations

from tracegen.charts import theme
from tracegen.figures import needs, shared_memory
from tracegen.figures.cells import Cell, Head, cells, number, share, size
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.figure import Rows, Table
from tracegen.words import quantities as q


def _content(context: Context) -> Rows:
    use = context.tensor_use.sort_values(["size_bytes", "tensor"], ascending=[False, True])
    rows = [
        cells(
            Cell(q.printable(r["name"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            Cell(str(r["dtype"]), code=True),
            number(q.count(r["offset"])),
            size(r["size_bytes"]),
            str(r["memory"]) if q.known(r["memory"]) else "never used",
            share(r["touched_bytes"], r["size_bytes"]),
        )
        for r in (use.head(15).to_dict("records"))
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
    return Rows(
        caption=f"The {len(rows)} largest of {len(use)} tensors; offset in the tensor's own file; share of bytes "
        f"used by a "
        f"measured pass. The CSV has all. {shared_memory.bounds(context)}",
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
        f"Every tensor with its place in its file, and the share of its bytes that was used. {shared_memory.TOUCHED}",
        f"{shared_memory.MEASURED} The page lists 15; the CSV has all.",
        "Memory says through what it was used: disk is the mapping of the file, copied is a copy made at load.",
        code=shared_memory.USE + 'data = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
    ),
)
