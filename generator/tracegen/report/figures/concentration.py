"""How much of the file takes most of the reading, and most of the time."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import concentration
from tracegen.charts import concentration as concentration_chart
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words import cache_sentences as say


def _content(context: Context) -> Content:
    """The curve of each measure."""
    use = concentration.piece_use(context.tables, context.used, context.disk_accesses, context.pieces)
    curves = {name: concentration.curve(use, name) for name in concentration.MEASURES}
    drawn = [concentration.thinned(of).assign(measure=name) for name, of in curves.items()]
    data = pd.concat(drawn, ignore_index=True)[["measure", "file_share", "use_share"]]
    told = [
        f"{concentration_chart.NAMES[name]} {q.decimal(concentration.gini(of), 2)}"
        for name, of in curves.items()
        if len(of)
    ]
    touched = curves["touched_bytes"]
    title = (
        say.concentration_title(*(concentration.file_share(touched, t) for t in concentration.TARGETS))
        if len(touched)
        else ""
    )
    experts = use[use["expert"].notna() & ~use["tensor"].isin(context.unseen["tensor"])]["n_accesses"]
    return Content(
        title=title,
        caption=f"Tensors, and experts of tensors singly, in order of use per byte. Dashed: all bytes used as much. "
        f"Gini coefficient (0: as much, near 1: few bytes take all): {', '.join(told)}. An operation’s time is divided "
        f"over what it read, by bytes.{say.never_asked(int((experts == 0).sum()), len(experts))} "
        f"n = {q.counted(context.disk_accesses['pass_id'].nunique(), 'pass')}.{shared_access.left_out(context)}",
        alt=f"Curves of the share of use over the share of bytes. {q.ended(title)}",
        chart=lambda width: concentration_chart.chart(data, width=width),
        data=data,
        empty=shared_access.nothing(context),
    )


CONCENTRATION = Figure(
    key="concentration",
    page="caches",
    section="hot",
    title="How much of the file takes most of the use?",
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "Lorenz curves over bytes: which share of all touched bytes, of all accesses, and of the time of operations "
        "belongs to the most used part of the file.",
        f"{shared_access.MEASURED} A byte counts as often as it was touched. An access is an operation that touched at "
        "least one byte of a tensor or an expert. Tensors that were touched in copies only are left out.",
        "A curve far above the dashed line has a small part of the file that is used much more than the rest: what to "
        "keep in memory first. On the dashed line no part is better than another. The order of bytes knows the whole "
        "run; whether a set learned on some tokens serves others is the question of the hot set. Small tensors such as "
        "norms have few bytes and as many accesses as large ones, so that the curve of accesses rises at once.",
        code=shared_access.ACCESSES.replace("accesses, order", "accesses, concentration, order, pieces")
        + """import pandas as pd
use = concentration.piece_use(run.tables, used, touched, pieces.pieces(run.tables))
curves = {name: concentration.curve(use, name) for name in concentration.MEASURES}
drawn = [concentration.thinned(of).assign(measure=name) for name, of in curves.items()]
data = pd.concat(drawn, ignore_index=True)[["measure", "file_share", "use_share"]]""",
    ),
)
