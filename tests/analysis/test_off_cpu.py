"""Which thread got the processor of another one: against looking at each pair of times."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.off_cpu import HANDED_OVER_NS, handed_over

Time = tuple[int, int, int]  # thread, begin, duration
AWAY = st.tuples(st.integers(0, 3), st.integers(0, 8 * HANDED_OVER_NS), st.integers(1, 3 * HANDED_OVER_NS))


def rows_of(times: list[Time]) -> pd.DataFrame:
    return pd.DataFrame(times, columns=["thread", "begin_ns", "duration_ns"]).astype("int64")


@given(st.lists(AWAY, max_size=12))
def test_a_processor_goes_from_one_thread_to_another_in_one_switch(times: list[Time]) -> None:
    expected = [
        any(other != thread and abs(start - (begin + took)) <= HANDED_OVER_NS for other, start, _ in times)
        for thread, begin, took in times
    ]
    assert handed_over(rows_of(times)).tolist() == expected


def test_two_threads_on_one_processor_take_turns_and_two_on_their_own_do_not() -> None:
    """Slices of 4 ms, of which each begins 5 µs after the other thread lost the processor."""
    slice_ns = 4_000_000
    turns = [(n % 2, n * slice_ns + 5_000, slice_ns - 5_000) for n in range(10)]
    assert handed_over(rows_of(turns))[:-1].all()
    apart = [(n % 2, n * slice_ns, slice_ns // 10) for n in range(10)]
    assert not handed_over(rows_of(apart)).any() and handed_over(rows_of([])).dtype == np.bool_
