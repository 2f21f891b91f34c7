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
  that it holds: it knows the future, and no cache does better. It is counted for all granules, see `stays`.

Where there are more than `MOST_USES` uses of chains (see `replacement`), FIFO and LFU are simulated for a part of the
granules, chosen by a hash of their number within those used about as often, with a cache smaller by as much
(Waldspurger et al. 2015, 2017).

None of these rates predicts a speed: a miss costs what the disk makes of it, and the kernel replaces pages in its own
way.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from tracegen.analysis.replacement import SIMULATED, Chains, chains
from tracegen.analysis.stack_distance import previous_use, stack_distances
from tracegen.contract.hashing import hashed

MOST_USES = 100_000
MOST_STAYS = 100_000
N_SIZES = 20
CLOSE = 0.02  # of a size: how exactly the size for a hit rate is found by simulation
STEEP = 0.1  # of hit rate between neighbouring sizes: what lies between them is looked at, too
TARGETS = (0.5, 0.9, 0.95, 0.99)  # hit rates that pages ask for


def _next_use(items: np.ndarray) -> np.ndarray:
    """For each use, the place of the next use of the same item; the number of uses where there is none."""
    previous = previous_use(items)
    following = np.full(len(items), len(items), dtype=np.int64)
    again = np.flatnonzero(previous >= 0)
    following[previous[again]] = again
    return following


@dataclass(frozen=True)
class Stays:
    """When items would have to stay in a cache for their next use to hit.

    `begin`, `end`: groups of uses; `amount`: how many items would stay from one use to the next, from a use in the
    group `begin` to one in the group `end`; ascending by begin. A hit inside a group takes no room, and stands in none
    of them. `n_again` are all uses that are not the first of their item. `group` is how many uses a group has; 1: the
    room is looked at after each use.
    """

    begin: np.ndarray
    end: np.ndarray
    amount: np.ndarray
    n_again: int
    group: int = 1


def stays(of: Chains, *, most: int = MOST_STAYS) -> Stays:
    """The stays of the items of a sequence, of which `most_hits` counts the best choice.

    A chain counts as one item of as many parts. That changes no count: the first parts of a chain stay, and as many of
    them as fit between the chains' uses fit inside of a use as well, for each part that comes stands before those that
    have yet to go.

    More than `most` stays are too many to follow. Then uses are taken in groups, as few as do, and what must fit is
    looked at between groups only. No cache can have more hits than that allows, though none may have as many.
    """
    following = _next_use(of.uses)
    again = np.flatnonzero(following < len(of.uses))
    begin, end, amount = again, following[again], of.length[of.uses[again]]
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


def most_hits(of: Stays, size: int) -> int:
    """The most hits that a cache of `size` items can have, whatever it keeps: it drops what is used again last."""
    kept = [0] * (int(of.end.max(initial=0)) + 1)  # by the group of the next use
    heap: list[int] = []  # minus the group of the next use
    total = lost = now = 0
    for begin, end, amount in zip(of.begin.tolist(), of.end.tolist(), of.amount.tolist(), strict=True):
        while now < begin:
            now += 1
            total -= kept[now]
        if not kept[end]:
            heapq.heappush(heap, -end)
        kept[end] += amount
        total += amount
        while total > size:
            farthest = -heap[0]
            gone = min(kept[farthest], total - size)
            kept[farthest] -= gone
            total -= gone
            lost += gone
            if not kept[farthest]:
                heapq.heappop(heap)
    return of.n_again - lost


POLICIES = ("Belady", "static", "LRU", "LFU", "FIFO")


@dataclass(frozen=True)
class HitRates:
    """Hit rates by size and policy, and what they rest on.

    `rates`: policy, size_granules, hit_rate. `needed`: policy, target, size_granules (the smallest size whose rate is
    at least the target; for FIFO, LFU and Belady to 2 %). `cliffs`: policy, below_granules, below_rate, size_granules,
    hit_rate: two sizes between which the rate of LRU, LFU or FIFO passes several of `TARGETS`; of LRU neighbouring
    ones. `between`: policy, size_granules, hit_rate of LFU and FIFO, sizes between those of `rates` where these rise
    steeply: by more than `STEEP` within more than `CLOSE` of a size. `n_uses` are all uses, `n_granules` the different
    granules (as many compulsory misses).

    `distances` are the `repeat_distances`. `sampled` is the share of granules in the simulation of FIFO and LFU, 1 if
    all. `errors` says how far each may be off at any size: by how much LRU of the same sample differs from LRU of all
    granules (`errors` has that too), and halves of the sample from the sample. `group`: as in `Stays`; over 1, the
    rates of Belady are ones that no cache exceeds, and not ones that a cache has.
    """

    rates: pd.DataFrame
    needed: pd.DataFrame
    cliffs: pd.DataFrame
    between: pd.DataFrame
    n_uses: int
    n_granules: int
    distances: np.ndarray
    sampled: float = 1.0
    errors: Mapping[str, float] = field(default_factory=dict)
    group: int = 1

    @property
    def n_again(self) -> int:
        """The uses that are not the first ones."""
        return self.n_uses - self.n_granules


