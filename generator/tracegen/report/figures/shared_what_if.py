"""What the figures of the simulation share: why there is none, its caption and its code."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import what_if
from tracegen.report.figures import shared_access
from tracegen.report.figures.context import Context
from tracegen.report.words import what_if_sentences as say

HALF = 0.5  # of all bytes that were touched: the memory that sentences tell of
CODE = """
from tracegen.analysis import accesses, order, read_time, what_if
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


def with_memory(table: pd.DataFrame, share: float) -> pd.DataFrame:
    """The rows of `what_if.simulated` for one size of memory."""
    return table[(table["memory_share"] == share).to_numpy(bool)]


def best(table: pd.DataFrame) -> tuple[str, float]:
    """The order that takes the least time with nothing in memory, and which share of today's time it saves."""
    time = {str(row["order"]): float(row["time_ns"]) for row in table[table["memory_share"] == 0].to_dict("records")}
    name = min(time, key=lambda order: time[order])
    return name, 1 - time[name] / time["today"] if time["today"] else 0.0


def saved(table: pd.DataFrame, share: float) -> tuple[float, float]:
    """Which share of the time some memory saves in today's order, and the memory in bytes."""
    none, some = (with_memory(table, s).query("order == 'today'").to_dict("records")[0] for s in (0.0, share))
    return 1 - some["time_ns"] / none["time_ns"] if none["time_ns"] else 0.0, float(some["memory_bytes"])


def held(context: Context, memory_bytes: float) -> float:
    """Which share of the bytes that scored passes touch the most used ones are, if they are held and never change."""
    return what_if.held_share(context.what_if_parts, context.scored, memory_bytes)
