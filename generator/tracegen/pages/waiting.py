"""The tables of where the waiting is: by kind of operation, and the nodes where threads wait most."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracegen.analysis import waiting
from tracegen.charts import theme
from tracegen.pages import quantities as q
from tracegen.pages.context import OUTSIDE, Context
from tracegen.pages.views import Cell, Head, TableView, cells, table

MOST_KINDS, MOST_NODES = 25, 15
TIMES = (
    Head("Executed", number=True),
    Head("Work", "ms", True),
    Head("Waiting inside", "ms", True),
    Head("Waiting after", "ms", True),
    Head("Waiting, of all thread time", number=True),
)


def by_kind(context: Context) -> TableView:
    """Waiting per kind of operation and component."""
    made = waiting.by(context.ops, context.measured, waiting.KIND)
    reason = context.refusal("waiting-kinds")
    head = (Head("Operation"), Head("Component"), *TIMES)
    rows = [
        cells(
            Cell(q.printable(r["op"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            *_times(r),
        )
        for r in ([] if reason else made.head(MOST_KINDS).to_dict("records"))
    ]
    cut = f" The first {MOST_KINDS} of {len(made)} rows; the CSV has all." if len(made) > MOST_KINDS else ""
    return table(
        "waiting-kinds",
        _title(made, reason),
        f"{_counted(context)} One row per kind of operation and component.{cut}",
        head,
        rows,
        reason or _empty(context),
        context.csv("waiting-kinds", made.drop(columns=["pass_id", "at_node"])),
    )


def worst_nodes(context: Context) -> TableView:
    """The nodes of the graph where threads waited most; a link leads to the op that waited most of each."""
    made = waiting.by(context.ops, context.measured, waiting.NODE)
    reason = context.refusal("waiting-nodes")
    head = (Head("Result"), Head("Operation"), Head("Layer", number=True), Head("Component"), *TIMES)
    rows = [
        cells(
            Cell(
                q.printable(r["name"]),
                code=True,
                href=f"../operations/index.html#pass={r['pass_id']}&node={r['at_node']}",
            ),
            Cell(q.printable(r["op"]), code=True),
            Cell("" if pd.isna(r["layer"]) else str(r["layer"]), number=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            *_times(r),
        )
        for r in ([] if reason else made.head(MOST_NODES).to_dict("records"))
    ]
    return table(
        "waiting-nodes",
        "At which nodes do threads wait most?",
        f"{_counted(context)} One row per node of the graph: the {len(rows)} with most waiting of {len(made)}; the CSV "
        "has all. A name leads to the one operation of the node that waited longest.",
        head,
        rows,
        reason or _empty(context),
        context.csv("waiting-nodes", made),
    )


def _title(made: pd.DataFrame, reason: str) -> str:
    if reason or made.empty or not made["share"].notna().any():
        return "Where is the waiting?"
    share = float(made["share"].sum())
    if not share:
        return "No thread waits at a barrier"
    top = made.iloc[0]
    part = float(top["waiting_ns"]) / float(made["waiting_ns"].sum())
    return (
        f"Threads wait {q.percent(share)} of their time; {q.percent(part)} of the waiting is at "
        f"{q.printable(top['op'])} of {top['component']}"
    )


def _counted(context: Context) -> str:
    return (
        f"Sums over all threads and {q.counted(len(context.measured), 'measured pass')}. Waiting inside: at barriers "
        "of the operation itself; waiting after: from the end of the thread’s part to its next operation. Share: both, "
        f"of all work and waiting of these passes. {OUTSIDE}"
    )


def _empty(context: Context) -> str:
    if context.measured.empty:
        return "No pass was measured: the run only loaded and warmed up."
    return "The trace holds no thread’s times for a measured pass."


def _times(row: Any) -> tuple[Cell, ...]:
    share = row["share"]
    return (
        Cell(q.count(row["n_ops"]), number=True),
        *(
            Cell(q.decimal(row[name] / 1e6, 3), number=True, exact=f"{q.count(row[name])} ns")
            for name in ("work_ns", "barrier_ns", "wait_ns")
        ),
        Cell(q.percent(share), number=True, bar=float(share)) if q.known(share) else Cell(q.UNKNOWN, number=True),
    )
