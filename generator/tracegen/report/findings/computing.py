"""What takes the time of a token beside waiting for the disk: kinds of operations, parts of the model, threads."""

from collections.abc import Iterator, Mapping

import pandas as pd

from tracegen.analysis import backends, timing, waiting
from tracegen.analysis.causes.cause import Phase, phase_of
from tracegen.analysis.work import computed_ns
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.bandwidth import BANDWIDTH
from tracegen.report.figures.context import MOST_NAMED, Context
from tracegen.report.figures.device_ops import DEVICE_OPS
from tracegen.report.figures.disk_waits import DISK_SPLIT
from tracegen.report.figures.figure import Figure, Table
from tracegen.report.figures.times import COMPONENTS
from tracegen.report.figures.waiting import WAITING_KINDS
from tracegen.report.findings.finding import Finding, Scope

APART = 0.02  # of the time: where the least and the most differ by more, both are said
LEAST = 0.01  # of the time: less waiting for a processor is not said
OF: Mapping[Scope, str] = {"generation": "generated tokens", "prompt": "the prompt"}


def findings(context: Context) -> Iterator[Finding]:
    """The kind of operation that takes most of the time of the phase, and the waiting of threads for one another."""
    scope: Scope = "generation" if context.phase == "generate" else "prompt"
    n = context.tokens.get(context.phase, 0)
    if not n:
        return
    population = q.counted(n, "token")
    yield from _elsewhere(context, scope, population)
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
    shown_by: Figure | Table = WAITING_KINDS
    if whole and n_threads > 1:
        waited = float(rows["barrier_ns"].sum() + rows["wait_ns"].sum()) / whole
        split, apart = context.of_kind(context.disk_split, context.phase), ""
        if split[["behind_ns", "paging_ns", "processor_ns"]].any(axis=None):  # counted with these
            time, shown_by = float(split["duration_ns"].sum()), DISK_SPLIT
            waited = float(split["barrier_ns"].sum()) / time
            yield from _processor(context, float(split["processor_ns"].sum()) / time, scope, population)
            known = context.tables["spans"]["preempted_ns"].notna().any()
            apart = f", not counting waits for the disk{' or for a processor' if known else ''}"
        amount = Amount(waited, "share")
        yield Finding(
            kind="time",
            text=f"The {n_threads} threads wait for each other for {amount.text} of the time of {OF[scope]}{apart}.",
            amounts=(amount,),
            scope=scope,
            population=f"{population}, {q.counted(n_threads, 'thread')}",
            effect=waited,
            part=shown_by,
        )


def _elsewhere(context: Context, scope: Scope, population: str) -> Iterator[Finding]:
    """How much of the time other backends compute, each by its name: a share, or the least and the most it can be."""
    passes = context.of_kind(context.measured, context.phase).dropna(subset=["duration_ns"])
    splits, whole = context.of_kind(context.tables["splits"], context.phase), float(passes["duration_ns"].sum())
    whole_known = not context.facts.trace.device_ops_lost
    busy = backends.busy_ns(splits, context.tables["device_ops"], whole=whole_known).groupby("backend").sum()
    busy = busy[busy["most"] > 0].sort_values(["most", "least"], ascending=False)
    if busy.empty or not whole:
        return
    if context.refusal((needs.COST,)):
        yield from _of_devices_alone(context, [str(name) for name in busy.index], scope, population)
        return
    if len(busy) > MOST_NAMED:
        others = busy[MOST_NAMED - 1 :]
        together = others.sum().to_frame(f"{q.counted(len(others), 'other', 'others')} together").T
        busy = pd.concat([busy[: MOST_NAMED - 1], together])
    texts, amounts = [], list[Amount]()
    for least, most in busy.to_numpy("float64"):
        ends = [Amount(ns / whole, "share") for ns in (least, most)]
        apart = most - least > APART * whole
        low = f"{ends[0].text} to" if least else "at most"
        texts.append(f"{low} {ends[1].text}" if apart else ends[1].text)
        amounts += ends if apart and least else ends[1:]
    names = [q.printable(name) for name in busy.index]
    more = "".join(f", {name} {share}" for name, share in zip(names[1:], texts[1:], strict=True))
    text, part = f"{names[0]} computes {texts[0]} of the time of {OF[scope]}{more}", COMPONENTS
    shown: Figure | Table = part
    if most_of := _of_device(context, str(busy.index[0])):
        amount, operation = most_of
        whose = "that" if len(names) == 1 else f"the time of {names[0]}"
        text += f"; {q.printable(operation)} takes {amount.text} of {whose}"
        amounts, shown = [*amounts, amount], DEVICE_OPS
    yield Finding(
        kind="time",
        text=f"{text}.",
        amounts=tuple(amounts),
        scope=scope,
        population=population,
        effect=float(busy["most"].sum()) / whole,
        part=shown,
    )


