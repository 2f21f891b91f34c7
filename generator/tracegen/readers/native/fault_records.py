"""Decodes the segments of page faults: the records of each kind, and which thread wrote each in which compute."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.clock import LONGEST_NS
from tracegen.readers.native.recorded import UNKNOWN
from tracegen.readers.native.records import NUMBER, SIZE
from tracegen.readers.native.segments import Segment

MINOR, MAJOR, OPEN, ELSEWHERE, LOST, UNSEEN, PART, BARRIER, OFF_CPU = range(1, 10)
_MOST_THREADS = 1 << 30


def _record(*numbers: str) -> np.dtype[np.void]:
    return np.dtype([*((name, "<u8") for name in numbers), ("os_thread", "<u4"), ("kind", "<u4")])


# The structs of a record, by kind: views of the same 32 bytes.
FAULT = _record("begin_ns", "took_ns", "address")
FAULTS_ELSEWHERE = _record("begin_ns", "took_ns", "n_faults")
FAULTS_LOST = _record("before_ns", "reserved", "n_events")
FAULTS_UNSEEN = _record("since_ns", "reserved", "error")
FAULT_PART = _record("time_ns", "thread", "compute")
BARRIER_WAIT = _record("begin", "took", "node")
TIME_OFF_CPU = _record("begin_ns", "took_ns", "slept")
STRUCTS = {
    MINOR: FAULT,
    MAJOR: FAULT,
    OPEN: FAULT,
    ELSEWHERE: FAULTS_ELSEWHERE,
    LOST: FAULTS_LOST,
    UNSEEN: FAULTS_UNSEEN,
    PART: FAULT_PART,
    BARRIER: BARRIER_WAIT,
    OFF_CPU: TIME_OFF_CPU,
}
_BELOW = {
    **dict.fromkeys(("begin_ns", "before_ns", "since_ns", "time_ns", "begin"), SIZE),
    **dict.fromkeys(("took_ns", "took", "reserved", "n_faults", "n_events"), LONGEST_NS),
    "node": NUMBER,
    "slept": 2,
}  # limits of the fields of these names; the others may hold any number


@dataclass(frozen=True)
class StructRecords:
    """Records of one struct: `rows` in its dtype, and for each the compute and the number of the thread in its pool.

    compute is uint64, UNKNOWN where the thread was in none; thread is int64, -1 there.
    """

    rows: np.ndarray
    compute: np.ndarray
    thread: np.ndarray


@dataclass(frozen=True)
class FaultRecords:
    """The records of all segments by their struct, each in the order of writing within a segment."""

    faults: StructRecords
    elsewhere: StructRecords
    lost: StructRecords
    unseen: StructRecords
    waits: StructRecords
    off_cpu: StructRecords


def read_fault_records(segments: Sequence[Segment]) -> FaultRecords:
    """Decode the segments. Raises TraceFormatError naming segment and record."""
    read = [_read(segment) for segment in segments]
    raw = np.concatenate([np.zeros(0, FAULT), *(raw for raw, _ in read)])
    parts = np.concatenate([np.zeros(0, FAULT_PART), *(parts for _, parts in read)])
    thread = np.minimum(parts["thread"], _MOST_THREADS).astype(np.int64)
    thread[parts["compute"] == UNKNOWN] = -1

    def these(*kinds: int) -> StructRecords:
        chosen = np.isin(raw["kind"], kinds)
        return StructRecords(raw[chosen].view(STRUCTS[kinds[0]]), parts["compute"][chosen], thread[chosen])

    return FaultRecords(
        these(MINOR, MAJOR, OPEN), these(ELSEWHERE), these(LOST), these(UNSEEN), these(BARRIER), these(OFF_CPU)
    )


def _read(segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """The records of a segment, and for each the FAULT_PART before it; those themselves left out."""
    payload = segment.payload
    if len(payload) % FAULT.itemsize:
        raise TraceFormatError(f"{segment.name}: {len(payload)} bytes of records of {FAULT.itemsize}; the file was cut")
    raw = payload.view(FAULT)
    unknown = np.flatnonzero(~np.isin(raw["kind"], list(STRUCTS)))
    if len(unknown):
        at = int(unknown[0])
        raise TraceFormatError(f"{segment.name}: record {at} has kind {raw['kind'][at]}, which is unknown")
    wrong = np.zeros(len(raw), bool)
    for kind, struct in STRUCTS.items():
        rows = raw.view(struct)
        for name in _BELOW.keys() & set(struct.names or ()):
            wrong |= (raw["kind"] == kind) & (rows[name] >= _BELOW[name])
    if wrong.any():
        raise TraceFormatError(f"{segment.name}: record {int(np.argmax(wrong))} holds a number that cannot be")
    is_part = raw["kind"] == PART
    part = np.maximum.accumulate(np.where(is_part, np.arange(len(raw)), -1))
    none = np.zeros(1, FAULT_PART)
    none["compute"] = UNKNOWN
    return raw[~is_part], np.concatenate([none, raw.view(FAULT_PART)])[part[~is_part] + 1]
