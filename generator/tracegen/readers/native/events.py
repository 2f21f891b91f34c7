"""What all threads of a native trace recorded: spans and index data, in ns, with passes and nodes of graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tracegen.errors import TraceFormatError
from tracegen.readers.native.clock import Clock, scaled
from tracegen.readers.native.recorded import Compute
from tracegen.readers.native.segments import Segment
from tracegen.readers.native.units import Openings, Ops, read_units, windows

# Of the columns of Spans, in order: millions of rows, and numbers that were checked to fit.
_SPAN_DTYPES: Mapping[str, type[np.generic]] = {
    "pass_id": np.int32, "node": np.int32, "thread": np.int32, "pool": np.uint16, "split": np.int32,
    "n_fused": np.uint16, "begin_ns": np.int64, "work_ns": np.int64, "barrier_ns": np.int64, "wait_ns": np.int64,
}  # fmt: skip


@dataclass(frozen=True)
class Spans:
    """One row per op and thread, by pass, node and thread: arrays of equal length, times in ns.

    `pool` is the number of threads that the pool had, `n_fused` how many of the next nodes the op computed too.
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


@dataclass(frozen=True)
class Indexes:
    """Row numbers, expert numbers or weights that ops were about to use.

    One entry per copy in `pass_id`, `node`, `what`, `ne0`, `n`, `took` (ticks); the numbers of
    entry i are `values[first[i] : first[i] + n[i]]` (weights as float).
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
    """What all threads recorded."""

    spans: Spans
    indexes: Indexes
    n_events: int
    n_open: int
    not_monotone: int
    zero_records: int


def read_events(
    segments: Iterable[Segment], computes: Mapping[int, Compute], pass_ids: Mapping[int, int], clock: Clock
) -> Events:
    """Read all thread segments; `pass_ids` leads from the tracer's pass numbers to ours.

    Raises TraceFormatError naming file and unit.
    """
    spans: list[dict[str, np.ndarray]] = []
    indexes: list[tuple[np.ndarray, ...]] = []
    counts = np.zeros(4, np.int64)
    lookup = _Lookup(computes, pass_ids)
    for segment in segments:
        units = read_units(segment)
        copies, openings, moments = units.copies, units.openings, units.moments
        spans.append(_spans_of(segment, units.ops, openings, lookup, clock))
        where, index_node, _ = lookup.place(segment, openings.compute, copies.opening, copies.node)
        indexes.append((where, index_node, copies.what, copies.ne0, copies.n, copies.took, copies.values))
        back = int((moments[1:] < moments[:-1]).sum())
        counts += [len(moments), units.n_open, back, int((moments == 0).sum())]
        del units, copies, openings, moments  # those of the next segment take their place
    n_events, n_open, not_monotone, zero_records = counts.tolist()
    return Events(_joined_spans(spans), _joined_indexes(indexes), n_events, n_open, not_monotone, zero_records)


def _spans_of(segment: Segment, ops: Ops, openings: Openings, lookup: _Lookup, clock: Clock) -> dict[str, np.ndarray]:
    """The columns of Spans of one thread, in the order in which it ran."""
    made = {name: np.empty(len(ops.node), dtype) for name, dtype in _SPAN_DTYPES.items()}
    for part in windows(len(ops.node)):
        begin_ticks, end_ticks, opening = ops.begin[part], ops.end[part], ops.opening[part]
        begin, end, following = (clock.ns_of(ticks) for ticks in (begin_ticks, end_ticks, ops.following[part]))
        took = end_ticks - begin_ticks
        barrier = scaled(ops.barrier[part], end - begin, np.maximum(took, 1))
        pass_id, node, split = lookup.place(segment, openings.compute, opening, ops.node[part], ops.n_fused[part])
        columns = {
            "pass_id": pass_id, "node": node, "thread": openings.thread[opening], "pool": openings.n_threads[opening],
            "split": split, "n_fused": ops.n_fused[part], "begin_ns": begin, "work_ns": end - begin - barrier,
            "barrier_ns": barrier,
            # After the last op of an unfinished compute there is no next begin: no wait is known, 0 is the least.
            "wait_ns": np.maximum(following - end, 0),
        }  # fmt: skip
        for name, values in columns.items():
            made[name][part] = values
    return made


class _Lookup:
    """Compute and node inside it -> pass_id, node of the pass's graph, and the scheduler's split."""

    def __init__(self, computes: Mapping[int, Compute], pass_ids: Mapping[int, int]) -> None:
        rows = sorted(computes.values(), key=lambda compute: compute.number)
        self._number = np.array([compute.number for compute in rows], np.uint64)
        self._pass_id = np.array([pass_ids[compute.pass_number] for compute in rows], np.int64)
        self._split = np.array([compute.split for compute in rows], np.int64)
        self._n = np.array([len(compute.nodes) for compute in rows], np.int64)
        self._first = np.cumsum(self._n) - self._n
        self._nodes = np.concatenate([compute.nodes for compute in rows]) if rows else np.zeros(0, np.int32)

    def place(
        self,
        segment: Segment,
        computes: np.ndarray,
        opening: np.ndarray,
        node: np.ndarray,
        n_fused: np.ndarray | int = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """pass_id, node and split of each event; `computes` has those of the openings.

        Raises TraceFormatError for a node nobody announced.
        """
        compute_at = np.searchsorted(self._number, computes)
        announced = compute_at < len(self._number)
        announced[announced] = self._number[compute_at[announced]] == computes[announced]
        at, known = compute_at[opening], announced[opening]
        node = node.astype(np.int64)
        last = node + n_fused
        known[known] = last[known] < self._n[at[known]]
        if known.all():
            first = self._first[at]
            placed = self._nodes[first + node]
            if ((placed >= 0) & (self._nodes[first + last] == placed + n_fused)).all():
                return self._pass_id[at], placed, self._split[at]
        raise TraceFormatError(f"{segment.name}: an op belongs to a compute or node the main segment does not know")


def _joined_spans(parts: list[dict[str, np.ndarray]]) -> Spans:
    """The spans of all threads in order, one column after the other: there is never more than one of them twice.

    Raises TraceFormatError when a thread ran a node twice in one pass. Empties `parts`.
    """
    joined = {
        name: np.concatenate([np.zeros(0, dtype), *(part.pop(name) for part in parts)])
        for name, dtype in _SPAN_DTYPES.items()
    }
    order = _order(joined["pass_id"], joined["node"], joined["thread"])
    made = Spans(**{name: joined.pop(name)[order] for name in _SPAN_DTYPES})
    same = (made.pass_id[1:] == made.pass_id[:-1]) & (made.node[1:] == made.node[:-1])
    if (same & (made.thread[1:] == made.thread[:-1])).any():
        raise TraceFormatError("a thread ran a node twice in one pass; the segments do not belong together")
    return made


def _order(pass_id: np.ndarray, node: np.ndarray, thread: np.ndarray) -> np.ndarray:
    """What sorts spans by pass, node and thread: one number each where it fits, as each thread's come in order."""
    widths = [int(column.max(initial=0)) + 1 for column in (pass_id, node, thread)]
    if math.prod(widths) < 1 << 63:
        key = pass_id.astype(np.int64)
        for column, width in ((node, widths[1]), (thread, widths[2])):
            key *= width
            key += column
        return np.argsort(key, kind="stable")
    return np.lexsort((thread, node, pass_id))


def _joined_indexes(parts: list[tuple[np.ndarray, ...]]) -> Indexes:
    """All copies. Raises TraceFormatError when an op's numbers were copied twice."""
    none = np.zeros(0, np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [none] * 6 + [np.zeros(0)]
    pass_id, node, what, ne0, n, took = (column.astype(np.int64) for column in columns[:6])
    if len(np.unique(pass_id << 32 | node)) < len(node):
        raise TraceFormatError("the numbers of an op were copied twice; the segments do not belong together")
    return Indexes(pass_id, node, what, ne0, n, took, np.cumsum(n) - n, columns[6])
