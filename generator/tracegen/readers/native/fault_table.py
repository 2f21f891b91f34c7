"""Page faults of the threads that computed: where in which model file, how long, in which operation.

The same segments say when threads waited at barriers inside operations: see `barrier_table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.events import Spans
from tracegen.readers.native.placement_table import file_numbers
from tracegen.readers.native.recorded import UNKNOWN, Compute, Pass, Records
from tracegen.readers.native.segments import Segment

FAULT = np.dtype([("begin_ns", "<u8"), ("took_ns", "<u8"), ("address", "<u8"), ("os_thread", "<u4"), ("kind", "<u4")])
MINOR, MAJOR, OPEN, ELSEWHERE, LOST, UNSEEN, PART, BARRIER = 1, 2, 3, 4, 5, 6, 7, 8
_LONGEST_NS = 1 << 55  # 417 days


@dataclass(frozen=True)
class Faults:
    """What the segments of page faults say.

    table: the table `faults`.
    span_ns: of each span, in the order of `spans`: time in page faults of model files, ns (int64).
    elsewhere, elsewhere_ns, lost: by pass_id (int64): page faults outside the model files, their time, and events
        that the kernel had no room for.
    n_unplaced: page faults outside the model files, or lost events, that belong to no pass.
    n_unseen: threads that could not be watched.
    """

    table: pd.DataFrame
    span_ns: np.ndarray
    elsewhere: np.ndarray
    elsewhere_ns: np.ndarray
    lost: np.ndarray
    n_unplaced: int
    n_lost: int
    n_unseen: int


def read_faults(
    segments: Sequence[Segment],
    records: Records,
    ordered: Sequence[Pass],
    pass_ids: Mapping[int, int],
    spans: Spans,
    files: pd.DataFrame,
) -> Faults:
    """Read the segments of page faults, and place each fault in its pass, operation and file.

    ordered: passes and loads by pass_id; `pass_ids` leads to it from the tracer's numbers.
    Raises TraceFormatError naming segment and record.
    """
    raw, parts = read_parts(segments)
    pass_id, thread = _parts(parts, records.computes, pass_ids)
    begin_ns = raw["begin_ns"].astype(np.int64)
    outside = pass_id < 0
    pass_id[outside] = _pass_at(begin_ns[outside], ordered)

    counted = np.isin(raw["kind"], (ELSEWHERE, LOST))
    placed = counted & (pass_id >= 0)
    is_fault = np.isin(raw["kind"], (MINOR, MAJOR, OPEN))
    faults = _Faults(
        raw[is_fault], begin_ns[is_fault], pass_id[is_fault], np.where(outside, -1, thread)[is_fault]
    ).in_order()
    span = _span_of(faults, spans)
    known = faults.raw["kind"] != OPEN
    span_ns = np.zeros(len(spans.node), np.int64)
    at = (span >= 0) & known
    np.add.at(span_ns, span[at], faults.raw["took_ns"][at].astype(np.int64))
    return Faults(
        table=_table(faults, span, spans, _places(faults, records, files)),
        span_ns=span_ns,
        elsewhere=_by_pass(raw, pass_id, placed & (raw["kind"] == ELSEWHERE), "address", len(ordered)),
        elsewhere_ns=_by_pass(raw, pass_id, placed & (raw["kind"] == ELSEWHERE), "took_ns", len(ordered)),
        lost=_by_pass(raw, pass_id, placed & (raw["kind"] == LOST), "address", len(ordered)),
        n_unplaced=int(raw["address"][counted & ~placed].sum()),
        n_lost=int(raw["address"][raw["kind"] == LOST].sum()),
        n_unseen=int((raw["kind"] == UNSEEN).sum()),
    )


@dataclass(frozen=True)
class _Faults:
    """Faults of model files: their records, begin (ns), pass_id and number of the thread in its pool (-1: none)."""

    raw: np.ndarray
    begin_ns: np.ndarray
    pass_id: np.ndarray
    thread: np.ndarray

    def in_order(self) -> _Faults:
        """In order of begin."""
        order = np.argsort(self.begin_ns, kind="stable")
        return _Faults(self.raw[order], self.begin_ns[order], self.pass_id[order], self.thread[order])


def _read(segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """The records of a segment, and for each the record that names its part of a compute; those themselves left out."""
    payload = segment.payload
    if len(payload) % FAULT.itemsize:
        raise TraceFormatError(f"{segment.name}: {len(payload)} bytes of records of {FAULT.itemsize}; the file was cut")
    raw = payload.view(FAULT)
    unknown = np.flatnonzero((raw["kind"] < MINOR) | (raw["kind"] > BARRIER))
    if len(unknown):
        at = int(unknown[0])
        raise TraceFormatError(f"{segment.name}: record {at} has kind {raw['kind'][at]}, which is unknown")
    too_long = np.flatnonzero(
        (raw["begin_ns"] >= np.uint64(1 << 62)) | ((raw["kind"] != PART) & (raw["took_ns"] >= np.uint64(_LONGEST_NS)))
        | (np.isin(raw["kind"], (ELSEWHERE, LOST)) & (raw["address"] >= np.uint64(1 << 55)))
    )  # fmt: skip
    if len(too_long):
        raise TraceFormatError(f"{segment.name}: record {int(too_long[0])} holds a number that cannot be")
    is_part = raw["kind"] == PART
    part = np.maximum.accumulate(np.where(is_part, np.arange(len(raw)), -1))
    none = np.zeros(1, FAULT)
    none["address"] = UNKNOWN
    return raw[~is_part], np.concatenate([none, raw])[part[~is_part] + 1]


def read_parts(segments: Sequence[Segment]) -> tuple[np.ndarray, np.ndarray]:
    """The records of all segments, and for each the record that names its part of a compute.

    Raises TraceFormatError naming segment and record.
    """
    none, read = np.zeros(0, FAULT), [_read(segment) for segment in segments]
    return np.concatenate([none, *(raw for raw, _ in read)]), np.concatenate([none, *(part for _, part in read)])


def _parts(
    parts: np.ndarray, computes: Mapping[int, Compute], pass_ids: Mapping[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """pass_id (-1: in no compute) and number of the thread of each record, from the record that names its part."""
    numbers, at = np.unique(parts["address"], return_inverse=True)
    of_compute = np.full(len(numbers), -1, np.int64)
    for i, number in enumerate(numbers.tolist()):
        if number == UNKNOWN:
            continue
        if number not in computes:
            raise TraceFormatError(f"page faults are told of compute {number}, which the main segment does not know")
        of_compute[i] = pass_ids[computes[number].pass_number]
    thread = np.minimum(parts["took_ns"], np.uint64(1 << 30)).astype(np.int64)
    return of_compute[at.reshape(-1)], thread


def _pass_at(time_ns: np.ndarray, ordered: Sequence[Pass]) -> np.ndarray:
    """The pass or load that was open at each time; -1 where there was none, or more than one."""
    if not ordered:
        return np.full(len(time_ns), -1, np.int64)
    begin = np.array([p.begin_ns for p in ordered], np.int64)
    end = np.array([1 << 62 if p.end_ns is None else p.end_ns for p in ordered], np.int64)
    n_begun = np.searchsorted(begin, time_ns, "right")
    last = np.maximum(n_begun - 1, 0)
    n_open = n_begun - np.searchsorted(np.sort(end), time_ns, "right")
    return np.where((n_open == 1) & (time_ns < end[last]), last, -1)


def _span_of(faults: _Faults, spans: Spans) -> np.ndarray:
    """The row of `spans` in which each fault lies by the middle of its time; -1: between two operations."""
    row_of = np.full(len(faults.raw), -1, np.int64)
    middle = faults.begin_ns + (faults.raw["took_ns"] // np.uint64(2)).astype(np.int64)
    order = np.lexsort((faults.thread, faults.pass_id))
    group = np.stack([faults.pass_id[order], faults.thread[order]])
    opens = np.flatnonzero(np.any(np.diff(group, prepend=-2) != 0, axis=0))
    for chosen in np.split(order, opens[1:]):
        if not len(chosen) or faults.thread[chosen[0]] < 0:
            continue
        pass_id, thread = faults.pass_id[chosen[0]], faults.thread[chosen[0]]
        first, end = np.searchsorted(spans.pass_id, (pass_id, pass_id + 1))
        rows = first + np.flatnonzero(spans.thread[first:end] == thread)
        rows = rows[np.argsort(spans.begin_ns[rows], kind="stable")]
        at = np.searchsorted(spans.begin_ns[rows], middle[chosen], "right") - 1
        chosen, at = chosen[at >= 0], at[at >= 0]
        row = rows[at]
        inside = middle[chosen] <= spans.begin_ns[row] + spans.work_ns[row] + spans.barrier_ns[row]
        row_of[chosen[inside]] = row[inside]
    return row_of


def _places(faults: _Faults, records: Records, files: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """File (-1: of no model) and offset in it of each fault. Raises TraceFormatError where nothing was mapped."""
    numbers = file_numbers(records, files)
    address = faults.raw["address"]
    file, offset = np.full(len(address), -2, np.int64), np.zeros(len(address), np.int64)
    for mapping in records.mappings:
        there = (address >= np.uint64(mapping.address)) & (address - np.uint64(mapping.address) < mapping.size_bytes)
        there &= faults.begin_ns >= mapping.begin_ns
        if mapping.end_ns is not None:
            there &= faults.begin_ns < mapping.end_ns
        file[there] = numbers[mapping.path]
        offset[there] = (address[there] - np.uint64(mapping.address)).astype(np.int64) + mapping.file_offset
    if (file == -2).any():
        first = int(address[file == -2][0])
        raise TraceFormatError(f"a page fault at address {first:#x} is told of, where no file was mapped")
    return file, offset


def _table(faults: _Faults, span: np.ndarray, spans: Spans, places: tuple[np.ndarray, np.ndarray]) -> pd.DataFrame:
    in_op, at = span >= 0, np.maximum(span, 0)
    file, offset = places
    kind = faults.raw["kind"]
    node = spans.node[at] if len(spans.node) else np.zeros(len(span), np.int32)
    return contract.frame(
        "faults",
        {
            "fault": np.arange(len(span), dtype=np.int32),
            "pass_id": _nullable(faults.pass_id, np.int32),
            "node": pd.arrays.IntegerArray(node.astype(np.int32), ~in_op),
            "thread": _nullable(faults.thread, np.int32),
            "file": _nullable(file, np.int32),
            "offset": pd.arrays.IntegerArray(offset, file < 0),
            "kind": contract.coded("faults", "kind", np.where(kind == OPEN, -1, kind - np.uint32(1)).astype(np.int8)),
            "begin_ns": faults.begin_ns,
            "duration_ns": pd.arrays.IntegerArray(faults.raw["took_ns"].astype(np.int64), kind == OPEN),
        },
    )


def _nullable(values: np.ndarray, dtype: type[np.generic]) -> pd.arrays.IntegerArray:
    """`values`, null where they are below 0."""
    return pd.arrays.IntegerArray(np.maximum(values, 0).astype(dtype), values < 0)


def _by_pass(raw: np.ndarray, pass_id: np.ndarray, chosen: np.ndarray, name: str, n: int) -> np.ndarray:
    """Sums of a field over the chosen records of each pass."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, pass_id[chosen], raw[name][chosen].astype(np.int64))
    return sums
