"""All thread segments of a native trace as arrays: spans, and the row and expert numbers that ops used.

Times are in ns; passes are pass_ids, nodes are nodes of the pass's graph.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.clock import Clock, scaled
from tracegen.readers.native.computes import Computes
from tracegen.readers.native.segments import Segment
from tracegen.readers.native.units import Openings, Ops, read_units, windows

# The columns of Spans, in order. There are millions of rows, so types are small; every value was checked to fit.
_SPAN_DTYPES: Mapping[str, type[np.generic]] = {
    "pass_id": np.int32,
    "node": np.int32,
    "thread": np.int32,
    "pool": np.uint16,
    "split": np.int32,
    "n_fused": np.uint16,
    "begin_ns": np.int64,
    "work_ns": np.int64,
    "barrier_ns": np.int64,
    "wait_ns": np.int64,
}


@dataclass(frozen=True)
class Spans:
    """One row per op and thread, by pass, node and thread: arrays of equal length, times in ns.

    `pool` is the number of threads in the pool; `n_fused` is how many of the following nodes the op also computed.
    """

    pass_id: np.ndarray
    node: np.ndarray
    thread: np.ndarray
    pool: np.ndarray
    split: np.ndarray
    n_fused: np.ndarray
    begin_ns: np.ndarray
    work_ns: np.ndarray
    barrier_ns: np.ndarray
    wait_ns: np.ndarray

    def of_thread(self, pass_id: int, thread: int) -> np.ndarray:
        """The rows of a thread in a pass, by their begin."""
        first, end = np.searchsorted(self.pass_id, (pass_id, pass_id + 1))
        rows: np.ndarray = first + np.flatnonzero(self.thread[first:end] == thread)
        return rows[np.argsort(self.begin_ns[rows], kind="stable")]


@dataclass(frozen=True)
class Indexes:
    """Row numbers, expert numbers or expert weights that the tracer copied just before an op used them.

    `pass_id`, `node`, `what`, `ne0`, `n` and `took` (ticks) have one entry per copy. The numbers of copy i are
    `values[first[i] : first[i] + n[i]]`, as float64.
    """

    pass_id: np.ndarray
    node: np.ndarray
    what: np.ndarray
    ne0: np.ndarray
    n: np.ndarray
    took: np.ndarray
    first: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Events:
    """What all threads recorded. The counts are numbers of events; `n_open` counts computes that never ended.

    `threads`: pass_id, thread (its number in the pool) and os_thread (that of the kernel) of each that took part.
    """

    spans: Spans
    indexes: Indexes
    threads: pd.DataFrame
    n_events: int
    n_open: int
    not_monotone: int
    zero_records: int


def read_events(segments: Iterable[Segment], computes: Computes, clock: Clock) -> Events:
    """Read all thread segments. Raises TraceFormatError naming file and unit."""
    spans: list[dict[str, np.ndarray]] = []
    indexes: list[tuple[np.ndarray, ...]] = []
    threads: list[pd.DataFrame] = []
    counts = np.zeros(4, np.int64)
    for segment in segments:
        units = read_units(segment)
        copies, openings, moments = units.copies, units.openings, units.moments
        spans.append(_spans_of(segment, units.ops, openings, computes, clock))
        of_pass = computes.listed_pass_ids(openings.compute)
        part = {"pass_id": of_pass, "thread": openings.thread, "os_thread": openings.os_thread}
        threads.append(pd.DataFrame(part).drop_duplicates())
        what = f"{segment.name}: numbers are told"
        where, index_node, _ = computes.place(what, openings.compute, copies.opening, copies.node)
        indexes.append((where, index_node, copies.what, copies.ne0, copies.n, copies.took, copies.values))
        back = int((moments[1:] < moments[:-1]).sum())
        counts += [len(moments), units.n_open, back, int((moments == 0).sum())]
        del units, copies, openings, moments  # frees their memory before the next segment is read
    n_events, n_open, not_monotone, zero_records = counts.tolist()
    who = pd.concat(threads) if threads else pd.DataFrame({"pass_id": [], "thread": [], "os_thread": []})
    who = who.astype("int64").drop_duplicates(["pass_id", "os_thread"], ignore_index=True)
    return Events(_joined_spans(spans), _joined_indexes(indexes), who, n_events, n_open, not_monotone, zero_records)


def _spans_of(
    segment: Segment, ops: Ops, openings: Openings, computes: Computes, clock: Clock
) -> dict[str, np.ndarray]:
    """The columns of Spans for one thread, in the order in which its ops ran."""
    columns = {name: np.empty(len(ops.node), dtype) for name, dtype in _SPAN_DTYPES.items()}
    for part in windows(len(ops.node)):
        begin_ticks, end_ticks, opening = ops.begin[part], ops.end[part], ops.opening[part]
        begin, end, following = (clock.ns_of(ticks) for ticks in (begin_ticks, end_ticks, ops.following[part]))
        took = end_ticks - begin_ticks
        barrier = scaled(ops.barrier[part], end - begin, np.maximum(took, 1))
        what = f"{segment.name}: an op is told"
        pass_id, node, split = computes.place(what, openings.compute, opening, ops.node[part], ops.n_fused[part])
        piece = {
            "pass_id": pass_id,
            "node": node,
            "thread": openings.thread[opening],
            "pool": openings.n_threads[opening],
            "split": split,
            "n_fused": ops.n_fused[part],
            "begin_ns": begin,
            "work_ns": end - begin - barrier,
            "barrier_ns": barrier,
            # After the last op of an unfinished compute no event follows: the wait is unknown, and 0 is its minimum.
            "wait_ns": np.maximum(following - end, 0),
        }
        for name, values in piece.items():
            columns[name][part] = values
    return columns


def _joined_spans(parts: list[dict[str, np.ndarray]]) -> Spans:
    """The spans of all threads, sorted by pass, node and thread.

    Joins and sorts one column at a time, and empties `parts`, so that at most one column is in memory twice.
    Raises TraceFormatError when a thread ran a node twice in one pass.
    """
    joined = {
        name: np.concatenate([np.zeros(0, dtype), *(part.pop(name) for part in parts)])
        for name, dtype in _SPAN_DTYPES.items()
    }
    order = _order(joined["pass_id"], joined["node"], joined["thread"])
    spans = Spans(**{name: joined.pop(name)[order] for name in _SPAN_DTYPES})
    same = (spans.pass_id[1:] == spans.pass_id[:-1]) & (spans.node[1:] == spans.node[:-1])
    if (same & (spans.thread[1:] == spans.thread[:-1])).any():
        raise TraceFormatError(
            "a thread ran a node twice in one pass; the segments do not belong together, or the trace was changed"
        )
    return spans


def _order(pass_id: np.ndarray, node: np.ndarray, thread: np.ndarray) -> np.ndarray:
    """The order that sorts spans by pass, node and thread.

    Where the three fit one int64, they are sorted as one: that is faster, as the spans of a thread are nearly sorted.
    """
    widths = [int(column.max(initial=0)) + 1 for column in (pass_id, node, thread)]
    if math.prod(widths) < 1 << 63:
        key = pass_id.astype(np.int64)
        for column, width in ((node, widths[1]), (thread, widths[2])):
            key *= width
            key += column
        return np.argsort(key, kind="stable")
    return np.lexsort((thread, node, pass_id))


def _joined_indexes(parts: list[tuple[np.ndarray, ...]]) -> Indexes:
    """The copies of all threads. Raises TraceFormatError when the numbers of one op were copied twice."""
    none = np.zeros(0, np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [none] * 6 + [np.zeros(0)]
    pass_id, node, what, ne0, n, took = (column.astype(np.int64) for column in columns[:6])
    if len(np.unique(pass_id << 32 | node)) < len(node):
        raise TraceFormatError("the numbers of an op were copied twice; the segments do not belong together")
    return Indexes(pass_id, node, what, ne0, n, took, np.cumsum(n) - n, columns[6])
