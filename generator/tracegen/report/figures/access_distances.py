"""How far the steps between accesses go."""

from __future__ import annotations

from tracegen.analysis import order
from tracegen.charts import access_distances
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words import access_sentences as say


def _content(context: Context) -> Content:
    """Steps of the told phase by distance."""
    phase = shared_access.phase(context)
    told = shared_access.of_phase(context, phase)["pass_id"]
    touched = context.disk_accesses
    rows = order.distances(touched, told)
    moves = order.steps(touched[touched["pass_id"].isin(told)])
    moves = moves[(moves["kind"] != "overlapping").to_numpy(bool)]
    half = float(moves["gap_bytes"].abs().median()) if len(moves) else None
    n_same = int((order.steps(touched)["kind"] == "overlapping").sum()) if len(touched) else 0
    title = say.distances_title(half, phase)
    return Content(
        title=title,
        caption=f"Steps of all {phase} passes by the bytes that lie between the end of an access and the begin of the "
        f"next. n = {q.counted(int(rows['n_steps'].sum()), 'step')} of {q.counted(len(told), 'pass')}"
        f"{'; overlapping steps have no distance' if n_same else ''}.{shared_access.left_out(context)}",
        alt=f"Bars of steps by distance, forward and backward. {q.ended(title)}",
        chart=lambda width: access_distances.chart(rows, width=width),
        data=rows,
        empty=shared_access.nothing(context) or ("" if len(rows) else "No pass has a step that has a distance."),
        numbers={"phase": phase},
    )


ACCESS_DISTANCES = Figure(
    key="access-distances",
    page="access",
    section="order",
    title="How far do the steps go?",
    needs=needs.BYTES,
    content=_content,
    explanation=Explanation(
        f"The distances of steps between accesses, by powers of two. {say.STEP}",
        f"{shared_access.MEASURED} A distance counts the bytes between, either way; 0 is contiguous.",
        "Bars at the left are steps that read-ahead bridges: usually up to 128 KiB. Bars at the right lead into "
        "another part of the file.",
        code=shared_access.ACCESSES
        + """passes = order.by_pass(run.tables, touched)
told = passes.loc[(passes["kind"] == "$phase") & (passes["n_accesses"] > 0), "pass_id"]
data = order.distances(touched, told)""",
    ),
)
