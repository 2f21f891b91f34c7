"""When threads could have run but had no processor: as a trace holds it, and nanosecond by nanosecond."""

import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.trace_bytes import (
    RUN,
    THREAD,
    Files,
    Trace,
    buffer,
    chunk,
    compute,
    end,
    fault,
    file_map,
    graph,
    header,
    info,
    node,
    part,
    pass_begin,
    pass_end,
    placement,
    read,
    record,
    short_op,
    thread_begin,
    thread_end,
)
from tracegen.readers.native.trace import NativeTrace

MINOR, MAJOR, OPEN = 1, 2, 3
BARRIER, OFF_CPU = 8, 9
BEGIN, PASS_END = 4_000, 9_000
Interval = tuple[int, int]  # begin and length
RECORDED = info(8, "faults.ring_bytes", "524288")


@dataclass(frozen=True)
class Op:
    """An operation on a thread: the time since the one before, how long it took, and where it waited inside."""

    gap: int
    took: int
    waits: tuple[Interval, ...] = ()  # within it, in order
    unrecorded: int = 0  # of its waits, the last ones, of which only the sum is known


@dataclass(frozen=True)
class Thread:
    ops: tuple[Op, ...]
    preempted: tuple[Interval, ...] = ()
    slept: tuple[Interval, ...] = ()
    faults: tuple[tuple[int, Interval], ...] = ()  # with their kinds

    def spans(self) -> list[tuple[int, int]]:
        """Begin and end of each operation."""
        at, spans = BEGIN, []
        for op in self.ops:
            spans.append((at + op.gap, at + op.gap + op.took))
            at = spans[-1][1]
        return spans

    def waits(self) -> list[tuple[int, Interval]]:
        """Node and time of each wait that is recorded."""
        return [
            (i, (begin + at, length))
            for i, (op, (begin, _)) in enumerate(zip(self.ops, self.spans(), strict=True))
            for at, length in op.waits[: len(op.waits) - op.unrecorded]
        ]


def files_of(*threads: Thread, says: str | None = "1") -> Files:
    """A trace of one pass, whose threads ran these operations. `says`: what it says of preemptions; None: nothing."""
    n = max(len(thread.ops) for thread in threads)
    nodes = node(1, 2, computes=1, sources=(n, n + 1)) * n + node(4, 5) + node(4, 7)
    trace = Trace(
        before=[buffer(), graph(n_nodes=n, nodes=nodes), placement(n=n + 2), *RECORDED, file_map()],
        run=[pass_begin(), compute(n_nodes=n), pass_end()],
        after=[end(n_segments=1 + 2 * len(threads))],
    )
    trace.before += [] if says is None else info(10, "faults.off_cpu", says)
    files = {name: data for name, data in trace.files().items() if name != THREAD}
    for i, thread in enumerate(threads):
        events = [thread_begin(thread=i, pool=len(threads), time=BEGIN)]
        for j, op in enumerate(thread.ops):
            waited = sum(length for _, length in op.waits)
            events.append(short_op(gap=op.gap, took=op.took, barrier=waited, node=j))
        events.append(thread_end(thread=i, time=PASS_END))
        told = [part(0, i)]
        told += [fault(BARRIER, begin=begin, took=length, address=j) for j, (begin, length) in thread.waits()]
        told += [fault(kind, begin=begin, took=length) for kind, (begin, length) in thread.faults]
        for slept, times in enumerate((thread.preempted, thread.slept)):
            told += [fault(OFF_CPU, begin=begin, took=length, address=slept) for begin, length in times]
        files[f"{RUN.hex()}.t{i:03}.tt"] = header(1, 1 + 2 * i) + chunk(b"".join(events))
        files[f"{RUN.hex()}.f{i:03}.tt"] = header(2, 2 + 2 * i) + chunk(b"".join(told))
    return files


def trace_of(*threads: Thread, says: str | None = "1") -> NativeTrace:
    return read(files_of(*threads, says=says))


