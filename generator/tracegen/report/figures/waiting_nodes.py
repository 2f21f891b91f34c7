"""The nodes of the graph where threads wait most."""

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


def _content(context: Context) -> Rows:
    """The nodes of the graph where threads waited most, each with a link to the execution that waited most."""
    table = waiting.by(context.ops, context.measured, waiting.NODE)
    _, n_threads = waiting.thread_time(context.ops, context.measured)
    alone = shared_waiting.ALONE if n_threads == 1 else ""
    head = (Head("Result"), Head("Operation"), Head("Layer", number=True), Head("Component"), *shared_waiting.TIMES)
    shown = table.head(0 if alone else shared_waiting.MOST_NODES)
    largest = float(shown["share"].max()) if shown["share"].notna().any() else 0.0
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
            *shared_waiting.times(r, largest),
        )
        for r in shown.to_dict("records")
    ]
    return Rows(
        caption=f"{shared_waiting.counted(context)} One row per node of the graph: the {len(rows)} nodes with most "
        f"waiting of {len(table)}; the CSV has all. A name leads to the execution of the node that waited longest.",
        head=head,
        rows=rows,
        data=table,
        empty=alone or shared_waiting.empty(context),
    )


WAITING_NODES = Table(
    key="waiting-nodes",
    page="timeline",
    section="waiting",
    title="At which nodes do threads wait most?",
    needs=(*needs.TIMES, needs.NAMES),
    content=_content,
    explanation=Explanation(
        "How long threads worked and waited, by node of the graph.",
        f"{shared_waiting.WAITED} One row for all executions of a node.",
        "A node with far more waiting than similar nodes has parts of unequal size, or something disturbed one of its "
        "executions. The link opens the execution that waited longest.",
        code=shared_waiting.OPS + "data = waiting.by(ops, passes.measured(run.tables), waiting.NODE)",
    ),
)
