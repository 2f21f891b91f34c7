"""Waiting behind a delayed thread, against threads that are played through barrier by barrier."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.behind import behind as waits_behind
from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]
TIMES = st.integers(0, 1000)


@dataclass(frozen=True)
class Stretch:
    """What a thread does until the next barrier, ns: it computes, has a page fault, has no processor, and computes.

    First of all, it has no processor yet when the barrier before opens.
    """

    before: int
    fault: int
    after: int
    lost: int = 0
    late: int = 0

    @property
    def delay(self) -> int:
        return self.fault + self.lost + self.late

    @property
    def length(self) -> int:
        return self.before + self.after + self.delay


Ops = list[list[list[Stretch]]]  # operation, stretch between two barriers, thread


@st.composite
def runs(draw: st.DrawFn) -> Ops:
    n_threads = draw(st.integers(1, 4))
    often_none = st.one_of(st.just(0), TIMES)
    stretch = st.builds(Stretch, TIMES, often_none, TIMES, often_none, often_none)
    stretches = st.lists(st.lists(stretch, min_size=n_threads, max_size=n_threads), min_size=1, max_size=4)
    return draw(st.lists(stretches, min_size=1, max_size=5))


def played(ops: Ops) -> tuple[Tables, list[float]]:
    """The tables of a pass of these operations, and the waiting behind page faults of each span.

    Not played is who is late to the first operation: nothing says since when it could have begun.
    """
    spans, faults, barriers, expected, off_cpu = [], [], [], [], []
    now = 5_000

    def lose(thread: int, begin: int, took: int, *, slept: bool = False) -> None:
        if took:
            of = dict(pass_id=3, node=None, thread=thread, slept=slept, begin_ns=begin, duration_ns=took)
            off_cpu.append(dict(off_cpu=len(off_cpu), **of))

    ops = [[[replace(part, late=0) for part in ops[0][0]], *ops[0][1:]], *ops[1:]]
    for node, stretches in enumerate(ops):
        n_threads, begin = len(stretches[0]), now
        work, inside, fault, wait, lost = (np.zeros(n_threads, int) for _ in range(5))
        behind = np.zeros(n_threads)
        for i, part in enumerate(stretches[0] if node else ()):
            spans[-n_threads + i]["wait_ns"] += part.late
        for number, threads in enumerate(stretches):
            opens = max(part.length for part in threads)
            would_open = max(part.length - part.delay for part in threads)
            last = next(part for part in threads if part.length == opens)
            following = stretches[number + 1] if number + 1 < len(stretches) else [Stretch(0, 0, 0)] * n_threads
            for i, part in enumerate(threads):
                waited = opens - part.length
                would_wait = would_open - (part.length - part.delay)
                behind[i] += max(waited - would_wait, 0) * last.fault / max(last.delay, 1)
                work[i] += part.length - part.late
                fault[i] += part.fault
                lost[i] += part.lost
                lose(i, now, part.late, slept=n_threads > 1 and part.late % 2 == 1)
                lose(i, now + part.late + part.before + part.fault, part.lost)
                lose(i, now + part.late, part.before, slept=True)  # it waits for a lock
                if part.fault:
                    faults.append(
                        dict(
                            fault=len(faults),
                            pass_id=3,
                            node=node,
                            thread=i,
                            file=0,
                            offset=0,
                            kind="minor",
                            begin_ns=now + part.late + part.before,
                            duration_ns=part.fault,
                        )
                    )
                if number + 1 < len(stretches):
                    waited += following[i].late
                    inside[i] += waited
                    barriers.append(
                        dict(
                            pass_id=3,
                            node=node,
                            thread=i,
                            barrier=number,
                            begin_ns=now + part.length,
                            duration_ns=waited,
                        )
                    )
                else:
                    wait[i] = waited
            now += opens
        expected += behind.tolist()
        spans += [
            dict(
                pass_id=3,
                node=node,
                thread=i,
                begin_ns=begin + stretches[0][i].late,
                work_ns=int(work[i]),
                barrier_ns=int(inside[i]),
                wait_ns=int(wait[i]),
                fault_ns=int(fault[i]),
                preempted_ns=int(lost[i]),
            )
            for i in range(n_threads)
        ]
        now += 7  # between two operations
    rows = {"spans": spans, "faults": faults, "barriers": barriers, "off_cpu": off_cpu}
    return {name: contract.frame(name, of) for name, of in rows.items()}, expected


@given(runs())
def test_threads_that_are_played_through(ops: Ops) -> None:
    tables, expected = played(ops)
    found, spans = waits_behind(tables), tables["spans"]
    assert found.ns.tolist() == pytest.approx(expected)
    assert found.for_fault_ns.sum() == pytest.approx(sum(expected))
    assert found.late_ns.sum() == sum(part.late for op in ops for of in op for part in of) - sum(
        part.late for part in ops[0][0]
    )
    waited = (spans["barrier_ns"] + spans["wait_ns"]).sum()
    assert (found.ns + found.processor_ns).sum() + found.late_ns.sum() <= waited + 1e-6


@given(runs())
def test_who_has_no_processor_delays_others_as_much_as_who_has_a_page_fault(ops: Ops) -> None:
    """With all page faults as times without a processor instead, what was waited behind them is now behind these."""
    plain = [[[replace(p, lost=0, late=0) for p in threads] for threads in stretches] for stretches in ops]
    instead = [[[replace(p, fault=0, lost=p.fault) for p in threads] for threads in stretches] for stretches in plain]
    behind_faults, behind_lost = waits_behind(played(plain)[0]), waits_behind(played(instead)[0])
    assert behind_lost.processor_ns.tolist() == pytest.approx(behind_faults.ns.tolist())
    assert not behind_lost.ns.any() and not behind_faults.processor_ns.any()


@pytest.mark.parametrize(
    ("first", "second", "behind"),
    [
        ([(0, 0, 0), (0, 0, 0)], [(0, 0, 0), (0, 1, 0)], 1),  # the page fault begins where a barrier opens
        ([(10, 0, 0), (20, 0, 0)], [(10, 50, 0), (20, 0, 0)], 50),  # before a barrier inside the operation
        ([(30, 0, 0), (8, 0, 0)], [(0, 0, 0), (4, 5, 4)], 5),  # behind one that the other came to late
    ],
)
def test_the_first_thread_waits_behind_the_second(first: list[Any], second: list[Any], behind: int) -> None:
    tables, expected = played([[[Stretch(*a), Stretch(*b)] for a, b in zip(first, second, strict=True)]])
    assert waits_behind(tables).ns.tolist() == expected == [behind, 0]


def test_without_barriers_a_page_fault_counts_at_the_end_of_the_operation() -> None:
    """All that is then known: how long each thread worked, and waited inside and after."""
    tables, expected = played([[[Stretch(10, 0, 0), Stretch(10, 50, 0)], [Stretch(20, 0, 0), Stretch(20, 0, 0)]]])
    assert expected == [50, 0]
    none = contract.frame("barriers")
    assert waits_behind({**tables, "barriers": none}).ns.tolist() == [0, 0]
    of_one_thread = tables["barriers"].iloc[:1]
    assert waits_behind({**tables, "barriers": of_one_thread}).ns.tolist() == [0, 0]
    at_end, expected = played([[[Stretch(10, 0, 0), Stretch(10, 50, 0)]]])
    assert waits_behind(at_end).ns.tolist() == expected == [50, 0]


def test_a_run_without_recorded_page_faults_waits_behind_none() -> None:
    tables, _ = played([[[Stretch(10, 0, 0), Stretch(10, 50, 0)]]])
    spans = tables["spans"].assign(fault_ns=pd.array([None, None], dtype="Int64"))
    none = {**tables, "spans": spans, "faults": tables["faults"].iloc[:0]}
    assert waits_behind(none).ns.tolist() == [0, 0]
    empty = {name: contract.frame(name) for name in ("spans", "faults", "barriers", "off_cpu")}
    assert waits_behind(empty).ns.tolist() == []
