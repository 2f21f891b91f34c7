"""Where the time of a token goes, by component."""

from __future__ import annotations

from tracegen.analysis import timing
from tracegen.charts import components
from tracegen.report.figures import needs, shared_times
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure


def _content(context: Context) -> Content:
    """Time per token by component, prompt and generation side by side."""
    rows = timing.by(context.timed, "component", context.tokens, context.outside_ops)
    return Content(
        caption=f"{shared_times.wall(context)} Summed by component and divided by token rows; "
        f"{shared_times.phases(context)}. {shared_times.whole(context)}{'' if context.gap_times else f' {OUTSIDE}'}",
        alt=shared_times.alt("Operation time per token by component", rows, "component"),
        chart=lambda width: components.chart(rows, width=width),
        data=rows,
        values=shared_times.component_values(rows),
        empty="" if len(rows) else shared_times.NO_TIMES,
    )


COMPONENTS = Figure(
    key="components",
    page="overview",
    section="time",
    title="Where does a token's time go?",
    needs=(*needs.TIMES, needs.ROWS),
    content=_content,
    explanation=Explanation(
        f"Wall time of operations by component, per token row of the phase, and the time outside operations. "
        f"{shared_times.EXPLAINED}",
        f"{shared_times.COUNTED} {shared_times.PARTS} A fused operation has no time of its own: it is part of "
        f"the operation that computed it.",
        "Compare the bars of a panel to see where the time goes. Compare a component in both panels to see what a "
        "batch saves: a prompt evaluates many rows at once, so each row costs less computing. If the prompt is the "
        "first to read the file, its bars include waiting for the file.",
        code=shared_times.TIMED
        + 'data = timing.by(timed, "component", timing.tokens_by_phase(run.tables), timing.outside(run.tables))',
    ),
)
