"""The units of thread segments compared with what was encoded, and the clock compared with exact fractions."""

import struct
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.trace_bytes import chunk, header, index, op, short_op, thread_begin, thread_end
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native import units
from tracegen.readers.native.clock import TSC, clock_of
from tracegen.readers.native.segments import read_segment
from tracegen.readers.native.units import Units, read_units

Row = tuple[int, ...]

BELOW = st.integers(0, 2**32 - 1)
LARGE = st.integers(0, 2**45)
STEP = st.one_of(
    st.tuples(st.just("short"), BELOW, BELOW, st.integers(0, 2**16 - 1), st.integers(0, 255)),
    st.tuples(st.just("long"), LARGE, LARGE, st.integers(0, 2**31 - 1), st.integers(0, 2**16 - 1)),
    st.tuples(st.just("index"), LARGE, st.lists(st.integers(0, 2**31 - 1), max_size=9), st.just(0), st.just(0)),
)
COMPUTE = st.tuples(st.integers(0, 2**62), LARGE, st.lists(STEP, max_size=12))


def _units(payload: bytes) -> Units:
    return read_units(read_segment("t", np.frombuffer(header(1, 1) + chunk(payload), np.uint8)))


def _encoded(computes: list[tuple[int, int, list[tuple]]]) -> tuple[bytes, list[Row], list[Row]]:
    """The bytes of computes, their ops (opening, node, n_fused, begin, end, barrier), copies (opening, *numbers)."""
    encoded, ops, copies = [], [], []
    now = 1
    for opening, (number, pause, steps) in enumerate(computes):
        now += pause
        encoded.append(thread_begin(number, time=now))
        for kind, gap, value, node, fused in steps:
            now += gap
            if kind == "index":
                data = index(struct.pack(f"<{len(value)}I", *value), ne0=len(value), node=node)
                encoded.append(struct.pack("<Q", now) + data[8:])
                copies.append((opening, *value))
                continue
            barrier = value // 3
            if kind == "short":
                encoded.append(short_op(gap=gap, took=value, barrier=barrier, node=node, n_fused=fused))
            else:
                encoded.append(op(begin=now, took=value, barrier=barrier, node=node, n_fused=fused))
            ops.append((opening, node, fused, now, now + value, barrier))
            now += value
        now += 5
        encoded.append(thread_end(time=now))
    return b"".join(encoded), ops, copies


@settings(max_examples=300, deadline=None)
@given(st.lists(COMPUTE, max_size=5))
def test_units_are_read_as_they_were_written(computes: list[tuple[int, int, list[tuple]]]) -> None:
    payload, ops, copies = _encoded(computes)
    parsed = _units(payload)
    columns = (
        parsed.ops.opening,
        parsed.ops.node,
        parsed.ops.n_fused,
        parsed.ops.begin,
        parsed.ops.end,
        parsed.ops.barrier,
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == ops
    assert parsed.openings.compute.tolist() == [number for number, _, _ in computes]
    ends = np.cumsum(parsed.copies.n)[:-1]
    values = np.split(parsed.copies.values, ends) if len(parsed.copies.n) else []
    pairs = zip(parsed.copies.opening.tolist(), values, strict=True)
    assert [(opening, *map(int, numbers)) for opening, numbers in pairs] == copies
    assert (np.diff(parsed.moments) >= 0).all() and parsed.n_open == 0
    assert set(parsed.ops.following.tolist()) <= set(parsed.moments.tolist()[1:])


@settings(max_examples=100, deadline=None)
@given(st.lists(COMPUTE, max_size=5), st.integers(1, 7))
def test_it_matters_not_how_much_is_read_at_a_time(computes: list[tuple[int, int, list[tuple]]], window: int) -> None:
    payload, _, _ = _encoded(computes)
    whole = _units(payload)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "WINDOW", window)
        in_windows = _units(payload)
    assert in_windows.moments.tolist() == whole.moments.tolist()
    for column, values in vars(whole.ops).items():
        assert getattr(in_windows.ops, column).tolist() == values.tolist(), column


