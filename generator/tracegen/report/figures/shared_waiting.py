"""What the tables of waiting share: columns of times, and sentences about what they count."""

from __future__ import annotations

from typing import Any

from tracegen.contract import quantities as q
from tracegen.report.figures.cells import Cell, Head
from tracegen.report.figures.context import OUTSIDE, Context

MOST_KINDS, MOST_NODES = 25, 15
ALONE = "One thread computed: it waited for no other thread."
TIMES = (
    Head("Executed", number=True),
    Head("Work", "ms", True),
    Head("Waiting inside", "ms", True),
    Head("Waiting after", "ms", True),
    Head("Waiting, of thread time", number=True),
)
WAITED = (
    "All executed operations of measured passes whose threads have times, summed over threads. Load and warm-up are "
    "left out."
)
OPS = """
from tracegen.analysis import operations, passes, waiting
ops = operations.op_rows(run.tables)
"""


def counted(context: Context) -> str:
    """The sentences of a caption about what is summed."""
    return (
        f"Sums over all threads and {q.counted(len(context.measured), 'measured pass')}. Waiting inside: at barriers "
        "of the operation itself; waiting after: from the end of the thread’s part to its next operation (a single "
        "thread waits for nobody: this is its way to the next operation). Share: both together, as a share of the "
        f"duration of these passes times their threads; the longest bar is the largest share. {OUTSIDE}"
    )


def empty(context: Context) -> str:
    """Why there are no rows."""
    if context.measured.empty:
        return "No pass was measured: the run only loaded and warmed up."
    return "The trace holds no times of threads in a measured pass."


def times(row: Any, largest: float) -> tuple[Cell, ...]:
    """The time cells of a row; the bar of its share is as long as the share is of the `largest` share of the table."""
    share = row["share"]
    return (
        Cell(q.count(row["n_ops"]), number=True),
        *(
            Cell(q.decimal(row[name] / 1e6, 3), number=True, exact=f"{q.count(row[name])} ns")
            for name in ("work_ns", "barrier_ns", "wait_ns")
        ),
        Cell(q.percent(share), number=True, bar=float(share) / largest if largest else 0)
        if q.known(share)
        else Cell(q.UNKNOWN, number=True),
    )
