"""The simulated page cache against one that looks at each page by itself, and against what it must hold by its size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.page_cache import PageCache, simulated

N = 64
RANGES = st.tuples(st.integers(0, N - 1), st.integers(1, 12)).map(lambda of: (of[0], min(N, of[0] + of[1])))


def lru(touched: list[tuple[int, int]], room: int) -> int:
    """Pages that an LRU cache of `room` pages reads without read-ahead; it makes room after each range."""
    held: dict[int, int] = {}
    read = 0
    for moment, (begin, end) in enumerate(touched):
        for page in range(begin, end):
            read += page not in held
            held[page] = moment
        while len(held) > room:
            oldest = min(held.values())
            victims = [page for page, at in held.items() if at == oldest]
            del held[victims[0]]
    return read


@given(st.lists(RANGES, max_size=30))
def test_with_room_for_all_each_page_is_read_once(touched: list[tuple[int, int]]) -> None:
    reads = simulated([(7, touched)], PageCache(N, N, 0))
    assert list(reads) == [7]
    assert reads[7] == len({page for begin, end in touched for page in range(begin, end)})


@given(st.lists(RANGES.map(lambda of: (of[0], of[0] + 1)), max_size=60), st.integers(1, N))
def test_single_pages_without_read_ahead_are_those_that_lru_reads(touched: list[tuple[int, int]], room: int) -> None:
    """Ranges of one page leave no choice among pages of equal age."""
    assert simulated([(0, touched)], PageCache(N, room, 0))[0] == lru(touched, room)


@given(st.lists(RANGES, max_size=40), st.integers(1, N), RANGES)
def test_pinned_pages_are_never_read_and_take_no_room(
    touched: list[tuple[int, int]], room: int, pinned: tuple[int, int]
) -> None:
    """Without read-ahead it is as if nobody touched them."""
    single = [(page, page + 1) for begin, end in touched for page in range(begin, end)]
    others = [(begin, end) for begin, end in single if not pinned[0] <= begin < pinned[1]]
    assert simulated([(0, single)], PageCache(N, room, 0, [pinned]))[0] == lru(others, room)


@given(st.lists(RANGES, min_size=1, max_size=30), st.integers(1, N), st.sampled_from([0, 1, 4, 8, 32]))
def test_no_more_is_held_than_there_is_room_for(touched: list[tuple[int, int]], room: int, ahead: int) -> None:
    cache = PageCache(N, room, ahead)
    for begin, end in touched:
        cache.touch(begin, end)
        assert np.count_nonzero(cache._last) == cache._n_held <= room


def test_a_fault_reads_half_of_the_window_before_it_and_half_from_it_on() -> None:
    cache = PageCache(N, N, 16)
    assert cache.touch(30, 31) == 16
    assert cache.touch(22, 38) == 0
    assert cache.touch(38, 39) == 16 - 8  # 30 to 37 are in memory


@pytest.mark.parametrize(("length", "end"), [(1, 28), (4, 28), (5, 44), (8, 44), (9, 60), (24, 76), (25, 76)])
def test_touching_on_reads_windows_that_follow(length: int, end: int) -> None:
    """The window of a fault at 20 ends at 28; the page marked in it is 24, and those of later ones their first."""
    cache = PageCache(200, 200, 16)
    cache.touch(20, 20 + length)
    assert int(np.flatnonzero(cache._last)[-1]) + 1 == end
