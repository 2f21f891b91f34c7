"""What the kernel would read of a mapped file, with so much memory and such a read-ahead: a simulated page cache.

Pages that operations touch are looked up in the order of operations. A page that is not in memory is a page fault, and
the kernel reads a window around it: half of the read-ahead before it, half from it on. Where touching goes on into the
window, windows of the whole read-ahead follow it, always one ahead. What is evicted is what was read or touched least
recently. The kernel's own order (two lists, or generations) differs from that, and threads share an operation; how far
the simulation is from a run is found by simulating the run itself (see `remedies`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Touched = Sequence[tuple[int, Sequence[tuple[int, int]]]]  # for each pass in order: its number, pages (first, end)
_PINNED = 1 << 62  # later than any moment
_SPARE = 64  # one part of the memory in so many is made free at a time: evicting page by page takes as long as reading


@dataclass
class PageCache:
    """The pages of the model files that are in memory: at most `room`; `ahead`: the read-ahead in pages, 0: none.

    `pinned` are always in memory, beside `room`: pages as (first, behind the last).
    """

    n_pages: int
    room: int
    ahead: int
    pinned: Sequence[tuple[int, int]] = ()
    _last: np.ndarray = field(init=False)
    _moment: int = 1
    _n_held: int = 0

    def __post_init__(self) -> None:
        """Nothing is in memory that is not pinned."""
        self._last = np.zeros(self.n_pages, np.int64)  # when a page was last touched or read; 0: not in memory
        for first, behind in self.pinned:
            self._last[first:behind] = _PINNED

    def touch(self, begin: int, end: int) -> int:
        """Touch pages from `begin` up to `end`; return how many pages were read for it."""
        last = self._last[begin:end]
        missing, read = last == 0, 0
        if missing.any():
            edges = np.flatnonzero(np.diff(missing, prepend=False, append=False))
            for first, behind in zip((begin + edges[::2]).tolist(), (begin + edges[1::2]).tolist(), strict=True):
                read += self._read(first, behind)
        self._moment += 1
        last[last < _PINNED] = self._moment
        self._evict()
        return read

    def _read(self, first: int, behind: int) -> int:
        """Read missing pages with the windows that the kernel reads for them."""
        begin, end = self._window(first, behind)
        pages = self._last[begin:end]
        new = pages == 0
        n = int(np.count_nonzero(new))
        pages[new] = self._moment
        self._n_held += n
        return n

    def _window(self, first: int, behind: int) -> tuple[int, int]:
        """From where to where the kernel reads when these missing pages are touched one after the other."""
        ahead, length = self.ahead, behind - first
        if ahead <= 1:
            return first, behind
        half = ahead // 2
        end = first + half
        if length > ahead // 4:  # the page that is marked in the first window
            end += ahead
        if length > half:
            end += (1 + (length - half) // ahead) * ahead
        return max(0, first - half), min(self.n_pages, max(end, behind))

    def _evict(self) -> None:
        over = self._n_held - self.room
        if over <= 0:
            return
        held = np.flatnonzero((self._last > 0) & (self._last < _PINNED))
        n = min(len(held), over + self.room // _SPARE)
        moments = self._last[held]
        newest = np.partition(moments, n - 1)[n - 1]  # of those that go; of equal ones the first pages go, everywhere
        older = moments < newest
        last_to_go = np.flatnonzero(moments == newest)[: n - int(np.count_nonzero(older))]
        self._last[held[older]] = 0
        self._last[held[last_to_go]] = 0
        self._n_held -= n


def simulated(touched: Touched, cache: PageCache) -> dict[int, int]:
    """By pass: how many pages it reads, one pass after the other; `cache` has what was in memory before the first."""
    return {pass_id: sum(cache.touch(begin, end) for begin, end in ranges) for pass_id, ranges in touched}
