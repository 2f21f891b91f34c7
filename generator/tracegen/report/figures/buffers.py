"""What the runtime's buffers hold."""

from __future__ import annotations

from tracegen.analysis import buffers
from tracegen.charts import buffers as buffers_chart
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure


def _content(context: Context) -> Content:
    """What the runtime's buffers held over the life of the process."""
    level = buffers.occupancy(context.tables)
    passes = context.tables["passes"]
    ends = passes["end_ns"].dropna()
    begin = min([*(level["time_ns"].head(1)), *(passes["begin_ns"].head(1))], default=0)
    end = int(ends.max()) - begin if len(ends) else 0
    data = level.assign(time_ns=level["time_ns"] - begin)
    return Content(
        caption="Bytes allocated and not yet freed, by what the buffer holds; n = "
        f"{q.counted(len(buffers.allocations(context.tables)), 'event')} (allocations "
        "and frees of more than 0 bytes). llama.cpp wraps the mapped model file in a buffer too; it takes no memory of "
        "its own and is left out.",
        alt=f"Stacked area of allocated bytes over time; peak {q.size(buffers.total_peak(context.tables))}.",
        chart=lambda width: buffers_chart.chart(data, end, width=width),
        data=data,
        empty="" if len(level) else "The trace holds no allocation.",
    )


BUFFERS = Figure(
    key="buffers",
    page="memory",
    section="kinds",
    title="How much do the runtime's buffers hold?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE),
    content=_content,
    explanation=Explanation(
        "Bytes allocated by the runtime and not yet freed, by what the buffer holds.",
        "All allocations and frees since the trace began, load and warm-up included. The mapped model file takes no "
        "memory of its own and is left out.",
        "A step up is an allocation, a step down a free. The lower part of the heatmap shows which bytes of the "
        "buffers were touched.",
        code="""
from tracegen.analysis import buffers
level = buffers.occupancy(run.tables)
begin = min([*level["time_ns"].head(1), *run.passes["begin_ns"].head(1)])
data = level.assign(time_ns=level["time_ns"] - begin)
""",
    ),
)
