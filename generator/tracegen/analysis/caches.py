"""Which share of its uses a cache of a given size would serve, for several ways to choose what it keeps.

A cache holds granules of one size, and is empty before the first measured pass. A use of a granule that it holds is a
hit. The first use of a granule misses in every cache (a compulsory miss); any other miss is for want of room (a
capacity miss). A hit rate here is a share of the uses that are not the first ones, so that it says what size can do: it
is 100 % for a cache that holds all that was ever used.

Ways to choose (policies):
- `LRU` drops what was not used for longest; exact, by stack distances (Mattson et al. 1970);
- `FIFO` drops what came in first;
- `LFU` drops what was used least often since it came in; among equals, what was not used for longest;
- `static` holds from the beginning what is used most often in the whole run, and never changes: it knows the run;
- `Belady` drops what will not be used for longest (Belady 1966), and takes in nothing that will not be used before all
  that it holds: it knows the future, and no cache does better.

Where there are more than `MOST_USES` uses, FIFO, LFU and Belady are simulated for a part of the granules, chosen by a
hash of their number within those used about as often, with a cache smaller by as much (Waldspurger et al. 2015, 2017).

None of these rates predicts a speed: a miss costs what the disk makes of it, and the kernel replaces pages in its own
way.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis.stack_distance import previous_use, stack_distances

MOST_USES = 100_000
N_SIZES = 20
CLOSE = 0.02  # of a size: how exactly the size for a hit rate is found by simulation
TARGETS = (0.5, 0.9, 0.95, 0.99)  # hit rates that pages ask for

Items = Sequence[int]


def fifo(items: Items, size: int) -> int:
    """Hits of a cache of `size` items with FIFO replacement."""
    held: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for item in items:
        if item in held:
            hits += 1
        else:
            if len(held) >= size:
                held.popitem(last=False)
            held[item] = None
    return hits


def lfu(items: Items, size: int) -> int:
    """Hits of a cache of `size` items with LFU replacement; an item that was dropped begins again at 1 use."""
    n = len(items)
    held: dict[int, int] = {}  # item -> uses since it came in, times n, plus the time of the last one
    heap: list[int] = []  # the same when it was put there, one of each item; it has only grown since
    hits = 0
    for time, item in enumerate(items):
        known = held.get(item)
        if known is not None:
            hits += 1
            held[item] = (known // n + 1) * n + time
            continue
        if len(held) >= size:
            while (now := held[items[heap[0] % n]]) != heap[0]:
                heapq.heapreplace(heap, now)
            del held[items[heap[0] % n]]
            heapq.heapreplace(heap, n + time)
        else:
            heapq.heappush(heap, n + time)
        held[item] = n + time
    return hits


def belady(items: Items, size: int, *, bypass: bool = True) -> int:
    """Hits of a cache of `size` items that drops what will not be used for longest.

    With `bypass` it need not take in what it missed; without, it must, as in Belady's paper.
    """
    next_use = _next_use(np.asarray(items, dtype=np.int64)).tolist()
    n = len(items)
    held: dict[int, int] = {}  # item that will be used again -> its next use
    heap: list[int] = []  # minus the next use; outdated entries are passed over
    dead = hits = 0  # dead: held, and never used again
    for item, following in zip(items, next_use, strict=True):
        hit = item in held
        hits += hit
        if not bypass and not hit and len(held) + dead >= size:
            if dead:
                dead -= 1
            else:
                _drop_farthest(held, heap, items)
        if following == n:
            held.pop(item, None)
            dead += not bypass
            continue
        held[item] = following
        heapq.heappush(heap, -following)
        if len(held) + dead > size:
            _drop_farthest(held, heap, items)
    return hits


def _drop_farthest(held: dict[int, int], heap: list[int], items: Items) -> None:
    while True:
        farthest = -heapq.heappop(heap)
        if held.get(items[farthest]) == farthest:
            del held[items[farthest]]
            return


def _next_use(items: np.ndarray) -> np.ndarray:
    """For each use, the place of the next use of the same item; the number of uses where there is none."""
    previous = previous_use(items)
    following = np.full(len(items), len(items), dtype=np.int64)
    again = np.flatnonzero(previous >= 0)
    following[previous[again]] = again
    return following


SIMULATED: Mapping[str, Callable[[Items, int], int]] = {"FIFO": fifo, "LFU": lfu, "Belady": belady}
POLICIES = ("Belady", "static", "LRU", "LFU", "FIFO")


@dataclass(frozen=True)
class HitRates:
    """Hit rates by size and policy, and what they rest on.

    `rates`: policy, size_granules, hit_rate. `needed`: policy, target, size_granules (the smallest size whose rate is
    at least the target; for FIFO, LFU and Belady to 2 %). `n_uses` are all uses, `n_granules` the different granules
    (as many compulsory misses). `sampled` is the share of granules in the simulation of FIFO, LFU and Belady, 1 if all;
    `sampling_error` the largest difference of hit rate between exact LRU and LRU of that sample.
    """

    rates: pd.DataFrame
    needed: pd.DataFrame
    n_uses: int
    n_granules: int
    sampled: float = 1.0
    sampling_error: float = 0.0

    @property
    def n_again(self) -> int:
        """The uses that are not the first ones."""
        return self.n_uses - self.n_granules


def hit_rates(items: np.ndarray, *, most: int = MOST_USES, n_sizes: int = N_SIZES) -> HitRates:
    """Hit rates of all policies for `n_sizes` sizes of cache; `items` are the granules in order of their use.

    `most`: more uses than that are sampled for the policies that are simulated.
    """
    names, codes, counts = np.unique(items, return_inverse=True, return_counts=True)
    n, again = len(names), len(items) - len(names)
    if again <= 0:
        empty = {"policy": pd.Series(dtype="object"), "size_granules": pd.Series(dtype="int64")}
        rates = pd.DataFrame(empty | {"hit_rate": pd.Series(dtype="float64")})
        return HitRates(rates, pd.DataFrame(empty | {"target": pd.Series(dtype="float64")}), len(items), n)
    sizes = np.unique(np.geomspace(max(1, n / 128), n, n_sizes).round().astype("int64"))
    distances = np.sort(stack_distances(codes))[n:]
    exact = {"LRU": np.searchsorted(distances, sizes, "left"), "static": _static_hits(counts)[sizes]}
    share, sample = _sample(codes, names, counts, most)
    small = np.maximum((sizes * share).round().astype("int64"), 1)
    again_in_sample = max(len(sample) - len(np.unique(sample)), 1)
    listed = sample.tolist()
    rate = {policy: hits / again for policy, hits in exact.items()}
    for policy, simulate in SIMULATED.items():
        rate[policy] = np.array([simulate(listed, int(size)) for size in small]) / again_in_sample
    error = 0.0
    if share < 1:
        of_sample = np.sort(stack_distances(sample))
        of_sample = of_sample[of_sample >= 0]
        error = float(np.abs(np.searchsorted(of_sample, small, "left") / again_in_sample - rate["LRU"]).max())
    table = pd.concat(
        [pd.DataFrame({"policy": p, "size_granules": sizes, "hit_rate": rate[p]}) for p in POLICIES], ignore_index=True
    )
    needed = {
        policy: [_smallest(simulate, listed, share, sizes, rate[policy], target) for target in TARGETS]
        for policy, simulate in SIMULATED.items()
    }
    needed["LRU"] = [int(distances[int(np.ceil(target * again)) - 1]) + 1 for target in TARGETS]
    needed["static"] = [int(np.searchsorted(_static_hits(counts), np.ceil(target * again))) for target in TARGETS]
    wanted = pd.DataFrame(
        [(p, target, size) for p in POLICIES for target, size in zip(TARGETS, needed[p], strict=True)],
        columns=["policy", "target", "size_granules"],
    )
    return HitRates(table, wanted, len(items), n, share, error)


def _static_hits(counts: np.ndarray) -> np.ndarray:
    """Hits among repeated uses of a cache that holds the k most used items, for each k from 0; its items came free."""
    return np.concatenate(([0], np.cumsum(np.sort(counts - 1)[::-1])))


def _smallest(
    simulate: Callable[[Items, int], int],
    items: Items,
    share: float,
    sizes: np.ndarray,
    rates: np.ndarray,
    target: float,
) -> int:
    """A size whose hit rate is at least `target`, within `CLOSE` of one whose rate is not; found by halving.

    `rates` are those of `sizes` (ascending). A policy whose rate falls somewhere with size may have a smaller one.
    """
    again = max(len(items) - len(set(items)), 1)
    at = int(np.argmax(rates >= target))
    low, high = (int(sizes[at - 1]) if at else 0), int(sizes[at])
    while high - low > max(1, CLOSE * high):
        middle = (low + high) // 2
        reached = simulate(items, max(round(middle * share), 1)) >= target * again
        low, high = (low, middle) if reached else (middle, high)
    return high


def _sample(codes: np.ndarray, names: np.ndarray, counts: np.ndarray, most: int) -> tuple[float, np.ndarray]:
    """The share of items in the sample, and the uses of those: of items in order of their uses, then of a hash.

    Items at equal distances in that order are taken, so that those used often and those used rarely have their share.
    """
    if len(codes) <= most:
        return 1.0, codes
    order = np.lexsort((hashed(names), counts))
    n = max(round(len(names) * most / len(codes)), 1)
    chosen = np.zeros(len(names), dtype=bool)
    chosen[order[(np.arange(n) * len(names) // n)]] = True
    return n / len(names), codes[chosen[codes]]


def hashed(numbers: np.ndarray) -> np.ndarray:
    """A hash of each number, spread evenly over 64 bits (the finaliser of splitmix64)."""
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
