"""What each thread does during one pass."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import timeline
from tracegen.charts import timeline as timeline_chart
from tracegen.figures import needs
from tracegen.figures.context import Context
from tracegen.figures.explanation import Explanation
from tracegen.figures.figure import Content, Figure
from tracegen.words import quantities as q
from tracegen.words import sentences

NO_PASS = "No pass was measured: the run only loaded and warmed up."
NO_SPANS = "The trace holds no times of threads in a measured pass."


def _content(context: Context, pass_id: int | None = None) -> Content:
    """The threads during a measured pass, or one typical token."""
    asked, pass_id = pass_id, context.typical_pass if pass_id is None else pass_id
    known = set(context.measured["pass_id"]) & set(context.tables["spans"]["pass_id"])
    if pass_id is None or pass_id not in known:
        return Content(
            caption="",
            alt="",
            chart=lambda: None,
            data=pd.DataFrame(),
            empty=f"Pass {asked} is not a measured pass with times of threads in the trace."
            if asked is not None
            else NO_PASS
            if context.measured.empty
            else NO_SPANS,
        )
    rows, width = timeline.segments(context.tables, pass_id)
    spans = context.tables["spans"]
    sums = spans.loc[spans["pass_id"] == pass_id, ["work_ns", "barrier_ns", "wait_ns"]].sum()
    label, n = context.labels[pass_id], int(rows["thread"].nunique())
    lasted = context.measured.set_index("pass_id")["duration_ns"].get(pass_id)
    whole = float(sums.sum()) if lasted is None or pd.isna(lasted) else float(lasted) * n
    work, inside, after = (float(sums[name]) / whole if whole else 0.0 for name in ("work_ns", "barrier_ns", "wait_ns"))
    binned = f" Binned to {q.duration(width)}: each bin shows what took most of its time." if width else ""
    return Content(
        title=sentences.threads_during(label, work, n),
        caption=f"Pass {pass_id}, {q.counted(n, 'thread')}, {q.duration(lasted)}; the generate pass of median length "
        f"if there is one. Time since the pass began. Colour: work by component group, or waiting; blank: outside "
        f"operations. Work includes waiting for the disk; work and waiting include time without a processor. Waiting "
        f"inside an operation is drawn after its work; where in it is not recorded.{binned} Load and warm-up are "
        f"never chosen.",
        alt=f"Timeline of {q.counted(n, 'thread')} during {label}. Of thread time: {q.percent(work)} work, "
        f"{q.percent(inside)} waiting inside operations, {q.percent(after)} "
        f"{timeline.ALONE if n == 1 else 'after them'}.",
        chart=lambda: timeline_chart.chart(rows),
        data=rows,
        empty="" if len(rows) else NO_SPANS,
        numbers={"pass_id": pass_id},
    )


TIMELINE = Figure(
    key="timeline",
    page="timeline",
    section="pass",
    title="What do the threads do during a token?",
    needs=needs.TIMES,
    content=_content,
    explanation=Explanation(
        "What each thread does at each moment of one pass: work in an operation, waiting at a barrier inside it, or "
        "waiting after it for the other threads.",
        "One pass: the generate pass of median length, else a prompt pass. Load and warm-up are never chosen.",
        "Each lane is a thread. Colour is work, by component group; pale stretches are waiting. Wide pale stretches in "
        "all lanes but one show a thread that all others wait for.",
        code="""
from tracegen.analysis import timeline
data, bin_ns = timeline.segments(run.tables, $pass_id)
""",
    ),
)
