"""How much more than the touched bytes is read, and what became of the bytes of each part of the model."""

from collections.abc import Mapping

import pandas as pd

from tracegen.analysis import ledger
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, no_rows
from tracegen.report.figures.residency import NO_PAGE, RECORDED


def _access_blocks(context: Context) -> Rows:
    phase = context.touching_phase
    pass_ids = context.touching(phase)["pass_id"]
    data = ledger.blocks(context.disk_accesses, int(context.tables["files"]["size_bytes"].sum()))
    of = data[data["pass_id"].isin(pass_ids)]
    medians = of.groupby("block_bytes")[["touched_bytes", "in_blocks_bytes"]].median().reset_index()
    return Rows(
        answer=_in_blocks(medians, phase),
        caption="Different bytes of the mapped files that a pass touched, and those of the whole blocks in which they "
        f"lie; blocks start at multiples of their size. Medians over {q.counted(len(pass_ids), f'{phase} pass')}."
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


def _in_blocks(medians: pd.DataFrame, phase: str) -> tuple[Amount, ...]:
    """What a pass touches, and how many times as much it is in the largest blocks."""
    if medians.empty:
        return ()
    block, touched, in_blocks = medians.iloc[-1].astype(float)
    who = "a generated token" if phase == "generate" else "a pass of the prompt"
    return (
        Amount(touched, "bytes", f"of the mapped file touched by {who}"),
        Amount(in_blocks / touched, "", f"times as much in whole blocks of {q.size(block)}"),
    )


ACCESS_BLOCKS = shared_access.order_table(
    key="access-blocks",
    title="How much more than it touches must a token read in whole blocks?",
    content=_access_blocks,
    code=shared_access.ACCESSES + 'data = ledger.blocks(touched, run.tables["files"]["size_bytes"].sum())',
)


COLUMNS = (
    ("size_bytes", "Size"),
    ("loaded_bytes", "In memory after the load"),
    ("waste_bytes", "of it never touched"),
    ("touched_bytes", "Touched, mapped"),
    ("gone_bytes", "of it evicted at the end"),
    ("copied_bytes", "Touched, copied"),
    ("copied_resident_bytes", "of it also in memory as file"),
    ("resident_bytes", "In memory at the end"),
)


def _access_ledger(context: Context) -> Rows:
    """A row for each group of components, and one for all."""
    page = context.facts.host.page_bytes
    if page is None:
        return no_rows(NO_PAGE)
    data = ledger.by_group(ledger.by_tensor(context.tables, context.used, context.unseen, page), theme.GROUP_OF)
    sums = data[list(ledger.SUMS)].sum(skipna=False)
    return Rows(
        answer=wasted_and_evicted({str(name): value for name, value in sums.items()}),
        caption="Bytes of tensors, each once. In memory: the kernel had their page when the load, or the last pass, "
        "had ended, whoever read it. Touched: by an operation of a measured pass, in the mapping or in a copy that was "
        f"made at load. {context.bounds}",
        data=data,
        empty="The trace names no tensor.",
        numbers={"page_bytes": page},
    ).of(
        [*data.to_dict("records"), {"group": "", **sums}] if len(data) else data,
        col.text("Group", lambda r: Cell(r["group"] or "all", dot=r["group"])),
        *(col.size(f"Touched, {context.copied}" if name == "copied_bytes" else label, name) for name, label in COLUMNS),
    )


def wasted_and_evicted(sums: Mapping[str, object]) -> tuple[Amount, ...]:
    """What was loaded and never touched, and touched and evicted; `sums` over all tensors, null where not known."""
    known = {name: float(value) for name, value in sums.items() if q.known(value)}  # type: ignore[arg-type]
    loaded, touched = known.get("loaded_bytes"), known.get("touched_bytes")
    amounts = []
    if loaded and "waste_bytes" in known and loaded >= 0.01 * known.get("size_bytes", 0.0):
        words = f"of the {q.size(loaded)} in memory after the load was touched there by no measured pass"
        amounts.append(Amount(known["waste_bytes"] / loaded, "share", words))
    if touched and "gone_bytes" in known:
        words = "of the mapped bytes that measured passes touched was evicted by the end"
        amounts.append(Amount(known["gone_bytes"] / touched, "share", words))
    return tuple(amounts)


ACCESS_LEDGER = shared_access.order_table(
    key="access-ledger",
    title="What was loaded and never touched, and what was touched and evicted by the end?",
    needs=needs.FILE_USE,
    when=RECORDED,
    content=_access_ledger,
    code="""
used, unseen = accesses.ranges(run.tables), accesses.unseen(run.tables, passes.measured(run.tables)["pass_id"])
data = ledger.by_group(ledger.by_tensor(run.tables, used, unseen, $page_bytes), theme.GROUP_OF)""",
)
