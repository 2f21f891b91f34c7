"""How much more than the touched bytes is read, and what became of the bytes of each part of the model."""

from tracegen.analysis import ledger
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_access
from tracegen.report.figures.cells import Cell
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, no_rows
from tracegen.report.figures.residency import NO_PAGE, RECORDED
from tracegen.report.words import access_sentences as say


def _access_blocks(context: Context) -> Rows:
    phase = context.touching_phase
    pass_ids = context.touching(phase)["pass_id"]
    data = ledger.blocks(context.disk_accesses, int(context.tables["files"]["size_bytes"].sum()))
    of = data[data["pass_id"].isin(pass_ids)]
    medians = of.groupby("block_bytes")[["touched_bytes", "in_blocks_bytes"]].median().reset_index()
    title = ""
    if len(medians):
        block, touched, in_blocks = medians.iloc[-1].astype(float)
        title = say.blocks_title(block, touched, in_blocks, phase)
    return Rows(
        title=title,
        caption="Different bytes of the mapped files that a pass touched, and those of the whole blocks in which they "
        f"lie; blocks begin at multiples of their size. Medians over {q.counted(len(pass_ids), f'{phase} pass')}."
        f"{shared_access.left_out(context)}",
        data=data,
        empty=shared_access.nothing(context) or "No prompt or generate pass touched the mapped file.",
    ).of(
        medians,
        col.text("Block", lambda r: q.size(r["block_bytes"])),
        col.size("Touched by a pass", "touched_bytes"),
        col.size("In whole blocks", "in_blocks_bytes"),
        col.number("Times", lambda r: q.decimal(r["in_blocks_bytes"] / r["touched_bytes"], 2)),
    )


ACCESS_BLOCKS = shared_access.order_table(
    key="access-blocks",
    title="How much more than it touches must a token read?",
    content=_access_blocks,
    code=shared_access.ACCESSES + 'data = ledger.blocks(touched, run.tables["files"]["size_bytes"].sum())',
)


COLUMNS = (
    ("size_bytes", "Size"),
    ("loaded_bytes", "In memory after the load"),
    ("waste_bytes", "of it never touched"),
    ("touched_bytes", "Touched, mapped"),
    ("gone_bytes", "of it gone at the end"),
    ("copied_bytes", "Touched, copied"),
    ("copied_resident_bytes", "of it also in memory as file"),
    ("resident_bytes", "In memory at the end"),
)


def _access_ledger(context: Context) -> Rows:
    """A row for each group of components, and one for all."""
    page = context.fact("host", "page_bytes")
    if page is None:
        return no_rows(NO_PAGE)
    data = ledger.by_group(ledger.by_tensor(context.tables, context.used, context.unseen, page), theme.GROUP_OF)
    sums = data[list(ledger.SUMS)].sum(skipna=False)
    return Rows(
        title=say.ledger_title({str(name): value for name, value in sums.items()}),
        caption="Bytes of tensors, each once. In memory: the kernel had their page when the load, or the last pass, "
        "had ended, whoever read it. Touched: by an operation of a measured pass, in the mapping or in a copy that was "
        f"made at load. {context.bounds}",
        data=data,
        empty="The trace names no tensor.",
        numbers={"page_bytes": page},
    ).of(
        [*data.to_dict("records"), {"group": "", **sums}] if len(data) else data,
        col.text("Group", lambda r: Cell(r["group"] or "all", dot=r["group"])),
        *(col.size(label, name) for name, label in COLUMNS),
    )


ACCESS_LEDGER = shared_access.order_table(
    key="access-ledger",
    title="What was loaded and never touched, and what was touched but not in memory at the end?",
    needs=needs.FILE_USE,
    when=RECORDED,
    content=_access_ledger,
    code="""
used, unseen = accesses.ranges(run.tables), accesses.unseen(run.tables, passes.measured(run.tables)["pass_id"])
data = ledger.by_group(ledger.by_tensor(run.tables, used, unseen, $page_bytes), theme.GROUP_OF)""",
)
