"""Caches that are simulated: how many uses hit with FIFO and with LFU replacement.

Items that are only ever used one right after the other, in the same order, are a chain: the granules of a tensor that
is always read whole. Uses of chains are followed instead of uses of items, which changes no count.
"""

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Chains:
    """A sequence of uses as uses of chains.

    `uses`: the chain of each use, in order (int array); `length`: how many items a chain has (int array, by chain);
    `n_items`: how many uses of items these are.
    """

    uses: np.ndarray
    length: np.ndarray
    n_items: int

    @cached_property
    def lists(self) -> tuple[list[int], list[int]]:
        """`uses` and `length`."""
        return self.uses.tolist(), self.length.tolist()


def chains(items: np.ndarray) -> Chains:
    """The chains of items (int array, in order of use), numbered from 0 in the order of their first items."""
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
    return Chains(uses, length, len(codes))


def fifo(of: Chains, size: int) -> int:
    """Hits of a cache of `size` items with FIFO replacement.

    A chain is dropped from its front, so where its first item misses, that drops the next one before it is used: all
    of it hits, or nothing.
    """
    uses, length = of.lists
    came = [-size - 1] * len(length)  # how many misses there were before the chain came in
    misses = 0
    for chain in uses:
        if misses - came[chain] > size:
            came[chain] = misses
            misses += length[chain]
    return of.n_items - misses


Stretch = list[int]  # how often it was used, times `once`, plus when its front was used last; its front; what is beyond


class _Held:
    """Stretches that a cache with LFU replacement holds, in the order in which they go; emptied ones are forgotten.

    A stretch is a part of a chain: items beside each other that came in together. What goes first of it is its front,
    for it was used before the rest. `once`: more than there are moments.
    """

    def __init__(self, once: int) -> None:
        self.once, self.twice = once, 2 * once
        self.used_once: deque[Stretch] = deque()  # in the order in which they came
        self.others: list[tuple[int, Stretch]] = []  # a heap, with what the first number was when it was put there

    def next_to_go(self) -> Stretch:
        """The stretch whose front goes next; at least one is held."""
        queue, heap = self.used_once, self.others
        while queue:
            stretch = queue[0]
            if stretch[0] < self.twice and stretch[1] < stretch[2]:
                return stretch
            queue.popleft()
        while True:
            rank, stretch = heap[0]
            if stretch[1] == stretch[2]:
                heapq.heappop(heap)
            elif rank != stretch[0]:  # it has only grown since
                heapq.heapreplace(heap, (stretch[0], stretch))
            else:
                return stretch

    def use(self, stretch: Stretch, moment: int) -> None:
        """All of it is used once more, its front at this moment."""
        if stretch[0] < self.twice:
            stretch[0] = self.twice + moment
            heapq.heappush(self.others, (stretch[0], stretch))
        else:
            stretch[0] = (stretch[0] // self.once + 1) * self.once + moment


def lfu(of: Chains, size: int) -> int:
    """Hits of a cache of `size` items with LFU replacement; an item that was dropped begins again at 1 use."""
    uses, length = of.lists
    once = of.n_items + 1
    held = _Held(once)
    next_to_go, use, queue = held.next_to_go, held.use, held.used_once
    nothing: Stretch = [0, 1, 1]
    whole = [nothing] * len(length)  # by chain, the stretch that is all of it, as long as its front is there
    kept: list[list[Stretch]] = [[] for _ in length]
    ends = [[0, n, n] for n in length]
    cached = hits = now = 0
    for chain in uses:
        n = length[chain]
        if not whole[chain][1]:  # all of it is there, as most often
            use(whole[chain], now)
            hits += n
            now += n
            continue
        if n == 1:  # most of the others
            if cached < size:
                cached += 1
            else:
                least = next_to_go()
                least[0] += 1
                least[1] += 1
            whole[chain] = [once + now, 0, 1]
            queue.append(whole[chain])
            now += 1
            continue
        at = 0
        new: Stretch | None = None
        stretches: list[Stretch] = []
        for stretch in (*kept[chain], ends[chain]):
            while at < stretch[1]:  # these miss; their coming in may drop the front of `stretch`
                n = stretch[1] - at
                if cached < size:
                    n = min(n, size - cached)
                    cached += n
                else:
                    least = next_to_go()
                    if least is new:  # each drops the one that came in longest ago of these
                        new[:] = new[0] + n, new[1] + n, new[2] + n
                        at = stretch[1]
                        break
                    n = min(n, least[2] - least[1]) if least[0] < held.twice else 1
                    least[0] += n
                    least[1] += n
                if new is None:
                    new = [once + now + at, at, at]
                    queue.append(new)
                    stretches.append(new)
                new[2] += n
                at += n
            if stretch[1] < stretch[2]:
                hits += stretch[2] - stretch[1]
                use(stretch, now + stretch[1])
                stretches.append(stretch)
                at, new = stretch[2], None
        kept[chain] = stretches
        first = stretches[0]
        whole[chain] = first if first[2] - first[1] == length[chain] else nothing
        now += length[chain]
    return hits


SIMULATED: Mapping[str, Callable[[Chains, int], int]] = {"FIFO": fifo, "LFU": lfu}
