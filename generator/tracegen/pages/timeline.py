"""The timeline page: one token on its threads, any other token by script, and where the waiting is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracegen.analysis import timeline as analysis
from tracegen.analysis.passes import OUTSIDE as OUTSIDE_KINDS
from tracegen.charts import theme
from tracegen.charts import timeline as timeline_chart
from tracegen.figures.context import Context
from tracegen.pages.explorers.span_chunks import Carried, write_spans
from tracegen.pages.views import FigureView
from tracegen.pages.waiting import by_kind, worst_nodes
from tracegen.words import quantities as q
from tracegen.words import sentences

NO_PASS = "No pass was measured: the run only loaded and warmed up."
NO_SPANS = "The trace holds no thread's times for a measured pass."


def timeline(context: Context) -> dict[str, Any]:
    """Everything the template of the timeline page prints; writes the chunks."""
    shown = typical_pass(context)
    carried = write_spans(context, [] if shown is None else [shown])
    if shown is None and carried.chunk:
        shown = min(carried.chunk)
    refused = context.refusal("timeline")
    passes = [] if refused or not carried.chunk else _passes(context, carried)
    return {
        "figure": threads_figure(context),
        "passes": [p for p in passes if p["chunk"] is not None],
        "shown": shown,
        "note": _note(context, carried),
        "state": {
            "shown": shown,
            "passes": passes,
            "groups": dict(theme.GROUP_OF),
            "colours": {name: variable for name, (variable, _, _) in theme.GROUPS.items()},
            "kinds": _kinds(context),
            "data": "../data/spans/",
            "operations": "../operations/index.html",
        },
        "kinds": by_kind(context),
        "nodes": worst_nodes(context),
    }


def typical_pass(context: Context) -> int | None:
    """The generate pass of median length, else the prompt pass of median length; None when no pass has spans."""
    m = context.measured.dropna(subset=["duration_ns", "graph"])
    m = m[m["pass_id"].isin(context.tables["spans"]["pass_id"])]
    part = m[(m["kind"] == "generate").to_numpy(bool)] if (m["kind"] == "generate").any() else m
    if part.empty:
        return None
    ordered = part.sort_values(["duration_ns", "pass_id"])
    return int(ordered["pass_id"].iloc[(len(ordered) - 1) // 2])


def threads_figure(context: Context, pass_id: int | None = None) -> FigureView:
    """The threads during a measured pass, or one typical token."""
    asked, pass_id = pass_id, typical_pass(context) if pass_id is None else pass_id
    known = set(context.measured["pass_id"]) & set(context.tables["spans"]["pass_id"])
    if pass_id is None or pass_id not in known:
        return context.figure(
            "timeline",
            "timeline",
            "What do the threads do during a token?",
            "",
            "",
            lambda: None,
            data=pd.DataFrame(),
            empty=f"Pass {asked} is no measured pass of which the trace holds the threads' times."
            if asked is not None
            else NO_PASS
            if context.measured.empty
            else NO_SPANS,
        )
    rows, width = analysis.segments(context.tables, pass_id)
    spans = context.tables["spans"]
    sums = spans.loc[spans["pass_id"] == pass_id, ["work_ns", "barrier_ns", "wait_ns"]].sum()
    label, n = context.labels[pass_id], int(rows["thread"].nunique())
    lasted = context.measured.set_index("pass_id")["duration_ns"].get(pass_id)
    whole = float(sums.sum()) if lasted is None or pd.isna(lasted) else float(lasted) * n
    work, inside, after = (float(sums[name]) / whole if whole else 0.0 for name in ("work_ns", "barrier_ns", "wait_ns"))
    binned = f" Binned to {q.duration(width)}: each bin shows what took most of it." if width else ""
    return context.figure(
        "timeline",
        "timeline",
        sentences.threads_during(label, work, n),
        f"Pass {pass_id}, {q.counted(n, 'thread')}, {q.duration(lasted)}; the generate pass of median length where "
        f"there is one. Time on the clock since the pass began; colour: work by component group, or waiting; blank: "
        f"outside operations. Work holds the waiting for the disk; work and waiting hold time without a processor. "
        f"Within an operation the waiting is drawn after the work; where it lay is not recorded.{binned} Warm-up and "
        f"load are never chosen.",
        f"Timeline of {q.counted(n, 'thread')} during {label}. Of thread time: {q.percent(work)} work, "
        f"{q.percent(inside)} waiting inside operations, {q.percent(after)} "
        f"{analysis.ALONE if n == 1 else 'after them'}.",
        lambda: timeline_chart.chart(rows),
        data=rows,
        empty="" if len(rows) else NO_SPANS,
        numbers={"pass_id": pass_id},
    )


def _passes(context: Context, carried: Carried) -> list[dict[str, Any]]:
    """Every pass as the strip shows it: kind, duration, and the chunk of its spans where it has one."""
    every = context.tables["passes"].sort_values("pass_id")
    return [
        {
            "id": int(p["pass_id"]),
            "label": context.labels[int(p["pass_id"])],
            "kind": str(p["kind"]) if q.known(p["kind"]) else q.UNKNOWN,
            "outside": p["kind"] in OUTSIDE_KINDS,
            "ns": None if pd.isna(p["end_ns"]) else int(p["end_ns"]) - int(p["begin_ns"]),
            "graph": None if pd.isna(p["graph"]) else int(p["graph"]),
            "chunk": carried.chunk.get(int(p["pass_id"])),
        }
        for p in every.to_dict("records")
        if p["kind"] != "load"
    ]


def _kinds(context: Context) -> list[str]:
    """The kinds of operation that have a colour of their own: those with most work in measured passes."""
    ops = context.ops[context.ops["pass_id"].isin(context.measured["pass_id"])].dropna(subset=["work_ns"])
    work = ops.astype({"op": "object"}).groupby("op")["work_ns"].sum().reset_index()
    ordered = work.sort_values(["work_ns", "op"], ascending=[False, True])
    return [q.printable(op) for op in ordered["op"].head(len(theme.GROUPS) - 1)]


def _note(context: Context, carried: Carried) -> str:
    """How many passes can be looked at, and which were left out."""
    n = len(carried.chunk)
    warmup = ", warm-up included" if (context.tables["passes"]["kind"] == "warmup").any() else ""
    told = f"{q.counted(n, 'pass')} with {q.counted(carried.n_spans, 'span')}{warmup}."
    if carried.left_out:
        told = (
            f"{q.count(n)} of {q.counted(carried.n_with_spans, 'pass')} with threads’ times, "
            f"{q.counted(carried.n_spans, 'span')}: the first, the slowest, the fastest, that of median length, and "
            "others evenly spread over the run. The table spans of the downloads has all."
        )
    if context.untimed:
        told += f" Operations on {context.untimed} have no times on threads and are not drawn."
    return told
