"""What if the model file stood in another order?"""

from __future__ import annotations

from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access, shared_what_if
from tracegen.report.figures.cells import Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import what_if_sentences as say


def _content(context: Context) -> Rows:
    """A row for each order; the CSV has one for each order and size of memory."""
    empty = shared_what_if.nothing(context)
    if empty:
        return Rows(caption="", head=(), rows=[], empty=empty)
    table = context.what_if
    none, half = (shared_what_if.with_memory(table, s) for s in (0.0, shared_what_if.HALF))
    memory = q.size(half["memory_bytes"].iloc[0])
    rows = [
        cells(
            row["order"],
            say.ORDERS[row["order"]],
            share(row["sequential_share"], 1) if q.known(row["sequential_share"]) else "",
            number(q.decimal(row["reads"])),
            number(q.decimal(row["time_ns"] / 1e6)),
            number(q.decimal(some["reads"])),
            number(q.decimal(some["time_ns"] / 1e6)),
        )
        for row, some in zip(none.to_dict("records"), half.to_dict("records"), strict=True)
    ]
    return Rows(
        title=say.orders_title(*shared_what_if.best(table)),
        caption=f"Means of a pass. Sequential: the share of steps between accesses that go on at most 128 KiB behind "
        f"the end of the one before. Last two columns: with {memory} of memory, half of the mapped bytes that the run "
        f"touched. {shared_what_if.caption(context)}",
        head=(
            Head("Order"),
            Head("What it is"),
            Head("Sequential", number=True),
            Head("Reads", number=True),
            Head("Time", "ms", True),
            Head("Reads, with memory", number=True),
            Head("Time, with memory", "ms", True),
        ),
        rows=rows,
        data=table,
        numbers=shared_what_if.numbers(context),
    )


WHAT_IF_ORDERS = Table(
    key="what-if-orders",
    page="access",
    section="what_if",
    title="What if the tensors stood in another order in the file?",
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "The same accesses, if the file held its tensors, or the experts inside of them, in another order: how many "
        "reads a pass would make up, and how long they would take one after the other.",
        f"{shared_access.MEASURED} Reads that lie at most 128 KiB apart in the order of use are one. An order is "
        "learned on the first 80 % of the generate passes and scored on the others. t = reads · L + bytes / B.",
        "If all orders take about the same time, reads are so large that their number hardly matters: a token pays for "
        "bytes. `tracegen reorder` writes a file in one of the orders, so that the simulation can be tried.",
        code=shared_what_if.CODE,
    ),
)
