"""The figure of one token on its threads."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import timeline
from tracegen.charts import timeline as timeline_chart
from tracegen.pages import quantities as q
from tracegen.pages.context import Context
from tracegen.pages.views import FigureView


def threads_figure(context: Context) -> FigureView:
    """The threads during one typical token: the generate pass of median length, else the last prompt pass."""
    m = context.measured.dropna(subset=["duration_ns", "graph"])
    m = m[m["pass_id"].isin(context.tables["spans"]["pass_id"])]
    part = m[(m["kind"] == "generate").to_numpy()] if (m["kind"] == "generate").any() else m
    if part.empty:
        return context.figure(
            "timeline",
            "operations",
            "What do the threads do during a token?",
            "",
            "",
            lambda: None,
            data=pd.DataFrame(),
            empty="No pass was measured: the run only loaded and warmed up."
            if context.measured.empty
            else "The trace holds no thread's times for a measured pass.",
        )
    ordered = part.sort_values(["duration_ns", "pass_id"])
    pass_id = int(ordered["pass_id"].iloc[(len(ordered) - 1) // 2])
    rows, width = timeline.segments(context.tables, pass_id)
    spans = context.tables["spans"]
    sums = spans.loc[spans["pass_id"] == pass_id, ["work_ns", "barrier_ns", "wait_ns"]].sum()
    share = float(sums["work_ns"]) / max(float(sums.sum()), 1)
    label, n = context.labels[pass_id], int(rows["thread"].nunique())
    binned = f" Binned to {q.duration(width)}: each bin shows what took most of it." if width else ""
    return context.figure(
        "timeline",
        "operations",
        f"During {label}, threads work {q.percent(share)} of their time in operations",
        f"Pass {pass_id}, {q.counted(n, 'thread')}; the generate pass of median length where there is one. Time on "
        f"the clock since the pass began; colour: work by component group, or waiting. "
        f"Within an operation the waiting is drawn after the work; where it lay is not recorded.{binned} Warm-up and "
        f"load are never chosen.",
        f"Timeline of {q.counted(n, 'thread')} during {label}: {q.percent(share)} work, "
        f"{q.percent(float(sums['barrier_ns']) / max(float(sums.sum()), 1))} waiting inside operations, the rest "
        f"waiting after them.",
        lambda: timeline_chart.chart(rows),
        data=rows,
    )