def repeat_distances(items: np.ndarray) -> np.ndarray:
    """Of each repeated use, how many different items were used since the last one: int array, ascending."""
    distances = stack_distances(items)
    return np.sort(distances[distances >= 0])


def lru_granules(distances: np.ndarray, target: float) -> int | None:
    """The smallest LRU cache that serves `target` of the repeated uses, by `repeat_distances`; None without any."""
    return int(distances[int(np.ceil(target * len(distances))) - 1]) + 1 if len(distances) else None


def hit_rates(
    items: np.ndarray,
    distances: np.ndarray | None = None,
    *,
    most: int = MOST_USES,
    n_sizes: int = N_SIZES,
    most_stays: int = MOST_STAYS,
) -> HitRates:
    """Hit rates of all policies for `n_sizes` sizes of cache; `items` are the granules in order of their use.

    `distances` are their `repeat_distances`, where those are known. `most`: more uses of chains than that are sampled
    for the policies that are simulated. `most_stays`: see `stays`.
    """
    names, codes, counts = np.unique(items, return_inverse=True, return_counts=True)
    n, again = len(names), len(items) - len(names)
    if again <= 0:
        bare = [pd.DataFrame(columns=list(of)).astype(of) for of in (_RATES, _NEEDED, _CLIFFS, _RATES)]
        return HitRates(bare[0], bare[1], bare[2], bare[3], len(items), n, np.zeros(0, dtype=np.int64))
    sizes = np.unique(np.geomspace(max(1, n / 128), n, n_sizes).round().astype("int64"))
    distances = repeat_distances(codes) if distances is None else distances
    free = np.concatenate(([0], np.cumsum(np.sort(counts - 1)[::-1])))  # by how many of the most used items it holds
    whole = chains(codes)
    share, parts = (1.0, []) if len(whole.uses) <= most else _samples(codes, names, counts, most)
    followed = chains(parts[0]) if parts else whole
    apart = stays(whole, most=most_stays)
    counted: dict[str, Callable[[int], float]] = {
        "Belady": lambda size: most_hits(apart, size) / again,
        "static": lambda size: float(free[size]) / again,
        "LRU": lambda size: int(np.searchsorted(distances, size, "left")) / again,
        **{policy: _rate(simulate, followed, n) for policy, simulate in SIMULATED.items()},
    }
    counted = {policy: cache(rate) for policy, rate in counted.items()}  # some sizes are asked for again
    rates = {policy: np.array([rate(int(size)) for size in sizes]) for policy, rate in counted.items()}
    table = pd.concat(
        [pd.DataFrame({"policy": p, "size_granules": sizes, "hit_rate": rates[p]}) for p in POLICIES], ignore_index=True
    )
    found = {  # what fits best into a room, of intervals, is concave in its size
        policy: [
            _smallest(counted[policy], sizes, rates[policy], target, is_concave=policy == "Belady")
            for target in TARGETS
        ]
        for policy in ("Belady", *SIMULATED)
    }
    exact = [lru_granules(distances, target) or 0 for target in TARGETS]
    found["LRU"] = [(size - 1, size) for size in exact]
    found["static"] = [(0, int(np.searchsorted(free, np.ceil(target * again)))) for target in TARGETS]
    counted_whole = ["LRU", "static", *(SIMULATED if share == 1 else ())]  # none of these does with less than the best
    least = [min(found[policy][at][1] for policy in counted_whole) for at in range(len(TARGETS))]
    found["Belady"] = [(low, min(size, most)) for (low, size), most in zip(found["Belady"], least, strict=True)]
    needed = [(p, target, size) for p in POLICIES for target, (_, size) in zip(TARGETS, found[p], strict=True)]
    return HitRates(
        table,
        pd.DataFrame(needed, columns=list(_NEEDED)),
        _cliffs({p: found[p] for p in ("LRU", "LFU", "FIFO")}, counted),
        pd.DataFrame(
            [(p, size, counted[p](size)) for p in SIMULATED for size in _between(counted[p], sizes)],
            columns=list(_RATES),
        ).astype(_RATES),
        len(items),
        n,
        distances,
        share,
        _errors(parts, n, sizes, rates) if parts else {},
        apart.group,
    )


_RATES = {"policy": "object", "size_granules": "int64", "hit_rate": "float64"}
_NEEDED = {"policy": "object", "target": "float64", "size_granules": "int64"}
_CLIFFS = {
    "policy": "object",
    "below_granules": "int64",
    "below_rate": "float64",
    "size_granules": "int64",
    "hit_rate": "float64",
}


