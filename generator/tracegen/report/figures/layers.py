"""The time of each layer."""

from __future__ import annotations

from tracegen.analysis import timing
from tracegen.charts import layers, theme
from tracegen.report.figures import needs, shared_times
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure


def _content(context: Context) -> Content:
    """Time per token by layer and component group."""
    phase = context.phase
    rows = timing.by_layer(context.timed, phase, context.tokens, theme.GROUP_OF)
    return Content(
        caption=f"{shared_times.wall(context)} Summed by layer and component group and divided by token rows; {phase} "
        f"passes only, {shared_times.phases(context, phase)}. Operations outside all layers stand last, as “no layer”; "
        f"the bars leave out time outside operations. {OUTSIDE}",
        alt=f"Stacked bars of operation time per token for {rows['layer'].nunique()} layers; the data table has the "
        f"numbers.",
        chart=lambda width: layers.chart(rows, "ns_per_token", "of operation wall time per token row", width=width),
        data=rows,
        values=shared_times.layer_values(rows, phase),
        empty="" if len(rows) else shared_times.NO_TIMES,
        numbers={"phase": phase},
    )


LAYERS = Figure(
    key="layers",
    page="overview",
    section="more-time",
    title="Do all layers take the same time?",
    needs=(*needs.TIMES, needs.LAYERS, needs.ROWS),
    content=_content,
    explanation=Explanation(
        f"Wall time of operations by layer and component group, per token row. {shared_times.EXPLAINED}",
        f"{shared_times.COUNTED} One phase only: generate where there is such a pass, else prompt.",
        "Equal layers do equal work. A longer bar shows other work in that layer, or waiting for a page of the file or "
        "for a processor, perhaps in one pass only. Operations before and after all layers stand last.",
        code="from tracegen.charts import theme"
        + shared_times.TIMED
        + """
data = timing.by_layer(timed, "$phase", timing.tokens_by_phase(run.tables), theme.GROUP_OF)
""",
    ),
)
