"""What all threads of a native trace recorded: spans and index data, in ns, with passes and nodes of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tracegen.errors import TraceFormatError
from tracegen.readers.clock import Clock
from tracegen.readers.records import Compute
from tracegen.readers.segments import Segment
from tracegen.readers.units import read_units

# Of the columns of Spans, in order: millions of rows, and numbers that were checked to fit.
_SPAN_DTYPES = (
    np.int32, np.int32, np.int32, np.int32, np.int32, np.int64, np.int64, np.int64, np.int64, np.int32
)  # fmt: skip


@dataclass(frozen=True)
class Spans:
    """One row per op and thread: arrays of equal length, times in ns."""

    pass_id: np.ndarray
    node: np.ndarray
    thread: np.ndarray
    pool: np.ndarray
    split: np.ndarray
    begin_ns: np.ndarray
    end_ns: np.ndarray
    barrier_ns: np.ndarray
    wait_ns: np.ndarray
    n_fused: np.ndarray


@dataclass(frozen=True)
class Indexes:
    """Row numbers, expert numbers or weights that ops were about to use.

    One entry per copy in `pass_id`, `node`, `what`, `ne0`, `n`; the numbers of
    entry i are `values[first[i] : first[i] + n[i]]` (weights as float).
    """

    pass_id: np.ndarray
    node: np.ndarray
    what: np.ndarray
    ne0: np.ndarray
    n: np.ndarray
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
    spans: list[tuple[np.ndarray, ...]] = []
    indexes: list[tuple[np.ndarray, ...]] = []
    counts = np.zeros(4, np.int64)
    lookup = _Lookup(computes, pass_ids)
    for segment in segments:
        units = read_units(segment)
        ops, copies, openings = units.ops, units.copies, units.openings
        begin, end, following = (clock.ns_of(ticks) for ticks in (ops.begin, ops.end, ops.following))
        # After the last op of an unfinished compute there is no next begin: no wait is known, 0 is the least.
        wait = np.maximum(following - end, 0)
        took = ops.end - ops.begin
        barrier = np.where(took > 0, ops.barrier * ((end - begin) / np.maximum(took, 1)), 0).astype(np.int64)
        pass_id, node, split = lookup.place(segment, openings.compute[ops.opening], ops.node, ops.n_fused)
        thread, pool = openings.thread[ops.opening], openings.n_threads[ops.opening]
        columns = (pass_id, node, thread, pool, split, begin, end, barrier, wait, ops.n_fused)
        spans.append(tuple(column.astype(d) for column, d in zip(columns, _SPAN_DTYPES, strict=True)))
        where, index_node, _ = lookup.place(segment, openings.compute[copies.opening], copies.node)
        indexes.append((where, index_node, copies.what, copies.ne0, copies.n, copies.values))
        moments = units.moments
        counts += [len(moments), units.n_open, int((np.diff(moments) < 0).sum()), int((moments == 0).sum())]
    n_events, n_open, not_monotone, zero_records = counts.tolist()
    return Events(_joined_spans(spans), _joined_indexes(indexes), n_events, n_open, not_monotone, zero_records)


class _Lookup:
    """Compute and node inside it -> pass_id, node of the pass's graph, and the scheduler's split."""

    def __init__(self, computes: Mapping[int, Compute], pass_ids: Mapping[int, int]) -> None:
        rows = sorted(computes.values(), key=lambda compute: compute.number)
        self._number = np.array([compute.number for compute in rows], np.uint64)
        self._pass_id = np.array([pass_ids[compute.pass_number] for compute in rows], np.int64)
        self._split = np.array([compute.split for compute in rows], np.int64)
        self._n = np.array([len(compute.nodes) for compute in rows], np.int64)
        self._first = np.cumsum(self._n) - self._n
        self._nodes = np.concatenate([compute.nodes for compute in rows]) if rows else np.zeros(0, np.int64)

    def place(
        self, segment: Segment, compute: np.ndarray, node: np.ndarray, n_fused: np.ndarray | int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """pass_id, node and split of each event. Raises TraceFormatError for a node nobody announced."""
        at = np.searchsorted(self._number, compute)
        known = at < len(self._number)
        known[known] = self._number[at[known]] == compute[known]
        node, last = node.astype(np.int64), node.astype(np.int64) + n_fused
        known[known] = last[known] < self._n[at[known]]
        if known.all():
            first = self._first[at]
            placed = self._nodes[first + node]
            if ((placed >= 0) & (self._nodes[first + last] == placed + n_fused)).all():
                return self._pass_id[at], placed, self._split[at]
        raise TraceFormatError(f"{segment.name}: an op belongs to a compute or node the main segment does not know")


def _joined_spans(parts: list[tuple[np.ndarray, ...]]) -> Spans:
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Spans(*(columns or [np.zeros(0, d) for d in _SPAN_DTYPES]))


def _joined_indexes(parts: list[tuple[np.ndarray, ...]]) -> Indexes:
    """All copies. Raises TraceFormatError when an op's numbers were copied twice."""
    none = np.zeros(0, np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [none] * 5 + [np.zeros(0)]
    pass_id, node, what, ne0, n = (column.astype(np.int64) for column in columns[:5])
    if len(np.unique(pass_id << 32 | node)) < len(node):
        raise TraceFormatError("the numbers of an op were copied twice; the segments do not belong together")
    return Indexes(pass_id, node, what, ne0, n, np.cumsum(n) - n, columns[5])
