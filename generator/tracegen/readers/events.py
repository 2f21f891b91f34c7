"""The thread segments of a native trace: events to spans and index data, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tracegen.errors import TraceFormatError
from tracegen.readers.records import NONE, Compute
from tracegen.readers.segments import Segment

EVENT = np.dtype(
    [
        ("begin_ns", "<u8"), ("end_ns", "<u8"), ("barrier_ns", "<u8"),
        ("node", "<u4"), ("n_fused", "<u2"), ("type", "<u2"),
    ]
)  # fmt: skip
OP, THREAD_BEGIN, THREAD_END, INDEX = 1, 2, 3, 4
ROWS, EXPERTS, CELLS, COLUMNS, WEIGHTS = 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Spans:
    """One row per op and thread: arrays of equal length, times in ns."""

    pass_number: np.ndarray
    compute: np.ndarray
    node: np.ndarray
    thread: np.ndarray
    begin_ns: np.ndarray
    end_ns: np.ndarray
    barrier_ns: np.ndarray
    wait_ns: np.ndarray
    n_fused: np.ndarray


@dataclass(frozen=True)
class Indexes:
    """Row numbers, expert numbers or weights that ops were about to use.

    One entry per copy in `pass_number`, `node`, `what`, `ne0`, `n`; the numbers of
    entry i are `values[first[i] : first[i] + n[i]]` (weights as float).
    """

    pass_number: np.ndarray
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
    pool_size: Mapping[int, int]
    n_open: int
    not_monotone: int
    zero_records: int


def read_events(segments: Iterable[Segment], computes: Mapping[int, Compute]) -> Events:
    """Read all thread segments. Raises TraceFormatError naming file and byte."""
    spans: list[tuple[np.ndarray, ...]] = []
    indexes: list[tuple[np.ndarray, ...]] = []
    pools: dict[int, int] = {}
    counts = np.zeros(4, np.int64)
    lookup = _Lookup(computes)
    for segment in segments:
        events, copies = _split(segment)
        of_compute, thread, opened = _owners(segment, events, pools)
        op = events["type"] == OP
        following = np.append(events["begin_ns"][1:], events["end_ns"][-1:] if len(events) else [])
        pass_number, node, split_ok = lookup.place(of_compute[op], events["node"][op])
        if not split_ok.all():
            raise TraceFormatError(f"{segment.name}: an op belongs to a compute or node the main segment does not know")
        chosen = events[op]
        # After the last op of an unfinished compute there is no next begin: no wait is known, 0 is the least.
        wait = np.where(following[op] >= chosen["end_ns"], following[op] - chosen["end_ns"], 0).astype(np.int64)
        spans.append(
            (pass_number, of_compute[op], node, thread[op], chosen["begin_ns"], chosen["end_ns"],
             chosen["barrier_ns"], wait, chosen["n_fused"])
        )  # fmt: skip
        index = np.flatnonzero(events["type"] == INDEX)
        if len(index):
            where, index_node, ok = lookup.place(of_compute[index], events["node"][index])
            if not ok.all():
                raise TraceFormatError(f"{segment.name}: an index belongs to a node the main segment does not know")
            indexes.append((where, index_node, events["barrier_ns"][index], *copies))
        begins = events["begin_ns"].astype(np.int64)
        counts += [len(events), opened, int((np.diff(begins) < 0).sum()), int((begins == 0).sum())]
    return Events(
        _joined_spans(spans), _joined_indexes(indexes), int(counts[0]), pools, int(counts[1]), int(counts[2]), int(counts[3])
    )  # fmt: skip


def _split(segment: Segment) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Separate the 32-byte events from the data that follows each TT_INDEX."""
    if len(segment.payload) % EVENT.itemsize:
        raise TraceFormatError(
            f"{segment.name}: {len(segment.payload)} bytes of events, not a multiple of {EVENT.itemsize}; the file was cut"
        )
    rows = segment.payload.view(EVENT)
    is_event = np.ones(len(rows), bool)
    ne0, n, parts = [], [], []
    end = 0
    for at in np.flatnonzero(rows["type"] == INDEX).tolist():
        if at < end:  # bytes of the data before it that look like an event
            continue
        row = rows[at]
        element, first, second = int(row["n_fused"]), int(row["end_ns"]) & NONE, int(row["end_ns"]) >> 32
        size = first * second * element
        end = at + 1 + -(-size // EVENT.itemsize)
        if element not in (4, 8) or end > len(rows):
            raise TraceFormatError(
                f"{segment.name}: index at event {at}: {first} x {second} numbers of {element} bytes do not fit"
            )
        is_event[at + 1 : end] = False
        kind = "<f4" if int(row["barrier_ns"]) == WEIGHTS else f"<i{element}"
        start = (at + 1) * EVENT.itemsize
        parts.append(segment.payload[start : start + size].view(kind).astype(np.float64))
        ne0.append(first)
        n.append(first * second)
    events = rows[is_event]
    unknown = ~np.isin(events["type"], (OP, THREAD_BEGIN, THREAD_END, INDEX))
    if unknown.any():
        at = int(np.flatnonzero(unknown)[0])
        raise TraceFormatError(f"{segment.name}: event {at} has type {events['type'][at]}, which is unknown")
    values = np.concatenate(parts) if parts else np.zeros(0)
    return events, (np.array(ne0, np.int64), np.array(n, np.int64), values)


def _owners(segment: Segment, events: np.ndarray, pools: dict[int, int]) -> tuple[np.ndarray, np.ndarray, int]:
    """Compute and thread number of every event, and how many computes never ended."""
    begin = np.flatnonzero(events["type"] == THREAD_BEGIN)
    if len(events) and (len(begin) == 0 or begin[0] != 0):
        raise TraceFormatError(f"{segment.name}: the first event does not open a compute")
    end = np.flatnonzero(events["type"] == THREAD_END)
    if len(events) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    which = np.cumsum(events["type"] == THREAD_BEGIN) - 1
    for compute, pool in zip(
        events["end_ns"][begin].tolist(), (events["barrier_ns"][begin] & NONE).tolist(), strict=True
    ):
        pools[compute] = pool
    return events["end_ns"][begin].astype(np.int64)[which], events["node"][begin][which], len(begin) - len(end)


class _Lookup:
    """Compute number and node inside it -> pass number and node of the pass's graph."""

    def __init__(self, computes: Mapping[int, Compute]) -> None:
        size = max(computes, default=-1) + 1
        self._size = size
        self._pass = np.full(size, -1, np.int64)
        self._first = np.zeros(size, np.int64)
        self._n = np.zeros(size, np.int64)
        self._maps = {number: c.node_map for number, c in computes.items() if c.node_map is not None}
        for number, compute in computes.items():
            self._pass[number] = compute.pass_number
            self._first[number] = compute.first_node or 0
            self._n[number] = compute.n_nodes

    def place(self, compute: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ok = (compute >= 0) & (compute < self._size)
        safe = np.where(ok, compute, 0)
        if self._size == 0:
            return safe, node.astype(np.int64), ok
        ok &= (self._pass[safe] >= 0) & (node < self._n[safe])
        placed = node.astype(np.int64) + self._first[safe]
        for number, node_map in self._maps.items():
            mine = ok & (compute == number)
            placed[mine] = node_map[node[mine]]
        return self._pass[safe], placed, ok & (placed != NONE)


def _joined_spans(parts: list[tuple[np.ndarray, ...]]) -> Spans:
    columns = [np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)] if parts else []
    return Spans(*(columns or [np.zeros(0, np.int64)] * 9))


def _joined_indexes(parts: list[tuple[np.ndarray, ...]]) -> Indexes:
    if not parts:
        none = np.zeros(0, np.int64)
        return Indexes(none, none, none, none, none, none, np.zeros(0))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    pass_number, node, what, ne0, n = (column.astype(np.int64) for column in columns[:5])
    return Indexes(pass_number, node, what, ne0, n, np.cumsum(n) - n, columns[5])
