"""What takes the time of a token beside waiting for the disk: kinds of operations, parts of the model, threads."""

from collections.abc import Iterator, Mapping

import pandas as pd

from tracegen.analysis import timing, waiting
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.bandwidth import BANDWIDTH
from tracegen.report.figures.context import Context
from tracegen.report.figures.waiting import WAITING_KINDS
from tracegen.report.findings.finding import Finding, Scope

OF: Mapping[Scope, str] = {"generation": "generated tokens", "prompt": "the prompt"}


def findings(context: Context) -> Iterator[Finding]:
    """The kind of operation that takes most of the time of the phase, and the waiting of threads for one another."""
    scope: Scope = "generation" if context.phase == "generate" else "prompt"
    n = context.tokens.get(context.phase, 0)
    if not n:
        return
    population = q.counted(n, "token")
    if not (context.gap_times or context.submitted):
        shares = _computing(context)
        if len(shares):
            op = str(shares.sum(axis=1).idxmax())
            of_groups: pd.Series = shares.T[op]
            share, group = float(of_groups.sum()), str(of_groups.idxmax())
            takes, part = Amount(share, "share"), Amount(float(of_groups.max()) / share if share else 0.0, "share")
            rest = f"; {part.text} of that is for {group}" if share and len(of_groups[of_groups > 0]) > 1 else ""
            yield Finding(
                kind="time",
                text=f"Computing {q.printable(op)} takes {takes.text} of the time of {OF[scope]}{rest}.",
                amounts=(takes, part) if rest else (takes,),
                scope=scope,
                population=population,
                effect=share,
                part=BANDWIDTH,
            )
    rows = context.timed[context.timed["phase"] == context.phase].dropna(subset=["work_ns"])
    whole, n_threads = waiting.thread_time(rows, context.measured)
    if whole and n_threads > 1:
        waited = float(rows["barrier_ns"].sum() + rows["wait_ns"].sum()) / whole
        split, apart = context.of_kind(context.disk_split, context.phase), ""
        if split[["behind_ns", "paging_ns"]].any(axis=None):  # waiting behind page faults is counted with these
            waited = float(split["barrier_ns"].sum()) / float(split["duration_ns"].sum())
            apart = ", not counting page faults and waiting behind them"
        amount = Amount(waited, "share")
        yield Finding(
            kind="time",
            text=f"The {n_threads} threads wait for each other for {amount.text} of the time of {OF[scope]}{apart}.",
            amounts=(amount,),
            scope=scope,
            population=f"{population}, {q.counted(n_threads, 'thread')}",
            effect=waited,
            part=WAITING_KINDS,
        )


def _computing(context: Context) -> pd.DataFrame:
    """The share of the time of the phase that operations take: rows by kind, columns by group of components.

    That is the work of threads, in the mean over them, without page faults where these were recorded; of a trace
    without times of threads, the wall time of operations.
    """
    timed = context.timed.assign(group=timing.groups_of(context.timed))
    passes = context.of_kind(context.measured, context.phase).dropna(subset=["duration_ns"])
    rows = timed[(timed["phase"] == context.phase).to_numpy(bool)].dropna(subset=["duration_ns"])
    if len(passes):  # else the share is one of the time in operations
        rows = rows[rows["pass_id"].isin(passes["pass_id"]).to_numpy(bool)]
    time = rows["duration_ns"]
    if rows["work_ns"].notna().any():
        faults = context.tables["spans"].groupby(["pass_id", "node"])["fault_ns"].sum()
        rows = rows.dropna(subset=["work_ns"]).join(faults, on=["pass_id", "node"])
        n_threads = context.tables["spans"].groupby("pass_id")["thread"].nunique()
        time = (rows["work_ns"] - rows["fault_ns"].fillna(0)).clip(0) / rows["pass_id"].map(n_threads)
    whole = float(passes["duration_ns"].sum()) or float(time.sum())
    sums = time.groupby([rows["op"], rows["group"]]).sum().astype("float64").unstack().fillna(0.0)
    return sums / whole if whole else sums.iloc[:0]
