"""How fast operations touch bytes, beside memory bandwidth, and what that shows of what bounds them."""

from dataclasses import replace

from tracegen.analysis import bandwidth, disk_waits
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Head, share
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_times
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, no_rows
from tracegen.report.words.sentences import OUTSIDE

MOST = 12
KEYS = ("op", "dtype")
RATE = (
    "Rate: the bytes that operations touched, over the time in which their threads worked, in the mean over threads; "
    "without page faults of model files and without waiting for each other. Bytes in the caches of processors come "
    "faster than memory bandwidth allows."
)
BOUND = (
    "Bound by waiting: threads surely wait for at least half of their time. Else caches: the rate is above memory "
    "bandwidth, so that caches of processors serve it. Else memory: what surely came from it, weights of a pass beyond "
    f"the size of these caches, has at least {q.percent(bandwidth.NEAR)} of its bandwidth. Else nothing is shown: the "
    "nearer the rate is to that, the more of the time may be memory’s."
)
NOTHING = "The trace does not hold both bytes and times of any operation."
OPEN, WITHHELD = "not shown", "withheld"
HOW = {"memory": "bound by memory", "caches": "served by caches", "waiting": "bound by waiting"}


def _content(context: Context) -> Rows:
    """A row for each kind of operation and type of weight; the CSV has one for each layer."""
    layers = context.operation_rates
    of_phase = layers[(layers["phase"] == context.phase).to_numpy(bool)]
    if of_phase.empty:
        return no_rows(NOTHING if len(context.timed) else shared_times.NO_TIMES)
    threads = int(context.timed["n_threads"].max())
    machine = context.machine(context.phase)
    memory, withheld = machine.memory_rate, machine.delayed_ns is None
    table = bandwidth.summed(of_phase, KEYS, machine)
    whole = float(table["duration_ns"].sum())
    of_tokens = float(context.of_kind(context.measured, context.phase)["duration_ns"].sum())
    shown = table.head(MOST).to_dict("records")
    faults = "" if disk_waits.recorded(context.tables) else "Page faults were not recorded: they count as work here. "
    return Rows(
        answer=longest(shown[0], whole, memory, context.phase, withheld=withheld),
        caption=f"The first {len(shown)} of {q.counted(len(table), 'row')}, by wall time, of {context.phase} passes. "
        f"{RATE} {_measured(machine, threads, context.phase)} {_decided(machine.delayed_ns)} {faults}"
        f"Numbers in MiB and µs are means of the n operations. The CSV has all passes, layer by layer. {OUTSIDE}",
        data=layers,
    ).of(
        shown,
        col.name("Operation", "op"),
        col.text("Weight", lambda r: q.printable(r["dtype"]) if q.known(r["dtype"]) else "none"),
        col.Column(Head("Share", "of operations’ time", True), lambda r: share(r["duration_ns"], whole)),
        col.Column(Head("Computing", "of tokens’ time", True), lambda r: share(r["working_ns"], of_tokens)),
        col.number("Touched", lambda r: q.decimal(r["touched_bytes"] / r["n_ops"] / 2**20, 2), "MiB"),
        col.number("Working", lambda r: q.decimal(r["working_ns"] / r["n_ops"] / 1e3), "µs"),
        col.number("Waiting", lambda r: q.decimal(r["waiting_ns"] / r["n_ops"] / 1e3), "µs"),
        col.decimal("Rate", "bytes_per_second", 1, "GiB/s", 2**30),
        col.number(
            "Of memory bandwidth",
            lambda r: q.percent(r["bytes_per_second"] / memory) if memory and q.known(r["bytes_per_second"]) else "",
        ),
        col.text("Bound by", lambda r: _bound(r, withheld=withheld)),
        col.count("n", "n_ops"),
    )


def _bound(row: col.Row, *, withheld: bool) -> str:
    return WITHHELD if withheld else str(row["bound"]) if q.known(row["bound"]) else OPEN


def longest(row: col.Row, whole: float, memory: float | None, phase: str, *, withheld: bool) -> tuple[Amount, ...]:
    """The operations that take most time, and what bounds them.

    `whole`: the time of all operations of the phase, ns; `memory`: its bandwidth, bytes per second.
    """
    if not whole:
        return ()
    bound, rate = _bound(row, withheld=withheld), row["bytes_per_second"]
    weight = f" with {q.printable(row['dtype'])} weights" if q.known(row["dtype"]) else ""
    spent = f"of operation time in {phase} passes is {q.printable(row['op'])}{weight}"
    amounts = [Amount(row["duration_ns"] / whole, "share", spent)]
    waited = row["waiting_ns"] / ((row["working_ns"] + row["waiting_ns"]) or 1)
    if waited >= bandwidth.MOSTLY and not withheld:
        unsure = "" if bound == "waiting" else ", in part maybe for a processor"
        amounts.append(Amount(waited, "share", f"of its thread time is waiting{unsure}"))
    elif q.known(rate):
        amounts.append(Amount(rate, "bytes/s", "touched"))
        amounts += [Amount(rate / memory, "share", "of memory bandwidth")] if memory else []
    if bound == OPEN:
        return tuple(amounts)
    last = replace(amounts[-1], words=f"{amounts[-1].words}: {HOW.get(bound, f'what bounds it is {bound}')}")
    return *amounts[:-1], last


def _decided(delayed_ns: float | None) -> str:
    """How it is decided what bounds operations; `delayed_ns`: see `bandwidth.Machine`, None: nothing is decided."""
    if delayed_ns is None:
        return "What bounds operations is withheld: how long threads waited for a processor is not known."
    if not delayed_ns:
        return BOUND
    return (
        f"{BOUND} In these passes a thread waited {q.duration(delayed_ns)} for a processor; waiting is named only "
        "where it would be without that time, too."
    )


def _measured(machine: bandwidth.Machine, threads: int, phase: str) -> str:
    """What is known of memory and of the last-level caches, beside what a pass touches at most."""
    rate, caches, touched = machine.memory_rate, machine.cache_bytes, machine.pass_bytes
    memory = (
        "Memory bandwidth was not measured: too little memory was free, or other programs took the processors (record "
        "a run again)."
        if rate is None
        else f"Memory bandwidth: {q.size(rate)}/s, read once on this machine by up to {q.counted(threads, 'thread')}."
    )
    if caches is None:
        return (
            f"{memory} How large the last-level caches of processors are is not known, so whether bytes came from "
            "memory is not either."
        )
    beside = (
        ""
        if touched is None
        else f"; the timed operations of a {phase} pass touch {q.size(touched)} at most, each counted by itself"
    )
    return f"{memory} The last-level caches of processors hold {q.size(caches)}{beside}."


BANDWIDTH = Table(
    key="bandwidth",
    page="operations",
    section="time",
    title="Which operations are bound by memory, which by waiting, and which do caches serve?",
    needs=(*needs.TIMES, *needs.BYTES),
    content=_content,
    words={"rate": RATE, "bound": BOUND},
    code=shared_times.TIMED + "data = bandwidth.by_layer(run.tables, timed, accesses.ranges(run.tables))",
)
