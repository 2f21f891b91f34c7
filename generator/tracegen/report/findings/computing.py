"""What takes the time of a token when nothing waits for the disk: kinds of operations, parts of the model, threads."""

from __future__ import annotations

from collections.abc import Iterator

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
    phase, n = context.phase, context.tokens.get(context.phase, 0)
    if not n:
        return
    population = q.counted(n, "token")
    if not (context.gap_times or context.submitted):
        rows = context.timed.assign(group=component_groups(context.timed))
        of_kind, of_group = (
            timing.by(rows, key, context.tokens, context.outside_ops) for key in ("op", "group")
        )  # fmt: skip
        kinds = of_kind[(of_kind["phase"] == phase) & (of_kind["n_ops"] > 0)]
        groups = of_group[(of_group["phase"] == phase) & (of_group["n_ops"] > 0)]
        if len(kinds):
            top = kinds.iloc[0]
            more = tuple(
                Amount(float(share), "share", f"for {group}")
                for group, share in groups[["group", "share"]].head(N_GROUPS).itertuples(index=False)
            )
            yield Finding(
                    kind="time",
                    measure=f"Computing {q.printable(str(top['op']))}",
                    amount=Amount(float(top["share"]), "share", "of the time"),
                    beside=more,
                    scope=scope,
                    population=population,
                    effect=float(top["share"]),
                    part=COMPONENTS,
            )  # fmt: skip
    rows = context.timed[context.timed["phase"] == phase].dropna(subset=["work_ns"])
    whole, n_threads = waiting.thread_time(rows, context.measured)
    if whole and n_threads > 1:
        waited = float(rows["barrier_ns"].sum() + rows["wait_ns"].sum()) / whole
        yield Finding(
                kind="time",
                measure="Threads waiting for each other",
                amount=Amount(waited, "share", "of thread time"),
                scope=scope,
                population=f"{population}, {q.counted(n_threads, 'thread')}",
                effect=waited,
                part=WAITING_KINDS,
        )  # fmt: skip
