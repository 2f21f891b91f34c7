"""What the kernel would read of a mapped file, with so much memory and such a read-ahead: a simulated page cache.

Pages that operations touch are looked up in the order of operations. A page that is not in memory is a page fault, and
the kernel reads a window around it: half of the read-ahead before it, half from it on. Where touching goes on into the
window, windows of the whole read-ahead follow it, always one ahead. What is evicted is what was read or touched least
recently. The kernel's own order (two lists, or generations) differs from that, and threads share an operation; how far
the simulation is from a run is found by simulating the run itself (see `remedies`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

Touched = Sequence[tuple[int, Sequence[tuple[int, int]]]]  # for each pass in order: its number, pages (first, end)
_SPARE = 64  # one part of the memory in so many is made free at a time: evicting page by page takes as long as reading


@dataclass(frozen=True)
class Reads:
    """What one pass read: pages, of how many windows."""

    pass_id: int
    n_pages: int
    n_windows: int


@dataclass
class PageCache:
    """The pages of the model files that are in memory: at most `room` beside those that are pinned.

    `ahead` is the read-ahead in pages, 0 or 1 for none.
    """

    n_pages: int
    room: int
    ahead: int
    pinned: Iterable[tuple[int, int]] = ()
    _last: np.ndarray = field(init=False)
    _moment: int = 1
    _n_held: int = 0

    def __post_init__(self) -> None:
        """Nothing is in memory but what is pinned."""
        self._last = np.zeros(self.n_pages, np.int64)  # when a page was last touched or read; 0: not in memory
        self._held_for_good = np.zeros(self.n_pages, bool)
        for begin, end in self.pinned:
            self._held_for_good[begin:end] = True

    def touch(self, begin: int, end: int) -> tuple[int, int]:
        """Touch pages from `begin` up to `end`; return how many pages were read for it, in how many windows."""
        last = self._last[begin:end]
        missing = (last == 0) & ~self._held_for_good[begin:end]
        read = windows = 0
        if missing.any():
            edges = np.flatnonzero(np.diff(missing, prepend=False, append=False))
            for first, behind in zip((begin + edges[::2]).tolist(), (begin + edges[1::2]).tolist(), strict=True):
                n, of = self._read(first, behind)
                read, windows = read + n, windows + of
        self._moment += 1
        last[~self._held_for_good[begin:end]] = self._moment
        self._evict()
        return read, windows

    def _read(self, first: int, behind: int) -> tuple[int, int]:
        """Read missing pages with the windows that the kernel reads for them."""
        begin, end = self._window(first, behind)
        pages = self._last[begin:end]
        new = (pages == 0) & ~self._held_for_good[begin:end]
        n = int(np.count_nonzero(new))
        pages[new] = self._moment
        self._n_held += n
        return n, -(-n // max(self.ahead, 1))

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
        held = np.flatnonzero(self._last)
        n = min(len(held), over + self.room // _SPARE)
        oldest = held[np.argpartition(self._last[held], n - 1)[:n]]
        self._last[oldest] = 0
        self._n_held -= n


def simulated(touched: Touched, cache: PageCache) -> list[Reads]:
    """What each pass reads, one after the other; `cache` holds what was in memory before the first."""
    reads = []
    for pass_id, ranges in touched:
        n_pages = n_windows = 0
        for begin, end in ranges:
            n, windows = cache.touch(begin, end)
            n_pages, n_windows = n_pages + n, n_windows + windows
        reads.append(Reads(pass_id, n_pages, n_windows))
    return reads
