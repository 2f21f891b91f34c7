"""What passes in a row touch together, and what the next one needs anew."""

from __future__ import annotations

from tracegen.charts import working_set as working_set_chart
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words import cache_sentences as say

QUESTION = "How much do tokens in a row need together?"
MIDDLE = 16  # passes in a row that the title tells of, beside one and all


def _content(context: Context) -> Content:
    """The working set by number of passes."""
    found = context.windows
    kind, n, granule = found.kind, len(found.pass_ids), context.granule_bytes
    told = [(length, found.of(length)) for length in dict.fromkeys((1, MIDDLE, n))]
    title = say.working_set_title(kind, granule, [(length, size) for length, size in told if size is not None])
    return Content(
        title=title,
        caption=f"Different granules of {q.size(granule)} of the mapped file, each once. Touched together: mean over "
        f"all windows of that many {kind} passes in a row; band: the smallest and the largest window. Needed anew: the "
        "part of a pass’s granules that none of so many passes before it touched. "
        f"n = {q.counted(n, f'{kind} pass', f'{kind} passes')}.{shared_access.left_out(context)}",
        alt=f"Two lines over the number of passes in a row, from 1 to {q.count(n)}. {q.ended(title)}",
        chart=lambda width: working_set_chart.chart(found.table, f"{kind} passes", width=width),
        data=found.table,
        empty=shared_access.nothing(context) or ("" if n > 1 else say.ONE_PASS),
        numbers={"passes": list(found.pass_ids), "granule_bytes": granule},
        values={
            f"working_set_bytes_{'all' if length == n else length}": (size, "bytes", q.size(size))
            for length, size in told
            if size is not None
        },
    )


WORKING_SET = Figure(
    key="working-set",
    page="caches",
    section="caches",
    title=QUESTION,
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "The working set: what passes in a row touch together, and how much of it the next pass needs that was not "
        "among it.",
        f"{shared_access.MEASURED} Generate passes, or prompt passes in a run without any.",
        "Memory of the size of the first line holds what so many passes need; then each pass reads the second line. A "
        "model of which each token reads the same bytes has a flat first line, and nothing anew. Where the first line "
        "still rises at its right end, the run is too short to have seen all that tokens need.",
        code=shared_access.ACCESSES.replace("accesses, order", "accesses, granules, order, working_set")
        + "data = working_set.windows(granules.granule_uses(touched, $granule_bytes), $passes, $granule_bytes).table",
    ),
)
