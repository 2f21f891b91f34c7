"""Where the time of a token goes, by kind of operation."""

from __future__ import annotations

from tracegen.analysis import timing
from tracegen.charts import op_kinds
from tracegen.report.figures import needs, shared_times
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure


def _content(context: Context) -> Content:
    """Time per token by kind of operation."""
    rows = timing.by(context.timed, "op", context.tokens, context.outside_ops)
    return Content(
        caption=f"{shared_times.wall(context)} Summed by ggml operation and divided by token rows; "
        f"{shared_times.phases(context)}. {shared_times.whole(context)}{'' if context.gap_times else f' {OUTSIDE}'}",
        alt=shared_times.alt("Operation time per token by kind", rows, "op"),
        chart=lambda width: op_kinds.chart(rows, width=width),
        data=rows,
        empty="" if len(rows) else shared_times.NO_TIMES,
    )


OP_KINDS = Figure(
    key="op-kinds",
    page="overview",
    section="more-time",
    title="Which kinds of operation take the time?",
    needs=(*needs.TIMES, needs.NAMES, needs.ROWS),
    content=_content,
    explanation=Explanation(
        f"Wall time of operations by their kind in ggml, per token row of the phase, and the time outside operations. "
        f"{shared_times.EXPLAINED}",
        f"{shared_times.COUNTED} {shared_times.PARTS}",
        "MUL_MAT multiplies by a weight, MUL_MAT_ID by the experts that were chosen, FLASH_ATTN_EXT or SOFT_MAX is "
        "attention, SET_ROWS and CPY write, GET_ROWS looks up rows. The figure divides the same time as the one by "
        "component.",
        code=shared_times.TIMED
        + 'data = timing.by(timed, "op", timing.tokens_by_phase(run.tables), timing.outside(run.tables))',
    ),
)
