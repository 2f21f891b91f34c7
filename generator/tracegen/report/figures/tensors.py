"""How much of each part of the model, and of its tensors, was touched."""

from functools import partial

from tracegen.analysis import coverage
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell, cells, number, size
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import terms
from tracegen.report.words.sentences import OUTSIDE

USE = "use = coverage.measured_use(run.tables)\n"
_table = partial(Table, section="file", needs=needs.FILE_USE)


def _tensor_groups(context: Context) -> Rows:
    data = coverage.group_use(context.tensor_use, theme.GROUP_OF)
    head, rows = col.laid_out(
        data,
        col.text("Group", lambda r: Cell(r["group"], dot=r["group"])),
        col.count("Tensors", "n_tensors"),
        col.size("Size", "size_bytes"),
        col.size("Touched, mapped", "mapped_bytes"),
        col.size(f"Touched, {context.copied}", "copied_bytes"),
        col.share("Touched at least once", "touched_bytes", "size_bytes"),
    )
    if len(rows) and context.summary.header_bytes:
        rows.append(
            cells("header and padding", number(q.count(0)), size(context.summary.header_bytes), *[Cell("")] * 3)
        )
    return Rows(
        caption="Bytes of tensors in the file, and how many of them at least one of "
        f"{q.counted(len(context.measured), 'measured pass')} touched; each byte counts once. Header and padding are "
        f"what the files hold beside tensors: no operation reads them. {context.bounds}",
        head=head,
        rows=rows,
        data=data,
        empty="The trace names no tensor.",
    )


TENSOR_GROUPS = _table(
    key="tensor-groups",
    title="How much of each part of the model is touched?",
    content=_tensor_groups,
    code=USE + "data = coverage.group_use(use, theme.GROUP_OF)",
)


def _biggest_tensors(context: Context) -> Rows:
    use = context.tensor_use.sort_values(["size_bytes", "tensor"], ascending=[False, True])
    return Rows(
        caption=f"The {min(len(use), 15)} largest of {len(use)} tensors; offset in the tensor's own file; share of "
        f"bytes that a measured pass touched. The CSV has all tensors. {context.bounds}",
        data=use,
        file="tensors-use",
        empty="The trace names no tensor.",
    ).of(
        use.head(15),
        col.name("Tensor", "name"),
        col.component(),
        col.text("Type", lambda r: Cell(str(r["dtype"]) if q.known(r["dtype"]) else "unknown", code=True)),
        col.count("Offset", "offset", "bytes"),
        col.size("Size", "size_bytes"),
        col.text(
            "Memory",
            lambda r: terms.memory_name(r["memory"], context.copied) if q.known(r["memory"]) else "never touched",
        ),
        col.share("Touched at least once", "touched_bytes", "size_bytes"),
    )


BIGGEST_TENSORS = _table(
    key="biggest-tensors",
    title="Which tensors are biggest?",
    content=_biggest_tensors,
    code=USE + 'data = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
)


def _never_touched(context: Context) -> Rows:
    use = context.tensor_use
    never = use[use["n_passes"] == 0].sort_values(["size_bytes", "tensor"], ascending=[False, True])
    cut = f"The first 200 of {len(never)}; the CSV has all. " if len(never) > 200 else ""
    nothing = (
        "No pass was measured."
        if not len(context.measured)
        else f"Measured passes touched each of the {q.count(len(use))} tensors."
        if len(use)
        else "The trace names no tensor."
    )
    return Rows(
        answer=(
            Amount(len(never), "", f"of {q.counted(len(use), 'tensor')}"),
            Amount(int(never["size_bytes"].sum()), "bytes", "in all"),
        )
        if len(never) and len(context.measured)
        else (),
        caption=f"Tensors of which no measured pass touched a byte, the largest first. {cut}{OUTSIDE}",
        data=never,
        empty=nothing,
    ).of(
        never.head(200),
        col.name("Tensor", "name"),
        col.component(),
        col.count("Offset", "offset", "bytes"),
        col.size("Size", "size_bytes"),
    )


NEVER_TOUCHED = _table(
    key="never-touched",
    title="Which tensors were never touched?",
    content=_never_touched,
    code=USE
    + 'use = use[use["n_passes"] == 0]\ndata = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
)
