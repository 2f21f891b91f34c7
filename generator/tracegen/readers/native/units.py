"""Decodes a thread segment into columns: what one thread did, in ticks of the run's clock."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.records import NUMBER, SIZE
from tracegen.readers.native.segments import Bytes, Segment

OP, THREAD_BEGIN, THREAD_END, INDEX, LONG_OP, MORE = 1, 2, 3, 4, 5, 255
ROWS, EXPERTS, CELLS, COLUMNS, WEIGHTS, MASK = 1, 2, 3, 4, 5, 6
WINDOW = 1 << 17  # rows that are processed at a time, so that their columns fit a processor's cache
EXACT = 1 << 53  # integers below this are exact in a float64

OP_UNIT = np.dtype(
    [("gap", "<u4"), ("took", "<u4"), ("barrier", "<u4"), ("node", "<u2"), ("n_fused", "u1"), ("type", "u1")]
)
LONG_UNITS = np.dtype(
    [
        ("begin", "<u8"),
        ("node", "<u4"),
        ("n_fused", "<u2"),
        ("reserved", "u1"),
        ("type", "u1"),
        ("took", "<u8"),
        ("barrier", "<u4"),
        ("barrier_high", "<u2"),
        ("reserved2", "u1"),
        ("more", "u1"),
    ]
)
BEGIN_UNITS = np.dtype(
    [
        ("time", "<u8"),
        ("thread", "<u4"),
        ("n_threads", "<u2"),
        ("reserved", "u1"),
        ("type", "u1"),
        ("compute", "<u8"),
        ("os_thread", "<u4"),
        ("reserved2", "<u2"),
        ("reserved3", "u1"),
        ("more", "u1"),
    ]
)
END_UNIT = np.dtype([("time", "<u8"), ("thread", "<u4"), ("reserved", "<u2"), ("reserved2", "u1"), ("type", "u1")])
INDEX_UNITS = np.dtype(
    [
        ("time", "<u8"),
        ("node", "<u4"),
        ("what", "u1"),
        ("bytes", "u1"),
        ("reserved", "u1"),
        ("type", "u1"),
        ("ne0", "<u4"),
        ("ne1", "<u4"),
        ("reserved2", "<u4"),
        ("reserved3", "<u2"),
        ("reserved4", "u1"),
        ("more", "u1"),
    ]
)


@dataclass(frozen=True)
class Ops:
    """One row per op that the thread ran, in order.

    `begin`, `end`, `following` (start of the next event) and `barrier` (a duration) are int64 ticks. `opening` is the
    op's row in `Openings`. `node` (int32) counts within the compute; `n_fused` is uint16.
    """

    opening: np.ndarray
    node: np.ndarray
    n_fused: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    barrier: np.ndarray
    following: np.ndarray


@dataclass(frozen=True)
class Openings:
    """One row per compute that the thread took part in."""

    compute: np.ndarray
    thread: np.ndarray
    n_threads: np.ndarray
    os_thread: np.ndarray


@dataclass(frozen=True)
class Copies:
    """One row per copy of the numbers that an op was about to use.

    `values` holds the numbers of all copies in sequence, float64. `took` is the duration of the copy in ticks, from
    its start to the start of the next event. `opening` is the row in `Openings`.
    """

    opening: np.ndarray
    node: np.ndarray
    what: np.ndarray
    ne0: np.ndarray
    n: np.ndarray
    took: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Units:
    """A decoded thread segment. `moments` are the starts of all events, in order; `n_open` computes never ended."""

    openings: Openings
    ops: Ops
    copies: Copies
    moments: np.ndarray
    n_open: int


def read_units(segment: Segment) -> Units:
    """Decode a thread segment. Raises TraceFormatError naming segment and unit."""
    payload = segment.payload
    if len(payload) % OP_UNIT.itemsize:
        raise TraceFormatError(
            f"{segment.name}: {len(payload)} bytes are no multiple of a unit of {OP_UNIT.itemsize}; the file was cut"
        )
    units = payload.view(OP_UNIT)
    is_unit = np.ones(len(units), bool)
    index_at, index = _indexes(segment, units, is_unit)
    kind = np.where(is_unit, units["type"], 0)
    events = np.flatnonzero(is_unit & (kind != MORE))
    kind = kind[events]
    _refuse(segment, events, ~np.isin(kind, (OP, THREAD_BEGIN, THREAD_END, INDEX, LONG_OP)), "its type is unknown")
    begins_at = _wide_at(segment, units, events, kind, is_unit)
    del is_unit
    opening, n_open = _openings(segment, events, kind)
    begin, end = _times(segment, units, events, kind)
    openings = _wide(units, begins_at, BEGIN_UNITS)
    outside = openings["thread"] >= openings["n_threads"]
    _refuse(segment, begins_at, outside, "its thread number is not below the number of threads")
    closed = units.view(END_UNIT)["thread"][events[kind == THREAD_END]]
    mismatched = closed != openings["thread"][opening[kind == THREAD_END]]
    _refuse(segment, events[kind == THREAD_END], mismatched, "it ends the part of a thread that did not begin")
    # No index lies before the first THREAD_BEGIN: _openings has refused that.
    at_index = np.searchsorted(events, index_at) if len(index_at) else np.zeros(0, np.int64)
    n = index["ne0"].astype(np.int64) * index["ne1"]  # below the size of the file
    return Units(
        Openings(
            openings["compute"], *(openings[name].astype(np.int64) for name in ("thread", "n_threads", "os_thread"))
        ),
        _ops(segment, units, events, kind, opening, begin, end),
        Copies(
            opening[at_index],
            index["node"].astype(np.int64),
            index["what"].astype(np.int64),
            index["ne0"].astype(np.int64),
            n,
            begin[np.minimum(at_index + 1, len(begin) - 1)] - begin[at_index],
            _numbers(segment, payload, index_at, index, n),
        ),
        begin,
        n_open,
    )


def windows(n: int) -> Iterator[slice]:
    """Slices that cover `n` rows, WINDOW at a time: temporary arrays stay small beside the columns that they fill."""
    return (slice(first, min(first + WINDOW, n)) for first in range(0, n, WINDOW))


def _refuse(segment: Segment, at: np.ndarray, wrong: np.ndarray, what: str) -> None:
    """Raise TraceFormatError for the first of the units `at` that is `wrong` (bool, of equal length)."""
    if wrong.any():
        unit = int(at[np.flatnonzero(wrong)[0]])
        raise TraceFormatError(f"{segment.name}: unit {unit}: {what}; the trace was changed")


def _wide(units: np.ndarray, at: np.ndarray, dtype: np.dtype[np.void]) -> np.ndarray:
    """The events of two units that begin at the units `at`. The caller knows that both units exist."""
    raw = units.view(np.uint8).reshape(-1, OP_UNIT.itemsize)
    return np.concatenate([raw[at], raw[at + 1]], axis=1).reshape(-1).view(dtype)


def _indexes(segment: Segment, units: np.ndarray, is_unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit of each index, and its head. Clears `is_unit` for the units that hold numbers."""
    candidates = np.flatnonzero(units["type"] == INDEX)
    ends = candidates + 1 >= len(units)
    heads = np.zeros(len(candidates), INDEX_UNITS)
    heads[~ends] = _wide(units, candidates[~ends], INDEX_UNITS)
    counts = np.minimum(heads["ne0"].astype(np.uint64) * heads["ne1"], units.nbytes).astype(np.int64)
    after = candidates + 2 + -(-counts * heads["bytes"] // OP_UNIT.itemsize)
    chosen, end = [], 0
    for row, (at, behind) in enumerate(zip(candidates.tolist(), after.tolist(), strict=True)):
        if at >= end:  # else it is a number of the index before that looks like an index
            chosen.append(row)
            end = behind
    where, head, until = candidates[chosen], heads[chosen], after[chosen]
    narrow = (head["bytes"] == 4) | ((head["bytes"] == 8) & (head["what"] != WEIGHTS))
    known = np.isin(head["what"], (ROWS, EXPERTS, CELLS, COLUMNS, WEIGHTS, MASK))
    paired = (head["what"] != MASK) | (head["ne0"] == 2)  # a mask: first row and number of rows of each run
    wrong = np.flatnonzero(~(narrow & known & paired & (until <= len(units)) & ~ends[chosen]))
    if len(wrong):
        first = head[wrong[0]]
        raise TraceFormatError(
            f"{segment.name}: index at unit {where[wrong[0]]}: {first['ne0']} x {first['ne1']} numbers of"
            f" {first['bytes']} bytes and kind {first['what']} do not fit; the trace was changed"
        )
    depth = np.zeros(len(units) + 1, np.int8)
    depth[where + 2] = 1
    np.add.at(depth, until, -1)  # add, as the next index may begin where this one ends
    is_unit &= np.cumsum(depth[:-1], dtype=np.int8) == 0
    return where, head


def _wide_at(
    segment: Segment, units: np.ndarray, events: np.ndarray, kind: np.ndarray, is_unit: np.ndarray
) -> np.ndarray:
    """The units of all THREAD_BEGINs. Raises TraceFormatError when an event of two units lacks one of them."""
    wide = np.isin(kind, (THREAD_BEGIN, INDEX, LONG_OP))
    more = np.flatnonzero(is_unit & (units["type"] == MORE))
    if not np.array_equal(events[wide] + 1, more):
        alone = np.setxor1d(events[wide] + 1, more)[:1] - 1
        _refuse(segment, np.maximum(alone, 0), np.ones(1, bool), "a second unit is missing, or without a first")
    begins: np.ndarray = events[kind == THREAD_BEGIN]
    return begins


def _openings(segment: Segment, events: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, int]:
    """For each event the number of its THREAD_BEGIN; and how many never ended: 0, or 1 for the last."""
    is_begin = kind == THREAD_BEGIN
    # int8 may overflow, but only behind the first depth that is neither 0 nor 1, which is refused.
    depth = np.cumsum(is_begin.astype(np.int8) - (kind == THREAD_END), dtype=np.int8)
    _refuse(segment, events, depth != (kind != THREAD_END), "the computes of this thread do not begin and end in turn")
    opening = np.cumsum(is_begin, dtype=np.int32 if len(kind) < NUMBER else np.int64) - 1
    return opening, int(depth[-1]) if len(depth) else 0


def _times(segment: Segment, units: np.ndarray, events: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of every event in ticks, int64."""
    begin, end = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
    before = 0
    for part in windows(len(events)):
        begin[part], end[part] = _times_after(before, segment, units, events[part], kind[part])
        before = int(end[part.stop - 1])
    return begin, end


def _times_after(
    before: int, segment: Segment, units: np.ndarray, events: np.ndarray, kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of `events` in ticks; the event before them ended at `before`.

    An OP states its start as a gap after the previous event; all other events state it directly.
    """
    is_op = kind == OP
    stated = np.where(is_op, 0, units.view(END_UNIT)["time"][events])
    _refuse(segment, events, stated >= SIZE, "its time is not below 2**62 ticks")
    took = np.where(is_op, units["took"][events], 0).astype(np.int64)
    is_long = kind == LONG_OP
    long_took = _wide(units, events[is_long], LONG_UNITS)["took"]
    too_long = long_took >= SIZE - stated[is_long]
    _refuse(segment, events[is_long], too_long, "its end is not below 2**62 ticks")
    took[is_long] = long_took.astype(np.int64)
    # An OP ends at the last stated moment plus all gaps and durations since: a difference of cumulative sums.
    passed = np.append(0, np.cumsum(np.where(is_op, units["gap"][events] + took, 0)))
    reached = np.append(before, stated.astype(np.int64) + took)
    last = np.maximum.accumulate(np.where(is_op, 0, np.arange(1, len(kind) + 1)))
    end = reached[last] + passed[1:] - passed[last]
    return end - took, end


def _ops(
    segment: Segment,
    units: np.ndarray,
    events: np.ndarray,
    kind: np.ndarray,
    opening: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
) -> Ops:
    """The ops among the events."""
    chosen = np.flatnonzero((kind == OP) | (kind == LONG_OP))
    n = len(chosen)
    node, n_fused, barrier = np.empty(n, np.int32), np.empty(n, np.uint16), np.empty(n, np.int64)
    op_begin, op_end = begin[chosen], end[chosen]
    for part in windows(n):
        at = chosen[part]
        took = op_end[part] - op_begin[part]
        node[part], n_fused[part], barrier[part] = _op_columns(segment, units, events[at], kind[at], took)
    following = begin[np.minimum(chosen + 1, len(begin) - 1)]
    if n and chosen[-1] == len(begin) - 1:
        following[-1] = end[-1]
    return Ops(opening[chosen], node, n_fused, op_begin, op_end, barrier, following)


def _op_columns(
    segment: Segment, units: np.ndarray, at: np.ndarray, kind: np.ndarray, took: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Node, fused nodes and ticks in barriers of the ops at `at`."""
    node, n_fused, barrier = (units[name][at].astype(np.int64) for name in ("node", "n_fused", "barrier"))
    is_long = kind == LONG_OP
    longs = _wide(units, at[is_long], LONG_UNITS)
    node[is_long], n_fused[is_long] = longs["node"], longs["n_fused"]
    barrier[is_long] = longs["barrier"] | longs["barrier_high"].astype(np.int64) << 32
    _refuse(segment, at, barrier > took, "an op waits longer than it takes")
    _refuse(segment, at, node >= NUMBER, "the number of its node is not below 2**31")
    return node, n_fused, barrier


def _numbers(segment: Segment, payload: Bytes, at: np.ndarray, index: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The numbers of all indexes in sequence, float64. Raises TraceFormatError for one below 0 or from 2**53 on."""
    numbers = np.zeros(int(n.sum()))
    first = np.cumsum(n) - n
    for dtype, chosen in (
        ("<f4", index["what"] == WEIGHTS),
        ("<i4", (index["what"] != WEIGHTS) & (index["bytes"] == 4)),
        ("<i8", (index["what"] != WEIGHTS) & (index["bytes"] == 8)),
    ):
        m = n[chosen]
        inside = np.arange(int(m.sum())) - np.repeat(np.cumsum(m) - m, m)
        source = np.repeat((at[chosen] + 2) * (OP_UNIT.itemsize // int(dtype[-1])), m) + inside
        whole = payload[: len(payload) // 8 * 8]
        with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
            values = whole.view(dtype)[source]
        if dtype != "<f4" and len(values) and not 0 <= int(values.min()) <= int(values.max()) < EXACT:
            wrong = (values < 0) | (values >= EXACT)
            unit = int(np.repeat(at[chosen], m)[np.flatnonzero(wrong)[0]])
            raise TraceFormatError(
                f"{segment.name}: index at unit {unit}: numbers {values.min()} to {values.max()} must be at least 0 and"
                f" below {EXACT}; the trace was changed"
            )
        with np.errstate(invalid="ignore"):
            numbers[np.repeat(first[chosen], m) + inside] = values
    return numbers