def exact_time(ticks: list[int], ns: list[int], at: int) -> int:
    """The time of a tick as an exact fraction, rounded down: outside the moments the mean rate counts."""
    i = max((i for i, t in enumerate(ticks) if t <= at), default=0)
    rate = Fraction(ns[-1] - ns[0], ticks[-1] - ticks[0])
    if ticks[0] <= at < ticks[-1]:
        rate = Fraction(ns[i + 1] - ns[i], ticks[i + 1] - ticks[i])
    return ns[i] + floor((at - ticks[i]) * rate)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20),
    st.lists(st.integers(0, 2 * 10**7), min_size=1, max_size=50),
)
def test_the_clock_is_a_straight_line_between_its_moments(steps: list[tuple[int, int]], queries: list[int]) -> None:
    ticks, ns = [10**6], [10**9]
    for d_ticks, d_ns in [*steps, (1, 1)]:
        ticks.append(ticks[-1] + d_ticks)
        ns.append(ns[-1] + d_ns)
    times = clock_of(TSC, list(zip(ticks, ns, strict=True))).ns_of(np.array(queries))
    assert times.tolist() == [exact_time(ticks, ns, at) for at in queries]
    ordered = clock_of(TSC, list(zip(ticks, ns, strict=True))).ns_of(np.sort(np.array(queries)))
    assert (np.diff(ordered) >= 0).all()


def test_a_year_of_ticks_is_converted_to_the_nanosecond() -> None:
    year = 365 * 86_400 * 10**9
    clock = clock_of(TSC, [(0, 0), (5 * year // 2, year)])
    near = clock_of(TSC, [(0, 0), (5 * year // 2, year), (5 * year // 2 + 5_000, year + 2_000)])
    queries = np.array([5 * year // 2 - 5, 5 * year // 2 + 2_500])
    assert near.ns_of(queries).tolist() == [year - 2, year + 1_000] and clock.ns_of(queries[:1]).tolist() == [year - 2]


DAY = 86_400 * 10**9
FAR = st.integers(1, 300 * DAY)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(FAR, FAR), min_size=1, max_size=3), st.lists(st.floats(-0.3, 1.3), min_size=1, max_size=40))
def test_far_times_are_rounded_down_from_the_exact_fraction(steps: list[tuple[int, int]], parts: list[float]) -> None:
    """The products of ticks and ns do not fit into 64 bits, and their quotients not into a float64."""
    ticks, ns = [7 * DAY], [11 * DAY]
    for d_ticks, d_ns in steps:
        if sum((d_ticks, ticks[-1] - ticks[0])) < 1 << 57 and d_ns + ns[-1] - ns[0] < 400 * DAY:
            ticks.append(ticks[-1] + d_ticks)
            ns.append(ns[-1] + d_ns)
    whole = Fraction(ns[-1] - ns[0], ticks[-1] - ticks[0])
    queries = sorted(ticks[0] + int(part * (ticks[-1] - ticks[0])) for part in parts)
    queries = [query for query in queries if abs(query - ticks[0]) * whole < 1 << 54]
    times = clock_of(TSC, list(zip(ticks, ns, strict=True))).ns_of(np.array(queries, np.int64)).tolist()
    assert times == [exact_time(ticks, ns, at) for at in queries]
    assert times == sorted(times)


def test_moments_further_apart_than_a_run_can_be_are_refused() -> None:
    for far in ((1 << 57, 10), (10, 1 << 55)):
        with pytest.raises(TraceFormatError, match="further apart than a run can last"):
            clock_of(TSC, [(0, 0), far])
    year = 365 * DAY
    with pytest.raises(TraceFormatError, match="further from every known moment"):
        clock_of(TSC, [(0, 0), (1000, 1000)]).ns_of(np.array([2 * year]))


def test_the_length_of_ticks_after_a_long_run() -> None:
    """Ticks and ns fit into 64 bits, but not their product: at 3 GHz ten seconds are too many."""
    week = 7 * DAY
    clock = clock_of(TSC, [(10**15, 2 * 10**15), (10**15 + 3 * week, 2 * 10**15 + week)])
    for ticks in (0, 1, 3 * 10**10, 3 * week, 10**16):
        assert clock.length_ns(ticks) == pytest.approx(ticks / 3, rel=1e-15)
        assert clock.length_ns(np.int64(ticks)) == clock.length_ns(float(ticks)) == clock.length_ns(ticks)
