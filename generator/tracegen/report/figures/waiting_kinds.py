"""Where threads wait, by kind of operation."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import waiting
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_waiting
from tracegen.report.figures.cells import Cell, Head, cells
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import sentences


def _title(context: Context, table: pd.DataFrame) -> str:
    if table.empty or not table["share"].notna().any():
        return sentences.waiting_title(None, "", 0, 0)
    top, together = table.iloc[0], float(table["waiting_ns"].sum())
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    return sentences.waiting_title(
        float(table["share"].sum()),
        f"{q.printable(top['op'])}, component {top['component']}",
        float(top["waiting_ns"]) / together if together else 0.0,
        n_threads,
    )


def _content(context: Context) -> Rows:
    """Waiting per kind of operation and component."""
    table = waiting.by(context.ops, context.measured, waiting.KIND)
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    alone = shared_waiting.ALONE if n_threads == 1 else ""
    head = (Head("Operation"), Head("Component"), *shared_waiting.TIMES)
    shown = table.head(0 if alone else shared_waiting.MOST_KINDS)
    largest = float(shown["share"].max()) if shown["share"].notna().any() else 0.0
    rows = [
        cells(
            Cell(q.printable(r["op"]), code=True),
            Cell(str(r["component"]), dot=theme.group(r["component"])),
            *shared_waiting.times(r, largest),
        )
        for r in shown.to_dict("records")
    ]
    cut = (
        f" The first {shared_waiting.MOST_KINDS} of {len(table)} rows; the CSV has all."
        if len(table) > shared_waiting.MOST_KINDS
        else ""
    )
    return Rows(
        title="" if alone else _title(context, table),
        caption=f"{shared_waiting.counted(context)} One row per kind of operation and component.{cut}",
        head=head,
        rows=rows,
        data=table.drop(columns=["pass_id", "at_node"]),
        empty=alone or shared_waiting.empty(context),
    )


WAITING_KINDS = Table(
    key="waiting-kinds",
    page="timeline",
    section="waiting",
    title="Where do threads wait?",
    needs=(*needs.TIMES, needs.NAMES),
    content=_content,
    explanation=Explanation(
        "How long threads worked and waited, by kind of operation and component.",
        shared_waiting.WAITED,
        "Inside an operation a thread waits for the others at the operation’s own barriers; after it, for the last "
        "thread to finish. Causes are parts of unequal size, a thread that waits for a page of the file, or a thread "
        "without a processor. Each share is of the duration of the passes times their threads; together the shares are "
        "all the waiting. A thread that computes alone waits for nobody: the time after an operation is its way to "
        "the next.",
        code=shared_waiting.OPS
        + """
waited = waiting.by(ops, passes.measured(run.tables), waiting.KIND)
data = waited.drop(columns=["pass_id", "at_node"])
""",
    ),
)
