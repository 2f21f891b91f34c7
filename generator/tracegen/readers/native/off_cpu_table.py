"""When threads that computed had no processor: the table `off_cpu`, and how much of it is in the work of spans."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import covered
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.computes import Computes
from tracegen.readers.native.events import Spans
from tracegen.readers.native.fault_records import StructRecords
from tracegen.readers.native.fault_table import Faults, span_of

_THREAD_BITS = 31  # more than the number of a thread takes


@dataclass(frozen=True)
class Placed:
    """The table `off_cpu`, and of each span, in the order of `spans`, the column `preempted_ns` (int64)."""

    table: pd.DataFrame
    span_ns: np.ndarray


def place_off_cpu(
    recorded: StructRecords, computes: Computes, spans: Spans, faults: Faults, barriers: pd.DataFrame
) -> Placed:
    """Place each time without a processor in its pass and operation, and cut it into the pieces of operations.

    `barriers` is the table. Raises TraceFormatError for a time in no compute, or in one that the main segment lacks.
    """
    if (recorded.thread < 0).any():
        raise TraceFormatError("a time without a processor belongs to no compute; the trace was changed")
    times = {name: recorded.rows[name].astype(np.int64) for name in ("begin_ns", "took_ns")}
    pass_id = computes.pass_ids("a time without a processor is told", recorded.compute)
    slept = recorded.rows["slept"] > 0
    rows = pd.DataFrame({**times, "thread": recorded.thread, "pass_id": pass_id, "slept": slept})
    rows = rows.sort_values("begin_ns", kind="stable", ignore_index=True)
    span = span_of(rows, spans)
    node = spans.node[np.maximum(span, 0)] if len(spans.node) else np.zeros(len(span), np.int32)
    table = contract.frame(
        "off_cpu",
        {
            "off_cpu": np.arange(len(rows), dtype=np.int32),
            "pass_id": rows["pass_id"].to_numpy(np.int32),
            "node": pd.arrays.IntegerArray(node.astype(np.int32), span < 0),
            "thread": rows["thread"].to_numpy(np.int32),
            "slept": rows["slept"].to_numpy(bool),
            "begin_ns": rows["begin_ns"].to_numpy(np.int64),
            "duration_ns": rows["took_ns"].to_numpy(np.int64),
        },
    )
    return Placed(table, _span_ns(table[~table["slept"]], spans, faults, barriers))


def _span_ns(preempted: pd.DataFrame, spans: Spans, faults: Faults, barriers: pd.DataFrame) -> np.ndarray:
    """How long, in each span, its thread was in these times; waits at barriers and page faults are left out.

    No more than the work that page faults leave: of many waits in one operation only their sum was recorded.
    """
    span_ns = np.zeros(len(spans.node), np.int64)
    known = faults.table.dropna(subset=["pass_id", "thread", "duration_ns"])
    some = _intervals(preempted)
    others = [table[np.isin(table[:, 0], some[:, 0])] for table in map(_intervals, (known, barriers))]
    left = _without(some, np.concatenate(others))
    for of_one in np.split(left, np.flatnonzero(np.diff(left[:, 0])) + 1) if len(left) else ():
        whose, begin, end = of_one.T
        rows = spans.of_thread(int(whose[0] >> _THREAD_BITS), int(whose[0] & ((1 << _THREAD_BITS) - 1)))
        since = spans.begin_ns[rows]
        until = since + spans.work_ns[rows] + spans.barrier_ns[rows]
        span_ns[rows] = covered(begin, end, until) - covered(begin, end, since)
    np.minimum(span_ns, np.maximum(spans.work_ns - faults.span_ns, 0), out=span_ns)
    return span_ns


def _intervals(table: pd.DataFrame) -> np.ndarray:
    """The rows as intervals: whose they are (pass and thread as one number), begin, end."""
    pass_id, thread, begin, took = (
        table[name].to_numpy(np.int64) for name in ("pass_id", "thread", "begin_ns", "duration_ns")
    )
    return np.column_stack([pass_id << _THREAD_BITS | thread, begin, begin + took])


def _without(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The times in one of the intervals and in none of the others of whose it is, in order and without overlap."""
    n, m = len(some), len(others)
    whose = np.concatenate([some[:, 0], some[:, 0], others[:, 0], others[:, 0]])
    at = np.concatenate([some[:, 1], some[:, 2], others[:, 1], others[:, 2]])
    order = np.lexsort((at, whose))
    inside = np.cumsum(np.repeat([1, -1, 0, 0], [n, n, m, m])[order])
    taken = np.cumsum(np.repeat([0, 0, 1, -1], [n, n, m, m])[order])
    first = np.flatnonzero((inside > 0) & (taken == 0))
    return np.column_stack([whose[order[first]], at[order[first]], at[order[first + 1]]])