def _of_devices_alone(context: Context, names: list[str], scope: Scope, population: str) -> Iterator[Finding]:
    """What takes most of each device's own time, where the program was slowed down, and so its share is not known."""
    for name in names[:MOST_NAMED]:
        if most_of := _of_device(context, name):
            amount, operation = most_of
            yield Finding(
                kind="time",
                text=f"{q.printable(operation)} takes {amount.text} of the time in which {q.printable(name)} computes "
                f"for {OF[scope]}. Recording that slowed the program down, so that its share of the whole time is not "
                "said.",
                amounts=(amount,),
                scope=scope,
                population=population,
                effect=amount.value,
                part=DEVICE_OPS,
            )


def _of_device(context: Context, device: str) -> tuple[Amount, str] | None:
    """The operations of a kind that take most of a device's time, and their share; None where none are recorded."""
    rows = context.of_devices
    took = rows[rows["device"].eq(device).to_numpy(bool)].groupby("operation")["took_ns"].sum()
    return (Amount(float(took.max() / took.sum()), "share"), str(took.idxmax())) if took.any() else None


def _processor(context: Context, share: float, scope: Scope, population: str) -> Iterator[Finding]:
    """How much of the time threads wait for a processor, and whether they are too many."""
    phase, amount = phase_of(context, context.phase), Amount(share, "share")
    if phase is not None and share >= LEAST:
        yield Finding(
            kind="time",
            text=for_processor(phase, share),
            amounts=(amount,),
            scope=scope,
            population=population,
            effect=share,
            part=DISK_SPLIT,
        )


def for_processor(phase: Phase, share: float) -> str:
    """`Waiting for a processor, or for a thread that has none, takes 80.4 % of the time of generated tokens: …`"""
    of = OF["generation" if phase.name == "generate" else "prompt"]
    behind = ", or for a thread that has none," if phase.n_threads > 1 else ""
    return f"Waiting for a processor{behind} takes {q.percent(share)} of the time of {of}{too_many(phase)}."


def too_many(phase: Phase) -> str:
    """`: 4 threads share 2 processors`; empty where there is a processor for each, and none is shared."""
    if 2 * phase.shared_ns > phase.parts["processor_ns"]:
        there = f"{q.count(phase.n_processors)} for {q.counted(phase.n_threads, 'thread')}"
        return f": mostly, threads of the run were on one processor, although there are {there}"
    if not phase.n_threads > phase.n_processors > 0:
        return ""
    return f": {phase.n_threads} threads share {q.counted(phase.n_processors, 'processor')}"


def _computing(context: Context) -> pd.DataFrame:
    """The share of the time of the phase that operations take: rows by kind, columns by group of components.

    That is what threads compute, in the mean over them (see `work.computed_ns`); of a trace without times of threads,
    the wall time of operations.
    """
    timed = context.timed.assign(group=timing.groups_of(context.timed))
    passes = context.of_kind(context.measured, context.phase).dropna(subset=["duration_ns"])
    rows = timed[(timed["phase"] == context.phase).to_numpy(bool)].dropna(subset=["duration_ns"])
    if len(passes):  # else the share is one of the time in operations
        rows = rows[rows["pass_id"].isin(passes["pass_id"]).to_numpy(bool)]
    time = rows["duration_ns"]
    if rows["work_ns"].notna().any():
        spans = context.tables["spans"]
        computed = computed_ns(spans).groupby([spans["pass_id"], spans["node"]]).sum().rename("computed_ns")
        rows = rows.dropna(subset=["work_ns"]).join(computed, on=["pass_id", "node"])
        time = rows["computed_ns"].fillna(rows["work_ns"]) / rows["pass_id"].map(
            spans.groupby("pass_id")["thread"].nunique()
        )
    whole = float(passes["duration_ns"].sum()) or float(time.sum())
    sums = time.groupby([rows["op"], rows["group"]]).sum().astype("float64").unstack().fillna(0.0)
    return sums / whole if whole else sums.iloc[:0]
