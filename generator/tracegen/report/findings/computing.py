"""What takes the time of a token beside waiting for the disk: kinds of operations, parts of the model, threads."""

from collections.abc import Iterator

import pandas as pd

from tracegen.analysis import timing, waiting
from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context
from tracegen.report.figures.shared_times import component_groups
from tracegen.report.figures.times import COMPONENTS
from tracegen.report.figures.waiting import WAITING_KINDS
from tracegen.report.findings.finding import Amount, Finding, Scope

N_GROUPS = 2


def findings(context: Context) -> Iterator[Finding]:
    """The kind of operation that takes most of the time of the phase, and the waiting of threads for one another."""
    scope: Scope = "generation" if context.phase == "generate" else "prompt"
    n = context.tokens.get(context.phase, 0)
    if not n:
        return
    population = q.counted(n, "token")
    if not (context.gap_times or context.submitted):
        kinds, groups = (_shares(context, key) for key in ("op", "group"))
        beside = tuple(Amount(float(share), "share", f"for {group}") for group, share in groups[:N_GROUPS].items())
        if len(kinds):
            yield Finding(
                kind="time", measure=f"Computing {q.printable(str(kinds.index[0]))}",
                amount=Amount(float(kinds.iloc[0]), "share", "of the time"), scope=scope, population=population,
                beside=beside, effect=float(kinds.iloc[0]), part=COMPONENTS,
            )  # fmt: skip
    rows = context.timed[context.timed["phase"] == context.phase].dropna(subset=["work_ns"])
    whole, n_threads = waiting.thread_time(rows, context.measured)
    if whole and n_threads > 1:
        waited = float(rows["barrier_ns"].sum() + rows["wait_ns"].sum()) / whole
        measure, split = "Threads waiting for each other", context.of_kind(context.disk_split, context.phase)
        if split["behind_ns"].any():  # what a thread waits for one at the disk counts as waiting for the disk
            waited = float(split["barrier_ns"].sum()) / float(split["duration_ns"].sum())
            measure += ", not for the disk"
        yield Finding(
            kind="time", measure=measure, amount=Amount(waited, "share", "of thread time"),
            scope=scope, population=f"{population}, {q.counted(n_threads, 'thread')}", effect=waited,
            part=WAITING_KINDS,
        )  # fmt: skip


def _shares(context: Context, key: str) -> pd.Series:
    """The share of the time of the phase that operations take, by kind or group, largest first.

    Where page faults were recorded, waiting for the disk is left out: work without faults, in the mean over threads.
    """
    timed = context.timed.assign(group=component_groups(context.timed))
    by = timing.by(timed, key, context.tokens, context.outside_ops)
    by = by[(by["phase"] == context.phase) & (by["n_ops"] > 0)]
    faults = context.tables["spans"].groupby(["pass_id", "node"])["fault_ns"].sum(min_count=1)
    if not faults.notna().any():
        return by.set_index(key)["share"].astype("float64")
    rows = timed[timed["phase"] == context.phase].dropna(subset=["work_ns", "duration_ns"])
    rows = rows.join(faults, on=["pass_id", "node"])
    n_threads = context.tables["spans"].groupby("pass_id")["thread"].nunique()
    work = (rows["work_ns"] - rows["fault_ns"].fillna(0)) / rows["pass_id"].map(n_threads)
    passes = context.of_kind(context.measured, context.phase)["duration_ns"].sum()
    return (work.groupby(rows[key]).sum().astype("float64") / float(passes)).sort_values(ascending=False)