def _cliffs(
    found: Mapping[str, Sequence[tuple[int, int]]], counted: Mapping[str, Callable[[int], float]]
) -> pd.DataFrame:
    """The sizes that are the smallest for several targets; `found`: by policy a size too small, and one that does."""
    rows = []
    for policy, pairs in found.items():
        for below, size in sorted({pair for pair in pairs if pairs.count(pair) > 1}):
            under = counted[policy](below) if below else 0.0
            rows.append((policy, below, under, size, counted[policy](size)))
    return pd.DataFrame(rows, columns=list(_CLIFFS)).astype(_CLIFFS)


def _between(rate: Callable[[int], float], sizes: np.ndarray) -> Iterator[int]:
    """Sizes between these (ascending) that show where a rate rises; found by halving."""
    pairs = list(pairwise(int(size) for size in sizes))
    while pairs:
        low, high = pairs.pop()
        if rate(high) - rate(low) > STEEP and high - low > max(1, CLOSE * high):
            middle = (low + high) // 2
            yield middle
            pairs += [(low, middle), (middle, high)]


def _errors(
    parts: Sequence[np.ndarray], n: int, sizes: np.ndarray, rates: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """By policy how far the sample may be off: see `HitRates`. `parts`: the sample, then its halves."""
    whole, *halves = parts
    distances = repeat_distances(whole)

    def off(policy: str, rate: Callable[[int], float]) -> np.ndarray:
        far: np.ndarray = np.abs(np.array([rate(int(size)) for size in sizes]) - rates[policy])
        return far

    known = off("LRU", _rate(lambda _, size: int(np.searchsorted(distances, size, "left")), chains(whole), n))
    errors = {"LRU": float(known.max())}
    for policy, simulate in SIMULATED.items():
        of_halves = [off(policy, _rate(simulate, chains(half), n)) for half in halves]
        errors[policy] = float((known + np.max(of_halves, axis=0)).max())
    return errors


def _smallest(
    rate: Callable[[int], float], sizes: np.ndarray, rates: np.ndarray, target: float, *, is_concave: bool
) -> tuple[int, int]:
    """A size whose hit rate is less than `target`, and one within `CLOSE` whose rate is not; found by halving.

    `rates` are those of `sizes` (ascending). A policy whose rate falls somewhere with size may have a smaller one.
    `is_concave`: it rises ever less with size, so that these rates decide about most sizes without a simulation.
    """
    at = int(np.argmax(rates >= target))
    low, high = (int(sizes[at - 1]) if at else 0), int(sizes[at])
    below, above = _undecided(sizes, rates, at, target) if is_concave and at else (0.0, float(high))
    while high - low > max(1, CLOSE * high):
        middle = (low + high) // 2
        reached = rate(middle) >= target if below <= middle <= above else middle > above
        low, high = (low, middle) if reached else (middle, high)
    return low, high


def _undecided(sizes: np.ndarray, rates: np.ndarray, at: int, target: float) -> tuple[float, float]:
    """Sizes between which a concave rate may reach `target`, by those `at` and around the size that does.

    Such a curve lies above its chords, and below their extensions. Both ends are one size too far, for rounding.
    """
    slope = np.diff(rates) / np.diff(sizes)
    below = [0.0]
    if at > 1 and slope[at - 2] > 0:
        below.append(float(sizes[at - 1] + (target - rates[at - 1]) / slope[at - 2]))
    if at < len(slope) and slope[at] > 0:
        below.append(float(sizes[at] - (rates[at] - target) / slope[at]))
    return max(below) - 1, float(sizes[at - 1] + (target - rates[at - 1]) / slope[at - 1]) + 1


def _rate(simulate: Callable[[Chains, int], int], sample: Chains, n: int) -> Callable[[int], float]:
    """By size of a cache for all `n` items, the hits that a simulation has in a sample, in a cache as small beside it.

    They are a share of the uses that are not the first ones.
    """
    n_items = int(sample.length.sum())
    again = max(sample.n_items - n_items, 1)
    return lambda size: simulate(sample, max(round(size * n_items / n), 1)) / again


def _samples(codes: np.ndarray, names: np.ndarray, counts: np.ndarray, most: int) -> tuple[float, list[np.ndarray]]:
    """The share of items in the sample, and the uses of those: of items in order of their uses, then of a hash.

    Items at equal distances in that order are taken, so that those used often and those used rarely have their share.
    Behind the sample stand its two halves, chosen in the same way.
    """
    order = np.lexsort((hashed(names), counts))
    n = max(round(len(names) * most / len(codes)), 2)
    chosen = order[np.arange(n) * len(names) // n]
    return n / len(names), [codes[np.isin(codes, of)] for of in (chosen, *(chosen[at::2] for at in range(2)))]