def preempted_ns(trace: NativeTrace) -> list[int]:
    return [int(value) for value in trace.tables["spans"]["preempted_ns"]]


def test_a_preemption_lies_in_the_op_of_its_middle_and_each_op_has_its_piece() -> None:
    ops = (Op(gap=0, took=1_000), Op(gap=10, took=1_000))
    preempted = ((5_900, 300), (4_100, 50), (4_950, 100), (5_990, 200), (7_000, 5))  # the fourth overlaps the first
    trace = trace_of(Thread(ops, preempted))
    rows = trace.tables["off_cpu"].astype(object)
    assert rows.where(rows.notna(), None).values.tolist() == [
        [0, 0, 0, 0, False, 4_100, 50],
        [1, 0, 0, 0, False, 4_950, 100],  # its middle is the end of the operation
        [2, 0, None, 0, False, 5_900, 300],
        [3, 0, None, 0, False, 5_990, 200],
        [4, 0, None, 0, False, 7_000, 5],
    ]
    assert preempted_ns(trace) == [50 + 50, 40 + 110]
    assert trace.facts["off_cpu_recorded"] is True


def test_a_thread_that_slept_could_not_run() -> None:
    trace = trace_of(Thread((Op(gap=0, took=1_000),), ((4_100, 50),), slept=((4_300, 200),)))
    assert preempted_ns(trace) == [50] and trace.tables["off_cpu"]["slept"].tolist() == [False, True]


def test_waits_at_barriers_and_page_faults_are_no_preemptions() -> None:
    op = Op(gap=0, took=1_000, waits=((200, 100), (600, 200)))
    faults = ((MAJOR, (4_350, 100)), (OPEN, (4_450, 0)))
    trace = trace_of(Thread((op,), preempted=((4_150, 250), (4_780, 100)), faults=faults))
    assert preempted_ns(trace) == [50 + 50 + 80]
    assert trace.tables["spans"][["work_ns", "fault_ns"]].values.tolist() == [[700, 100]]


def test_a_preemption_is_of_its_thread_alone() -> None:
    ops = (Op(gap=0, took=1_000),)
    trace = trace_of(Thread(ops), Thread(ops, preempted=((4_100, 30),), faults=((MINOR, (4_200, 9)),)))
    assert preempted_ns(trace) == [0, 30] and trace.tables["off_cpu"]["thread"].tolist() == [1]


def test_no_more_than_the_work_is_preempted_where_waits_were_not_recorded() -> None:
    """Of an operation with too many waits their sum is known, and not when they were."""
    op = Op(gap=0, took=1_000, waits=((0, 300), (400, 500)), unrecorded=1)
    assert preempted_ns(trace_of(Thread((op,), preempted=((4_100, 850),)))) == [200]
    assert preempted_ns(trace_of(Thread((op,), ((4_100, 850),), faults=((MAJOR, (4_320, 60)),)))) == [140]


@pytest.mark.parametrize("says", [None, "0"])
def test_a_trace_that_recorded_none_has_neither_rows_nor_values(says: str | None) -> None:
    """As those of earlier tracers, and of kernels that do not tell."""
    trace = trace_of(Thread((Op(gap=0, took=1_000),), faults=((MINOR, (4_200, 9)),)), says=says)
    assert trace.tables["off_cpu"].empty and trace.tables["spans"]["preempted_ns"].isna().all()
    assert trace.facts["off_cpu_recorded"] is False and trace.tables["spans"]["fault_ns"].tolist() == [9]


def test_of_how_many_threads_the_kernel_counted() -> None:
    trace = Trace()
    trace.after = [record(27, struct.pack("<4Q2I", 1, 2, 3, 4, 0, 7), 9_500), *trace.after]
    assert read(trace.files()).facts["delay_threads"] == {0: 7} and not read(Trace().files()).facts["delay_threads"]


