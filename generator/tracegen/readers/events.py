"""The thread segments of a native trace: events to spans and index data, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np

from tracegen.errors import TraceFormatError
from tracegen.readers.records import NONE, NUMBER, SIZE, Compute
from tracegen.readers.segments import Segment

EVENT = np.dtype(
    [
        ("begin_ns", "<u8"), ("end_ns", "<u8"), ("barrier_ns", "<u8"),
        ("node", "<u4"), ("n_fused", "<u2"), ("type", "<u2"),
    ]
)  # fmt: skip
OP, THREAD_BEGIN, THREAD_END, INDEX = 1, 2, 3, 4
ROWS, EXPERTS, CELLS, COLUMNS, WEIGHTS = 1, 2, 3, 4, 5
EXACT = 1 << 53  # whole numbers below are exact in a float64


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


def read_events(segments: Iterable[Segment], computes: Mapping[int, Compute], pass_ids: Mapping[int, int]) -> Events:
    """Read all thread segments; `pass_ids` leads from the tracer's pass numbers to ours.

    Raises TraceFormatError naming file and event.
    """
    spans: list[tuple[np.ndarray, ...]] = []
    indexes: list[tuple[np.ndarray, ...]] = []
    counts = np.zeros(4, np.int64)
    lookup = _Lookup(computes, pass_ids)
    for segment in segments:
        events, copies = _split(segment)
        opening, opened = _openings(segment, events)
        compute, thread = events["end_ns"][opening], events["node"][opening]
        pool = events["barrier_ns"][opening] & NONE
        _refuse(segment, (thread >= pool) | (pool >= NUMBER), "a thread with a number outside its pool")
        op = events["type"] == OP
        chosen = events[op]
        following = np.append(events["begin_ns"][1:], events["end_ns"][-1:])[op] if len(events) else chosen["end_ns"]
        # After the last op of an unfinished compute there is no next begin: no wait is known, 0 is the least.
        wait = np.where(following >= chosen["end_ns"], following - chosen["end_ns"], 0)
        pass_id, node, split = lookup.place(segment, compute[op], chosen["node"], chosen["n_fused"])
        spans.append(
            (pass_id, node, thread[op], pool[op], split, chosen["begin_ns"], chosen["end_ns"], chosen["barrier_ns"],
             wait, chosen["n_fused"])
        )  # fmt: skip
        index = events["type"] == INDEX
        where, index_node, _ = lookup.place(segment, compute[index], events["node"][index])
        indexes.append((where, index_node, events["barrier_ns"][index], *copies))
        begins = events["begin_ns"].astype(np.int64)
        counts += [len(events), opened, int((np.diff(begins) < 0).sum()), int((begins == 0).sum())]
    n_events, n_open, not_monotone, zero_records = counts.tolist()
    return Events(_joined_spans(spans), _joined_indexes(indexes), n_events, n_open, not_monotone, zero_records)


def _refuse(segment: Segment, wrong: np.ndarray, what: str) -> None:
    """Raise TraceFormatError when an event is `wrong`."""
    if wrong.any():
        raise TraceFormatError(f"{segment.name}: event {int(np.flatnonzero(wrong)[0])}: {what}; the trace was changed")


def _split(segment: Segment) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Separate the 32-byte events from the data that follows each TT_INDEX."""
    if len(segment.payload) % EVENT.itemsize:
        raise TraceFormatError(
            f"{segment.name}: {len(segment.payload)} bytes of events, no multiple of {EVENT.itemsize}; the file was cut"
        )
    rows = segment.payload.view(EVENT)
    is_event = np.ones(len(rows), bool)
    ne0, n, parts = [], [], []
    end = 0
    for at in np.flatnonzero(rows["type"] == INDEX).tolist():
        if at < end:  # bytes of the data before it that look like an event
            continue
        row = rows[at]
        what, element = int(row["barrier_ns"]), int(row["n_fused"])
        first, second = int(row["end_ns"]) & NONE, int(row["end_ns"]) >> 32
        size = first * second * element
        end = at + 1 + -(-size // EVENT.itemsize)
        fits = element in ((4,) if what == WEIGHTS else (4, 8)) and end <= len(rows)
        if not fits or what not in (ROWS, EXPERTS, CELLS, COLUMNS, WEIGHTS):
            raise TraceFormatError(
                f"{segment.name}: index at event {at}: {first} x {second} numbers of {element} bytes"
                f" and kind {what} do not fit"
            )
        is_event[at + 1 : end] = False
        start = (at + 1) * EVENT.itemsize
        parts.append(_numbers(segment, at, segment.payload[start : start + size], what, element))
        ne0.append(first)
        n.append(first * second)
    events = rows[is_event]
    kind, begin, last, barrier = (events[name] for name in ("type", "begin_ns", "end_ns", "barrier_ns"))
    _refuse(segment, ~np.isin(kind, (OP, THREAD_BEGIN, THREAD_END, INDEX)), "its type is unknown")
    _refuse(segment, begin >= SIZE, "its time cannot be")
    _refuse(segment, (kind == OP) & ((last < begin) | (last >= SIZE)), "an op ends before it begins")
    _refuse(segment, (kind == OP) & (barrier > last - begin), "an op waits longer than it takes")
    values = np.concatenate(parts) if parts else np.zeros(0)
    return events, (np.array(ne0, np.int64), np.array(n, np.int64), values)


def _numbers(segment: Segment, at: int, data: np.ndarray, what: int, element: int) -> np.ndarray:
    """The numbers of one index as float64, which holds every row number that can be."""
    if what == WEIGHTS:
        with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
            return data.view("<f4").astype(np.float64)
    made = data.view(f"<i{element}")
    if len(made) and not 0 <= int(made.min()) <= int(made.max()) < EXACT:
        raise TraceFormatError(f"{segment.name}: index at event {at}: units {made.min()} to {made.max()} cannot be")
    return made.astype(np.float64)


def _openings(segment: Segment, events: np.ndarray) -> tuple[np.ndarray, int]:
    """Of every event the THREAD_BEGIN it belongs to, and how many computes never ended (the last may)."""
    kind = events["type"]
    begins, ends = np.cumsum(kind == THREAD_BEGIN), np.cumsum(kind == THREAD_END)
    depth = begins - ends
    _refuse(segment, depth != (kind != THREAD_END), "the computes of this thread do not open and close in turn")
    opening = np.flatnonzero(kind == THREAD_BEGIN)[begins - 1]
    foreign = (events["end_ns"] != events["end_ns"][opening]) | (events["node"] != events["node"][opening])
    _refuse(segment, (kind == THREAD_END) & foreign, "it closes another compute than was opened")
    return opening, int(depth[-1]) if len(depth) else 0


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
    columns = [np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)]
    return Spans(*(columns or [np.zeros(0, np.int64)] * len(fields(Spans))))


def _joined_indexes(parts: list[tuple[np.ndarray, ...]]) -> Indexes:
    """All copies. Raises TraceFormatError when an op's numbers were copied twice."""
    none = np.zeros(0, np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [none] * 5 + [np.zeros(0)]
    pass_id, node, what, ne0, n = (column.astype(np.int64) for column in columns[:5])
    if len(np.unique(pass_id << 32 | node)) < len(node):
        raise TraceFormatError("the numbers of an op were copied twice; the segments do not belong together")
    return Indexes(pass_id, node, what, ne0, n, np.cumsum(n) - n, columns[5])
