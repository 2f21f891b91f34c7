"""The tables of where the waiting is: by kind of operation, and the nodes where threads wait most."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracegen.analysis import waiting
from tracegen.charts import theme
from tracegen.figures.context import OUTSIDE, Context
from tracegen.pages.views import Cell, Head, TableView, cells, table
from tracegen.words import quantities as q
from tracegen.words import sentences

MOST_KINDS, MOST_NODES = 25, 15
ALONE = "One thread computed: it waited for no other."
TIMES = (
    Head("Executed", number=True),
    Head("Work", "ms", True),
    Head("Waiting inside", "ms", True),
    Head("Waiting after", "ms", True),
    Head("Waiting, of thread time", number=True),
)


def by_kind(context: Context) -> TableView:
    """Waiting per kind of operation and component."""
    made = waiting.by(context.ops, context.measured, waiting.KIND)
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    reason = context.refusal("waiting-kinds") or (ALONE if n_threads == 1 else "")
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
        _title(context, made, reason),
        f"{_counted(context)} One row per kind of operation and component.{cut}",
        head,
        rows,
        reason or _empty(context),
        context.csv("waiting-kinds", made.drop(columns=["pass_id", "at_node"])),
    )


def worst_nodes(context: Context) -> TableView:
    """The nodes of the graph where threads waited most; a link leads to the op that waited most of each."""
    made = waiting.by(context.ops, context.measured, waiting.NODE)
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    reason = context.refusal("waiting-nodes") or (ALONE if n_threads == 1 else "")
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


def _title(context: Context, made: pd.DataFrame, reason: str) -> str:
    if reason or made.empty or not made["share"].notna().any():
        return sentences.waiting_title(None, "", 0, 0)
    top, together = made.iloc[0], float(made["waiting_ns"].sum())
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    return sentences.waiting_title(
        float(made["share"].sum()),
        f"{q.printable(top['op'])}, component {top['component']}",
        float(top["waiting_ns"]) / together if together else 0.0,
        n_threads,
    )


def _counted(context: Context) -> str:
    return (
        f"Sums over all threads and {q.counted(len(context.measured), 'measured pass')}. Waiting inside: at barriers "
        "of the operation itself; waiting after: from the end of the thread’s part to its next operation (with one "
        "thread nobody is waited for: it is the way to the next operation). Share: both, of the duration of these "
        f"passes times their threads. {OUTSIDE}"
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
