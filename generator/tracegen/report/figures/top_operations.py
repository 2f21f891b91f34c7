"""The nodes of the graph that took most time."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracegen.analysis import timing
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_times
from tracegen.report.figures.cells import Cell, Head
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table

LATE = "One late thread lengthens it; work and waiting are sums over threads instead. "


def _mean_us(total_ns: Any, n: int) -> str:
    """The mean in µs; a dash where nothing was recorded."""
    return q.decimal(float(total_ns) / n / 1e3, 2) if q.known(total_ns) else "–"


def _content(context: Context) -> Rows:
    """The nodes that took most time, each linked to its longest execution."""
    phase = context.phase
    rows = timing.top_ops(context.timed, phase)
    shown = []
    longest = float(rows["share"].max()) if len(rows) else 1.0
    for row in rows.to_dict("records"):
        layer = "" if pd.isna(row["layer"]) else str(row["layer"])
        mean = float(row["duration_ns"]) / row["n_ops"]
        shown.append(
            (
                Cell(
                    q.printable(row["name"]),
                    href=f"operations/index.html#pass={row['pass_id']}&node={row['node']}",
                    code=True,
                ),
                Cell(q.printable(row["op"]), code=True),
                Cell(layer, number=True),
                Cell(str(row["component"]), dot=theme.group(row["component"])),
                Cell(q.percent(row["share"]), number=True, bar=float(row["share"]) / longest if longest else 0),
                Cell(q.decimal(mean / 1e3, 2), number=True),
                *(Cell(_mean_us(row[c], row["n_ops"]), number=True) for c in timing.SUMS[1:]),
                Cell(q.count(row["n_ops"]), number=True),
            )
        )
    head = (
        Head("Result"),
        Head("Operation"),
        Head("Layer", number=True),
        Head("Component"),
        Head("Share", "of operations’ time", True),
        Head("Wall time", "µs", True),
        Head("Work", "µs", True),
        Head("Waiting inside", "µs", True),
        Head("Waiting after", "µs", True),
        Head("n", number=True),
    )
    return Rows(
        caption=f"The {len(shown)} results with the largest wall time, summed over {phase} passes and over nodes of "
        f"equal name. {shared_times.wall(context)} "
        f"{'' if context.gap_times else LATE}"
        f"Numbers in µs are means of the n executions; the link leads to the longest one. {OUTSIDE}",
        head=head,
        rows=shown,
        data=rows,
        empty=shared_times.NO_TIMES,
        numbers={"phase": phase},
    )


TOP_OPERATIONS = Table(
    key="top-operations",
    page="overview",
    section="more-time",
    title="Which operations take most time?",
    needs=(*needs.TIMES, needs.NAMES),
    content=_content,
    explanation=Explanation(
        f"Wall time of each node of the graph, summed over its executions. {shared_times.EXPLAINED}",
        f"{shared_times.COUNTED} The 15 nodes with the largest sum, of one phase: generate if there is such a pass.",
        "A share is of the wall time of all operations of the phase. A wall time far above work divided by threads "
        "means waiting. Work includes waiting for a page of the file or for a processor. The link opens the longest "
        "execution.",
        code=shared_times.TIMED + 'data = timing.top_ops(timed, "$phase")',
    ),
)
