"""What if the model file stood in another order, or more of it stayed in memory?"""

import pandas as pd

from tracegen.analysis import what_if
from tracegen.charts import lines
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.figures import cells, shared_access
from tracegen.report.figures import columns as col
from tracegen.report.figures.cells import Cell
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows, no_rows, not_drawn
from tracegen.report.words import what_if_sentences as say

HALF = 0.5  # of all bytes that were touched: the memory that sentences tell of
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
        f"{say.SIMULATION} {say.device(time.latency_ns, time.bytes_per_second, time.r_squared, time.n_measured)} "
        f"{say.population(len(scored.passes), len(scored.learned), apart=scored.is_apart, phase=phase)}"
        f"{shared_access.left_out(context)}"
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
    none, half = (table[(table["memory_share"] == share).to_numpy(bool)] for share in (0.0, HALF))
    memory = q.size(half["memory_bytes"].iloc[0])
    with_half = half.set_index("order").add_suffix("_half")[["reads_half", "time_ns_half"]]
    return Rows(
        title=say.orders_title(*best(table)),
        caption=f"Means of a pass. Sequential: the share of steps between accesses that go on at most 128 KiB behind "
        f"the end of the one before. Last two columns: with {memory} of memory, half of the mapped bytes that the run "
        f"touched. {caption(context)}",
        data=table,
        numbers=numbers(context),
    ).of(
        none.join(with_half, on="order"),
        col.text("Order", lambda r: r["order"]),
        col.text("What it is", lambda r: say.ORDERS[r["order"]]),
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


def _what_if_memory(context: Context) -> Content:
    empty = nothing(context)
    if empty:
        return not_drawn(empty)
    table = context.what_if
    today = table[(table["order"] == "today").to_numpy(bool)].set_index("memory_share")
    (none, half), memory = today["time_ns"][[0.0, HALF]], float(today["memory_bytes"][HALF])
    served = what_if.held_share(context.what_if_parts, context.scored, memory)
    apart, alike = lines_apart(table)
    title = say.memory_title(1 - half / none if none else 0.0, memory, served)
    return Content(
        title=title,
        caption=f"Mean time of a pass to read what is not in memory. {say.alike(alike)}{caption(context)}",
        alt=f"Lines of time by size of memory for {q.counted(apart['order'].nunique(), 'order')} of the file. "
        f"{q.ended(title)}",
        chart=lambda width: lines.read_times(apart, width=width),
        data=table[["order", "memory_bytes", "reads", "read_bytes", "time_ns"]],
        numbers=numbers(context),
    )


def lines_apart(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows of today's order and of those whose line can be told from it; and the other orders."""
    times = table.pivot(index="memory_share", columns="order", values="time_ns")
    far = times.sub(times["today"], axis=0).abs().max() / times["today"].max()
    alike = [str(name) for name in far.index if name != "today" and not far[name] >= say.LEAST_GAIN]
    return table[~table["order"].isin(alike)], alike


WHAT_IF_MEMORY = shared_access.cache_figure(
    key="what-if-memory",
    title="What if more of the file stayed in memory?",
    content=_what_if_memory,
    code=CODE + 'data = data[["order", "memory_bytes", "reads", "read_bytes", "time_ns"]]',
)
