"""Where threads wait: by kind of operation, and by node of the graph."""

from collections.abc import Sequence

import pandas as pd

from tracegen.analysis import waiting
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.timeline import no_times
from tracegen.report.words.sentences import OUTSIDE

MOST_KINDS, MOST_NODES = 10, 15
ALONE = "One thread computed: it waited for no other thread."
OPS = "ops = operations.op_rows(run.tables)\n"


def counted(context: Context) -> str:
    """The sentences of a caption about what is summed."""
    return (
        f"Sums over all threads and {q.counted(len(context.measured), 'measured pass')}. Waiting inside: at barriers "
        "of the operation itself; barrier wait: from the end of the thread’s part to its next operation (a single "
        "thread waits for nobody: this is its way to the next operation). Waiting: both together, as a "
        f"share of the duration of these passes times their threads; the longest bar is the largest share. {OUTSIDE}"
    )


def _longest(context: Context, of: Sequence[str], most: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Waiting by these columns: all rows, the first `most`, and why there is none; a single thread waits for nobody."""
    table = waiting.by(context.ops, context.measured, of)
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    alone = ALONE if n_threads == 1 else ""
    return table, table.head(0 if alone else most), alone or no_times(context)


def times(shown: pd.DataFrame) -> list[col.Column]:
    """The columns of times; the longest bar of a share is that of the largest share among the `shown` rows."""
    largest = float(shown["share"].max()) if shown["share"].notna().any() else 0.0

    def part(r: col.Row) -> Cell:
        bar = float(r["share"]) / largest if largest else 0
        return Cell(q.percent(r["share"]), True, bar) if q.known(r["share"]) else Cell(q.UNKNOWN, number=True)

    def ms(label: str, name: str) -> col.Column:
        return col.number(
            label, lambda r: Cell(q.decimal(r[name] / 1e6, 3), number=True, exact=f"{q.count(r[name])} ns"), "ms"
        )

    return [
        col.count("Executed", "n_ops"),
        ms("Work", "work_ns"),
        ms("Waiting inside", "barrier_ns"),
        ms("Barrier wait", "wait_ns"),
        col.number("Waiting, of thread time", part),
    ]


def _waited(table: pd.DataFrame) -> tuple[Amount, ...]:
    """How much of the time of several threads is waiting, and where most of it is."""
    if table.empty or not table["share"].notna().any():
        return ()
    top, together = table.iloc[0], float(table["waiting_ns"].sum())
    share = Amount(float(table["share"].sum()), "share", "of thread time of measured passes is waiting at barriers")
    if not together:
        return (share,)
    where = f"of that at {q.printable(top['op'])} ({top['component']})"
    return share, Amount(float(top["waiting_ns"]) / together, "share", where)


def _waiting_kinds(context: Context) -> Rows:
    table, shown, empty = _longest(context, waiting.KIND, MOST_KINDS)
    cut = f" The first {MOST_KINDS} of {len(table)} rows; the CSV has all." if len(table) > MOST_KINDS else ""
    return Rows(
        answer=() if empty == ALONE else _waited(table),
        caption=f"{counted(context)} One row per kind of operation and component.{cut}",
        data=table.drop(columns=["pass_id", "at_node"]),
        empty=empty,
    ).of(
        shown,
        col.name("Operation", "op"),
        col.component(),
        *times(shown),
    )


WAITING_KINDS = Table(
    key="waiting-kinds",
    page="timeline",
    section="waiting",
    title="Where do threads wait?",
    needs=(*needs.TIMES, needs.NAMES),
    content=_waiting_kinds,
    code=OPS
    + """
waited = waiting.by(ops, passes.measured(run.tables), waiting.KIND)
data = waited.drop(columns=["pass_id", "at_node"])
""",
)


def _waiting_nodes(context: Context) -> Rows:
    table, shown, empty = _longest(context, waiting.NODE, MOST_NODES)
    return Rows(
        caption=f"{counted(context)} One row per node of the graph: the {len(shown)} nodes with most "
        f"waiting of {len(table)}; the CSV has all. A name leads to the execution of the node that waited longest.",
        data=table,
        empty=empty,
    ).of(
        shown,
        col.node("Result", "at_node"),
        col.name("Operation", "op"),
        col.layer(),
        col.component(),
        *times(shown),
    )


WAITING_NODES = Table(
    key="waiting-nodes",
    section="time",
    title="At which nodes do threads wait most?",
    needs=(*needs.TIMES, needs.NAMES),
    content=_waiting_nodes,
    code=OPS + "data = waiting.by(ops, passes.measured(run.tables), waiting.NODE)",
)
