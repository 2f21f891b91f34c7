"""The most hits that caches can have, whatever they keep: the best choice knows the future (Belady 1966).

A use hits if its item stayed in the cache since its last use. The best choice drops what will not be used for longest,
and takes in nothing that will not be used before all that it holds.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from tracegen.analysis.stack_distance import previous_use

MOST_STAYS = 100_000


@dataclass(frozen=True)
class Stays:
    """When items would have to stay in a cache for their next use to hit.

    Each of `amount` items would stay from the moment `begin` to the moment `end`; ascending by begin. A hit inside a
    moment takes no room, and stands in none of them. `n_again` are all uses that are not the first of their item.
    `group` is how many uses a moment has; 1: the room is looked at after each use.
    """

    begin: np.ndarray
    end: np.ndarray
    amount: np.ndarray
    n_again: int
    group: int = 1


def stays(uses: np.ndarray, length: np.ndarray, *, most: int = MOST_STAYS) -> Stays:
    """The stays of a sequence of uses, of which `Best` counts the best choice.

    `uses` and `length` are the result of `chains`. A chain counts as one item of as many parts. That changes no
    count: the first parts of a chain stay, and as many of them as fit between the chains' uses fit inside of a use as
    well, for each part that comes stands before those that have yet to go.

    More than `most` stays are too many to follow. Then uses are taken in groups, as few as do, and what must fit is
    looked at between groups only. No cache can have more hits than that allows, though none may have as many.
    """
    previous = previous_use(uses)
    end = np.flatnonzero(previous >= 0)
    end = end[np.argsort(previous[end], kind="stable")]
    begin, amount = previous[end], length[uses[end]]
    n_again, group = int(amount.sum()), 1
    while len(begin) > most:
        group *= 2
        begin, end = begin // 2, end // 2
        begin, end, amount = (column[end > begin] for column in (begin, end, amount))
        first = np.lexsort((end, begin))
        begin, end, amount = begin[first], end[first], amount[first]
        new = np.flatnonzero((np.diff(begin, prepend=-1) != 0) | (np.diff(end, prepend=-1) != 0))
        begin, end, amount = begin[new], end[new], np.add.reduceat(amount, new)
    return Stays(begin, end, amount, n_again, group)


class Best:
    """What caches of any size serve at best.

    What stays in a cache stays in each larger one (Mattson et al. 1970). So between two sizes that are known, only what
    the larger cache has and the smaller one has not is followed.
    """

    def __init__(self, of: Stays) -> None:
        """Know what a cache of no items keeps, and one of so many that nothing is lost."""
        self._of = of
        self._enough = int(self._occupancy(of.amount).max())
        self._kept = {0: np.zeros_like(of.amount), self._enough: of.amount}  # by size, how many items of each stay

    def hits(self, size: int) -> int:
        """The most hits of a cache of `size` items."""
        size = min(size, self._enough)
        if size not in self._kept:
            lower, higher = max(n for n in self._kept if n < size), min(n for n in self._kept if n > size)
            self._kept[size] = self._between(self._kept[lower], self._kept[higher], size)
        return self._of.n_again - int((self._of.amount - self._kept[size]).sum())

    def rate(self, size: int) -> float:
        """The share of the uses that are not the first of their item which a cache of `size` items serves at best."""
        return self.hits(size) / self._of.n_again

    def _between(self, fewer: np.ndarray, more: np.ndarray, size: int) -> np.ndarray:
        """What stays of each stay with room for `size` items: at least `fewer`, and no more than `more`."""
        which = np.flatnonzero(more > fewer)
        begin, end, amount = self._of.begin[which], self._of.end[which], (more - fewer)[which]
        held = self._occupancy(fewer)
        is_moment = np.zeros(len(held), dtype=bool)
        is_moment[begin] = is_moment[end] = True
        number = np.cumsum(is_moment) - 1
        room = size - np.maximum.reduceat(held, np.flatnonzero(is_moment))
        lost = _lost(number[begin], number[end], amount, room)
        # Of the stays that end together, those that began first are lost first.
        order = np.argsort(end, kind="stable")
        before = np.cumsum(amount[order]) - amount[order]
        before -= before[np.searchsorted(end[order], end[order])]
        kept = fewer.copy()
        kept[which[order]] += amount[order] - (lost[number[end[order]]] - before).clip(0, amount[order])
        return kept

    def _occupancy(self, kept: np.ndarray) -> np.ndarray:
        """How many items stay after each moment, if so much of each stay is kept."""
        change = np.zeros(int(self._of.end.max(initial=0)) + 1, dtype=np.int64)
        np.add.at(change, self._of.begin, kept)
        np.subtract.at(change, self._of.end, kept)
        return np.cumsum(change)


def _lost(begin: np.ndarray, end: np.ndarray, amount: np.ndarray, room: np.ndarray) -> np.ndarray:
    """By moment, how much is dropped of what would stay until then: as little as fits into `room` of each moment.

    Stays begin (ascending) and end at moments, which are numbered from 0.
    """
    ends, amounts = end.tolist(), amount.tolist()
    first = np.searchsorted(begin, np.arange(len(room) + 1)).tolist()
    kept, lost = [0] * len(room), [0] * len(room)
    heap: list[int] = []  # minus the moments until which something stays
    held = 0
    for moment, most in enumerate(room.tolist()):
        held -= kept[moment]
        for at in range(first[moment], first[moment + 1]):
            if not kept[ends[at]]:
                heapq.heappush(heap, -ends[at])
            kept[ends[at]] += amounts[at]
            held += amounts[at]
        while held > most:
            farthest = -heap[0]
            gone = min(kept[farthest], held - most)
            kept[farthest] -= gone
            lost[farthest] += gone
            held -= gone
            if not kept[farthest]:
                heapq.heappop(heap)
    return np.array(lost)


def chains(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chain of each use, in order, and how many items each chain has; `items`: int array, in order of use.

    Any other item is a chain of its own. Chains are numbered from 0 in the order of their first items.
    """
    codes = np.unique(items, return_inverse=True)[1]
    n = int(codes.max(initial=-1)) + 1
    after = np.append(codes[1:], -1)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=n)
    begins = np.cumsum(counts) - counts
    low, high = (of.reduceat(after[order], begins) for of in (np.minimum, np.maximum))
    follows = (low == high) & (low >= 0) & (counts[low] == counts)  # each is followed by the same, and by nothing else
    first = np.ones(n, dtype=bool)
    first[low[follows]] = False
    heads = np.flatnonzero(first[codes])
    uses = (np.cumsum(first) - 1)[codes[heads]]
    length = np.zeros(int(first.sum()), dtype=np.int64)
    length[uses] = np.diff(heads, append=len(codes))
    return uses, length
