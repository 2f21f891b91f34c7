"""Waiting behind a page fault, against threads that are played through barrier by barrier."""

from dataclasses import dataclass
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
    """What a thread does until the next barrier, ns: it computes, has a page fault, and computes."""

    before: int
    fault: int
    after: int

    @property
    def length(self) -> int:
        return self.before + self.fault + self.after


Ops = list[list[list[Stretch]]]  # operation, stretch between two barriers, thread


@st.composite
def runs(draw: st.DrawFn) -> Ops:
    n_threads = draw(st.integers(1, 4))
    stretch = st.builds(Stretch, TIMES, st.one_of(st.just(0), TIMES), TIMES)
    stretches = st.lists(st.lists(stretch, min_size=n_threads, max_size=n_threads), min_size=1, max_size=4)
    return draw(st.lists(stretches, min_size=1, max_size=5))


def played(ops: Ops) -> tuple[Tables, list[int]]:
    """The tables of a pass of these operations, and the waiting behind page faults of each span."""
    spans, faults, barriers, expected = [], [], [], []
    now = 5_000
    for node, stretches in enumerate(ops):
        n_threads, begin = len(stretches[0]), now
        work, inside, fault, behind, wait = (np.zeros(n_threads, int) for _ in range(5))
        for number, threads in enumerate(stretches):
            opens = max(part.length for part in threads)
            would_open = max(part.length - part.fault for part in threads)
            for i, part in enumerate(threads):
                waited = opens - part.length
                would_wait = would_open - (part.length - part.fault)
                behind[i] += max(waited - would_wait, 0)
                work[i] += part.length
                fault[i] += part.fault
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
                            begin_ns=now + part.before,
                            duration_ns=part.fault,
                        )
                    )
                if number + 1 < len(stretches):
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
                begin_ns=begin,
                work_ns=int(work[i]),
                barrier_ns=int(inside[i]),
                wait_ns=int(wait[i]),
                fault_ns=int(fault[i]),
            )
            for i in range(n_threads)
        ]
        now += 7  # between two operations
    tables = {name: contract.frame(name, rows) for name, rows in (("spans", spans), ("faults", faults))}
    return {**tables, "barriers": contract.frame("barriers", barriers)}, expected


@given(runs())
def test_threads_that_are_played_through(ops: Ops) -> None:
    tables, expected = played(ops)
    assert waits_behind(tables).ns.tolist() == expected


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
    assert waits_behind({**tables, "spans": spans}).ns.tolist() == [0, 0]
    empty = {name: contract.frame(name) for name in ("spans", "faults", "barriers")}
    assert waits_behind(empty).ns.tolist() == []
