"""How fast operations touch bytes, beside what memory can give, and what that shows of what bounds them."""

from tracegen.analysis import bandwidth, disk_waits
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_times
from tracegen.report.figures.cells import Head, share
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.figures.figure import Rows, Table, no_rows
from tracegen.report.words import bandwidth_sentences as say

MOST = 12
KEYS = ("op", "dtype")


def _content(context: Context) -> Rows:
    """A row for each kind of operation and type of weight; the CSV has one for each layer."""
    layers = bandwidth.by_layer(context.tables, context.timed, context.used)
    of_phase = layers[(layers["phase"] == context.phase).to_numpy(bool)]
    if of_phase.empty:
        return no_rows(say.NOTHING if len(context.timed) else shared_times.NO_TIMES)
    threads = int(context.timed["n_threads"].max())
    machine = _machine(context, threads)
    memory, withheld = machine.memory_rate, machine.delayed_ns is None
    table = bandwidth.summed(of_phase, KEYS, machine)
    whole = float(table["duration_ns"].sum())
    of_tokens = float(context.of_kind(context.measured, context.phase)["duration_ns"].sum())
    shown = table.head(MOST).to_dict("records")
    return Rows(
        title=say.title(shown[0], memory, withheld=withheld),
        caption=f"The first {len(shown)} of {q.counted(len(table), 'row')}, by wall time, of {context.phase} passes. "
        f"{say.RATE} {say.measured(memory, threads)} "
        f"{say.caches(machine.cache_bytes, machine.pass_bytes, context.phase)} {say.bound(machine.delayed_ns)} "
        f"{say.faults(known=disk_waits.recorded(context.tables))}"
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
            "Of memory’s rate",
            lambda r: q.percent(r["bytes_per_second"] / memory) if memory and q.known(r["bytes_per_second"]) else "",
        ),
        col.text(
            "Bound by", lambda r: r["bound"] if q.known(r["bound"]) else say.WITHHELD if withheld else say.NOT_SHOWN
        ),
        col.count("n", "n_ops"),
    )


def _machine(context: Context, threads: int) -> bandwidth.Machine:
    """What the rates of this run’s passes are compared with."""
    passes = context.of_kind(context.measured, context.phase)
    return bandwidth.Machine(
        memory_rate=bandwidth.rate_of(context.fact("host", "memory_rate"), threads),
        cache_bytes=context.fact("host", "last_level_cache_bytes"),
        n_passes=len(passes),
        pass_bytes=bandwidth.pass_bytes(context.timed, context.phase),
        delayed_ns=bandwidth.delayed_ns(passes, threads),
    )


BANDWIDTH = Table(
    key="bandwidth",
    page="operations",
    section="time",
    title="Which operations are bound by memory, which by waiting, and which do caches serve?",
    needs=(*needs.TIMES, *needs.BYTES),
    content=_content,
    words={"rate": say.RATE, "bound": say.BOUND},
    code=shared_times.TIMED + "data = bandwidth.by_layer(run.tables, timed, accesses.ranges(run.tables))",
)