@pytest.mark.native
def test_the_dump_and_the_reader_find_the_same(tools: Path, tmp_path: Path) -> None:
    ops = (Op(gap=0, took=1_000), Op(gap=10, took=1_000))
    files = files_of(Thread(ops, ((4_100, 30), (5_000, 70))), Thread(ops, ((4_150, 40),)))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    ended = subprocess.run([tools / "tt_dump", "--events", tmp_path], capture_output=True, text=True, check=True)
    lines = re.findall(r"^  (?:part .* thread=(\d+)|off_cpu begin_ns=(\d+) took_ns=(\d+) slept=0) ", ended.stdout, re.M)
    found, thread = [], -1
    for of, begin, took in lines:
        thread = int(of) if of else thread
        found += [] if of else [(thread, int(begin), int(took))]
    table = read(files).tables["off_cpu"]
    assert sorted(found) == sorted(table[["thread", "begin_ns", "duration_ns"]].itertuples(index=False, name=None))
    assert ended.stdout.count("off_cpu=2\n") == ended.stdout.count("off_cpu=1\n") == 1


# ---- against counting each nanosecond ----

intervals = st.tuples(st.integers(BEGIN - 30, BEGIN + 200), st.integers(0, 60))


@st.composite
def operations(draw: st.DrawFn) -> Op:
    took = draw(st.integers(0, 60))
    cuts = sorted(draw(st.lists(st.integers(0, took), max_size=6)))
    waits = tuple((a, b - a) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    return Op(draw(st.integers(0, 20)), took, waits, draw(st.integers(0, len(waits))) if draw(st.booleans()) else 0)


@st.composite
def some_threads(draw: st.DrawFn) -> tuple[Thread, ...]:
    n = draw(st.integers(1, 4))
    one = st.builds(
        Thread,
        st.lists(operations(), min_size=n, max_size=n).map(tuple),
        st.lists(intervals, max_size=5).map(tuple),
        st.lists(intervals, max_size=2).map(tuple),
        st.lists(st.tuples(st.sampled_from([MINOR, MAJOR, OPEN]), intervals), max_size=4).map(tuple),
    )
    return tuple(draw(st.lists(one, min_size=1, max_size=2)))


def moments(of: list[Interval]) -> set[int]:
    return {ns for begin, length in of for ns in range(begin, begin + length)}


def counted(thread: Thread) -> list[int]:
    """How many nanoseconds of each operation are preempted, without recorded waits and page faults that end."""
    other = moments([interval for _, interval in thread.waits()])
    other |= moments([interval for kind, interval in thread.faults if kind != OPEN])
    ns = moments(list(thread.preempted)) - other
    return [len(ns & set(range(begin, until))) for begin, until in thread.spans()]


@settings(max_examples=150)
@given(some_threads())
def test_the_pieces_are_what_counting_each_nanosecond_finds(threads: tuple[Thread, ...]) -> None:
    spans = trace_of(*threads).tables["spans"]
    left = np.maximum(spans["work_ns"] - spans["fault_ns"].astype("int64"), 0)
    expected = [
        min(counted(threads[t])[n], most) for t, n, most in zip(spans["thread"], spans["node"], left, strict=True)
    ]
    assert spans["preempted_ns"].tolist() == expected
    assert ((spans["preempted_ns"] >= 0) & (spans["preempted_ns"] <= left)).all()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, (1 << 62) - 1), st.integers(0, (1 << 55) - 1)), max_size=4))
def test_impossibly_long_times_overflow_nowhere(preempted: list[Interval]) -> None:
    trace = trace_of(Thread((Op(gap=0, took=60),), tuple(preempted)))
    covered = any(begin <= BEGIN and begin + length >= BEGIN + 60 for begin, length in preempted)
    (ns,) = preempted_ns(trace)
    assert 0 <= ns <= 60 and (ns == 60 or not covered)
    assert isinstance(trace.tables["off_cpu"], pd.DataFrame) and len(trace.tables["off_cpu"]) == len(preempted)
