"""Caches that are simulated: how many uses hit with FIFO and with LFU replacement.

Items that are only ever used one right after the other, in the same order, are a chain: the granules of a tensor that
is always read whole. Uses of chains are followed instead of uses of items, which changes no count.
"""

import heapq
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


def lfu(of: Chains, size: int) -> int:
    """Hits of a cache of `size` items with LFU replacement; an item that was dropped begins again at 1 use.

    Of each chain the stretches that the cache holds are followed: items beside each other that came in together. What
    goes first of a stretch is its front, for it was used before the rest.
    """
    uses, length = of.lists
    once = of.n_items + 1
    # Of a stretch: how often it was used, times `once`, plus when its front was used last; its front; what is beyond.
    kept: list[list[list[int]]] = [[] for _ in length]
    ends = [[0, n, n] for n in length]
    heap: list[tuple[int, list[int]]] = []  # with the first of these when it was put there: it has only grown since
    cached = hits = now = 0
    for chain in uses:
        match kept[chain]:
            case [[_, 0, beyond] as whole] if beyond == length[chain]:  # all of the chain is there, as most often
                hits += beyond
                whole[0] = (whole[0] // once + 1) * once + now
                now += beyond
                continue
        at = 0
        new: list[int] | None = None
        stretches: list[list[int]] = []
        for stretch in (*kept[chain], ends[chain]):
            while at < stretch[1]:  # these miss; their coming in may drop the front of `stretch`
                n = stretch[1] - at
                if cached < size:
                    n = min(n, size - cached)
                    cached += n
                else:
                    while heap[0][0] != heap[0][1][0]:
                        heapq.heapreplace(heap, (heap[0][1][0], heap[0][1]))
                    least = heap[0][1]
                    if least is new:  # each drops the one that came in longest ago of these
                        new[:] = new[0] + n, new[1] + n, new[2] + n
                        at = stretch[1]
                        break
                    n = min(n, least[2] - least[1]) if least[0] < 2 * once else 1
                    least[0] += n
                    least[1] += n
                    if least[1] == least[2]:
                        heapq.heappop(heap)
                if new is None:
                    new = [once + now + at, at, at]
                    heapq.heappush(heap, (new[0], new))
                    stretches.append(new)
                new[2] += n
                at += n
            if stretch[1] < stretch[2]:
                hits += stretch[2] - stretch[1]
                stretch[0] = (stretch[0] // once + 1) * once + now + stretch[1]
                stretches.append(stretch)
                at, new = stretch[2], None
        kept[chain] = stretches
        now += length[chain]
    return hits


SIMULATED: Mapping[str, Callable[[Chains, int], int]] = {"FIFO": fifo, "LFU": lfu}
