"""How much of each part of the model was touched."""

from __future__ import annotations

from tracegen.analysis import coverage
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_memory
from tracegen.report.figures.cells import Cell, Head, cells, number, share, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table


def _content(context: Context) -> Rows:
    data = coverage.group_use(context.tensor_use, theme.GROUP_OF)
    rows = [
        cells(
            Cell(r["group"], dot=r["group"]),
            number(q.count(r["n_tensors"])),
            size(r["size_bytes"]),
            size(r["mapped_bytes"]),
            size(r["copied_bytes"]),
            share(r["touched_bytes"], r["size_bytes"]),
        )
        for r in data.to_dict("records")
    ]
    if len(rows) and context.summary.header_bytes:
        rows.append(
            cells("header and padding", number(q.count(0)), size(context.summary.header_bytes), *[Cell("")] * 3)
        )
    head = (
        Head("Group"),
        Head("Tensors", number=True),
        Head("Size", "MiB", True),
        Head("Touched, mapped", "MiB", True),
        Head("Touched, copied", "MiB", True),
        Head("Touched at least once", number=True),
    )
    return Rows(
        caption=f"Bytes of tensors in the file, and how many of them at least one of "
        f"{q.counted(len(context.measured), 'measured pass')} touched; each byte counts once. Header and padding are "
        f"what the files hold beside tensors: no operation reads them. {shared_memory.bounds(context)}",
        head=head,
        rows=rows,
        data=data,
        empty="The trace names no tensor.",
    )


TENSOR_GROUPS = Table(
    key="tensor-groups",
    page="memory",
    section="kinds",
    title="How much of each part of the model is touched?",
    needs=(*needs.BYTES, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        f"Bytes of the tensors of each component group, and how many of them were touched at least once. "
        f"{shared_memory.TOUCHED}",
        f"{shared_memory.MEASURED} Each byte counts once, however often it was touched.",
        "Below 100 %, tokens left something untouched: rows of the embedding, experts, or whole tensors.",
        code="from tracegen.charts import theme\n"
        + shared_memory.USE
        + "data = coverage.group_use(use, theme.GROUP_OF)",
    ),
)
