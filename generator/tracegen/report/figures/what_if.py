"""What if the model file stood in another order?"""

import pandas as pd

from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document import cells
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, no_rows

HALF = 0.5  # of all bytes that were touched: the memory of the answer
SIMULATION = (
    "A simulation, not a prediction of speed: a program that reads only what operations touch, one read after the "
    "other, and evicts what was least recently used. A mapped file does not profit from an order by itself."
)
ORDERS = {
    "today": "as the file is",
    "layer": "embeddings, then layer by layer, then the rest",
    "first-touch": "in the order in which tokens first touch the tensors",
    "hot": "the most touched bytes per byte of the tensor first",
    "co-activated": "tensors as they are; inside of each, experts that are chosen together side by side",
}
CODE = """
touched = order.disk_accesses(run.tables, accesses.ranges(run.tables))
scored = what_if.scored(run.tables)
used = what_if.parts(run.tables, touched)
shifts = what_if.shifts(run.tables, used, touched, scored.learned)
device = read_time.ReadTime($latency_ns, $bytes_per_second)
data = what_if.simulated(used, shifts, scored.passes, device)
"""


def nothing(context: Context) -> str:
    """Why nothing can be simulated; empty if it can."""
    empty = shared_access.nothing(context)
    if not empty and not context.disk_accesses["pass_id"].isin(context.scored.passes).any():
        empty = "The passes that would be scored touched nothing of the mapped file."
    return empty


def caption(context: Context) -> str:
    """What was simulated, on which passes and with which device."""
    scored, time = context.scored, context.read_time
    phase = "generate" if (context.kinds == "generate").any() else ""
    return (
        f"{SIMULATION} {_device(time.latency_ns, time.bytes_per_second, time.r_squared, time.n_measured)} "
        f"{population(len(scored.passes), len(scored.learned), apart=scored.is_apart, phase=phase)}"
        f"{shared_access.left_out(context)}"
    )


def _device(latency_ns: float, rate: float, r_squared: float | None, n: int) -> str:
    """What the estimate of times stands on; `rate` in bytes per second."""
    speed = f"{q.duration(latency_ns)} a read and {q.size(rate)}/s"
    if r_squared is None:
        return f"Time: {speed}, stated values, since the run did not measure its device."
    return (
        f"Time: {speed}, fitted to {q.counted(n, 'size')} of random reads, one at a time, on the run’s device "
        f"(R² = {q.decimal(r_squared, 2)})."
    )


def population(n_scored: int, n_learned: int, *, apart: bool, phase: str) -> str:
    """Which passes were learned on and which were scored."""
    scored = q.counted(n_scored, f"{phase} pass" if phase else "pass")
    if apart:
        last = "the last one" if n_scored == 1 else "the last ones"
        return f"n = {scored}, {last}; orders were learned on the {q.counted(n_learned, 'pass')} before."
    return (
        f"n = {scored}, too few to learn an order on some and score it on others: each order knows what it is scored "
        "on."
    )


def numbers(context: Context) -> dict[str, object]:
    """What the code of an explanation is filled with."""
    return {"latency_ns": context.read_time.latency_ns, "bytes_per_second": context.read_time.bytes_per_second}


def best(table: pd.DataFrame) -> tuple[str, float]:
    """The order that takes the least time with nothing in memory, and which share of today's time it saves."""
    time = {str(row["order"]): float(row["time_ns"]) for row in table[table["memory_share"] == 0].to_dict("records")}
    name = min(time, key=lambda order: time[order])
    return name, 1 - time[name] / time["today"] if time["today"] else 0.0


def _what_if_orders(context: Context) -> Rows:
    """A row for each order; the CSV has one for each order and size of memory."""
    empty = nothing(context)
    if empty:
        return no_rows(empty)
    table = context.what_if
    name, gain = best(table)
    none, half = (table[(table["memory_share"] == share).to_numpy(bool)] for share in (0.0, HALF))
    memory = q.size(half["memory_bytes"].iloc[0])
    with_half = half.set_index("order").add_suffix("_half")[["reads_half", "time_ns_half"]]
    return Rows(
        answer=(Amount(gain, "share", f"less read time in the best order, “{name}”, with nothing in memory"),),
        caption=f"Means of a pass. Sequential: the share of steps between accesses that go on at most 128 KiB behind "
        f"the end of the one before. Last two columns: with {memory} of memory, half of the mapped bytes that the run "
        f"touched. {caption(context)}",
        data=table,
        numbers=numbers(context),
    ).of(
        none.join(with_half, on="order"),
        col.text("Order", lambda r: r["order"]),
        col.text("What it is", lambda r: ORDERS[r["order"]]),
        col.number(
            "Sequential",
            lambda r: cells.share(r["sequential_share"], 1) if q.known(r["sequential_share"]) else Cell(""),
        ),
        col.decimal("Reads", "reads", 1),
        col.decimal("Time", "time_ns", 1, "ms", 1e6),
        col.decimal("Reads, with memory", "reads_half", 1),
        col.decimal("Time, with memory", "time_ns_half", 1, "ms", 1e6),
    )


WHAT_IF_ORDERS = shared_access.order_table(
    key="what-if-orders",
    title="What if the tensors stood in another order in the file?",
    needs=needs.FILE_USE,
    content=_what_if_orders,
    code=CODE,
)
