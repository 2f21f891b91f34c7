"""What each thread does during one pass."""

from typing import Any

import pandas as pd

from tracegen.analysis import device_ops, passes, timeline
from tracegen.charts import timeline as timeline_chart
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import MOST_NAMED, Context
from tracegen.report.figures.figure import Content, Figure, not_drawn
from tracegen.report.figures.shared_disk import CONCERNED, read_bytes

DISK_DRAWN = (
    "Dark regions are page faults of the model file: the operation waits for the disk. The lane of the device, where "
    "its requests were recorded, shows when at least one was under way. "
)
UNKNOWN_WAITS = "Work includes waiting for the disk. "
UNPLACED = "Waiting inside an operation is drawn after its work, because its moment is not recorded. "
NO_SPANS = "The trace holds no times of threads in a measured pass."


def no_times(context: Context) -> str:
    """Why there are no times of threads."""
    none = context.measured.empty
    return "No pass was measured: the run only loaded and warmed up." if none else NO_SPANS


def _chosen(context: Context, pass_id: int | None) -> str:
    """Which pass is drawn where nobody chose one."""
    if pass_id is not None:
        return ""
    waits = shown_pass(context) != context.typical_pass
    return f"the generate pass of median length{' of those that wait for the disk' if waits else ''}, if there is one. "


def _shares(spans: pd.DataFrame, duration_ns: Any, n_threads: int) -> list[float]:
    """Work without page faults, waiting inside operations, and barrier wait, as shares of the thread time of a pass.

    If the duration of the pass is not known, the sums together are the whole.
    """
    work = spans["work_ns"] - spans["fault_ns"].fillna(0)
    sums = spans[["work_ns", "barrier_ns", "wait_ns"]].sum()
    whole = float(duration_ns) * n_threads if q.known(duration_ns) else float(sums.sum())
    return [float(ns) / whole if whole else 0.0 for ns in (work.sum(), sums["barrier_ns"], sums["wait_ns"])]


def _about_disk(context: Context, pass_id: int, *, drawn: bool) -> str:
    """What the caption says of the disk; `drawn`: a page fault or a request is in the drawing."""
    faults = context.tables["faults"]
    some = bool(((faults["pass_id"] == pass_id).fillna(False) & faults["node"].notna()).any())
    if drawn or some:
        return DISK_DRAWN
    known = context.run.has_faults and not context.refusal((needs.FAULTS,))
    return "No operation has a page fault of the model file. " if known else UNKNOWN_WAITS


def shown_pass(context: Context) -> int | None:
    """The generate pass of median length among those that wait for the disk, where any does; else the typical pass."""
    split = context.of_kind(context.disk_split, "generate")
    waits = split[(split["disk_ns"] >= CONCERNED * split["duration_ns"]).to_numpy(bool)]
    if waits.empty or read_bytes(context, waits["pass_id"]) == 0:
        return context.typical_pass
    return passes.median_pass(waits)


def _content(context: Context, pass_id: int | None = None) -> Content:
    """The threads during the measured pass `pass_id`, by default `shown_pass`."""
    spans, of_devices = context.tables["spans"], context.tables["device_ops"]
    drawn = shown_pass(context) if pass_id is None else pass_id
    timed = {*spans["pass_id"], *of_devices["pass_id"]}
    if drawn is None or drawn not in timed.intersection(context.measured["pass_id"]):
        asked = f"Pass {pass_id} is not a measured pass with times of threads in the trace."
        return not_drawn(no_times(context) if pass_id is None else asked)
    rows, width = timeline.segments(context.tables, drawn)
    label, n = context.labels[drawn], int(rows["thread"].nunique())
    if not n:
        return _of_devices(context, drawn, rows, width)
    devices = "".join(f", {q.printable(name)}" for name in sorted(rows["device"].dropna().unique()))
    duration_ns = context.measured.set_index("pass_id")["duration_ns"].get(drawn)
    work, inside, after = _shares(spans[spans["pass_id"] == drawn], duration_ns, n)
    disk = set(rows["state"]) & {timeline.DISK, timeline.DEVICE}
    binned = f"Binned to {q.duration(width)}: each bin shows what took most of its time. " if width else ""
    placed = bool((context.tables["barriers"]["pass_id"] == drawn).any())
    return Content(
        title=f"What do the threads do during {label}?",
        answer=(
            Amount(work, "share", "of thread time working"),
            Amount(inside, "share", "waiting inside operations"),
            Amount(after, "share", timeline.ALONE if n == 1 else "barrier wait"),
        ),
        caption=f"Pass {drawn}, {q.counted(n, 'thread')}{devices}, {q.duration(duration_ns)}; "
        f"{_chosen(context, pass_id)}Time since the pass began. Colour: work by component group, or waiting; blank: "
        f"outside operations. {_about_disk(context, drawn, drawn=bool(disk))}Work and waiting include "
        f"time without a processor. {'' if placed else UNPLACED}{binned}",
        alt=f"Timeline of {q.counted(n, 'thread')} during {label}.",
        chart=lambda width: timeline_chart.chart(rows, width=width),
        data=rows,
        empty="" if len(rows) else NO_SPANS,
        numbers={"pass_id": drawn},
    )


def _of_devices(context: Context, pass_id: int, rows: pd.DataFrame, width: int) -> Content:
    """The devices during a pass of a trace that has no times of threads."""
    took = device_ops.busy_ns(context.tables["device_ops"]).get(pass_id, pd.Series(dtype="int64"))
    took = took.sort_values(ascending=False, kind="stable")
    duration_ns = context.measured.set_index("pass_id")["duration_ns"].get(pass_id)
    names = [q.printable(str(name)) for name in took.index]
    label = context.labels[pass_id]
    whole = float(duration_ns) if duration_ns is not None and q.known(duration_ns) else 0.0
    busy = took[:MOST_NAMED].items() if whole else ()
    binned = f"Binned to {q.duration(width)}: each bin shows what took most of its time. " if width else ""
    return Content(
        title=f"What do the devices do during {label}?",
        answer=tuple(Amount(ns / whole, "share", f"{q.printable(str(name))} computing") for name, ns in busy),
        caption=f"Pass {pass_id}, {', '.join(names)}, {q.duration(duration_ns)}; {_chosen(context, None)}Time since "
        f"the pass began. Colour: component group; blank: the device computes nothing. {binned}",
        alt=f"Timeline of {q.counted(len(names), 'device')} during {label}.",
        chart=lambda width: timeline_chart.chart(rows, width=width),
        data=rows,
        numbers={"pass_id": pass_id},
    )


TIMELINE = Figure(
    key="timeline",
    page="timeline",
    section="pass",
    title="What do the threads do during a token?",
    needs=needs.TIMES,
    content=_content,
    wide=True,
    code="data, bin_ns = timeline.segments(run.tables, $pass_id)",
)
