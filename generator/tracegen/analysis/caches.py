"""Which share of its uses a cache of a given size would serve, for several ways to choose what it keeps.

A cache holds granules of one size, and is empty before the first measured pass. A use of a granule that it holds is a
hit. The first use of a granule misses in every cache (a compulsory miss); any other miss is for want of room (a
capacity miss). A hit rate here is a share of the uses that are not the first ones, so that it says what size can do: it
is 100 % for a cache that holds all that was ever used.

Ways to choose (policies):
- `LRU` evicts what was least recently used; exact, by stack distances (Mattson et al. 1970);
- `static` holds from the beginning what is used most often in the whole run, and never changes: it knows the run;
- `Belady` evicts what will not be used for longest (Belady 1966), and takes in nothing that will not be used before all
  that it holds: it knows the future, and no cache does better; see `belady.stays`.

None of these rates predicts a speed: a miss costs what the disk makes of it, and the kernel replaces pages in its own
way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis.belady import Best, chains, stays
from tracegen.analysis.stack_distance import smallest, stack_distances

N_SIZES = 20
CLOSE = 0.02  # of a size: how exactly the size for a hit rate of Belady is found
POLICIES = ("Belady", "static", "LRU")
TARGETS = (0.5, 0.9, 0.95, 0.99)  # hit rates that pages ask for


@dataclass(frozen=True)
class HitRates:
    """Hit rates by size and policy, and what they rest on.

    `rates`: policy, size_granules, hit_rate. `needed`: policy, target, size_granules (the smallest size whose rate is
    at least the target; for Belady to 2 %). `n_uses` are all uses, `n_granules` the different granules (as many
    compulsory misses). `group`: as in `belady.Stays`; over 1, the rates of Belady are ones that no cache exceeds, and
    not ones that a cache has.
    """

    rates: pd.DataFrame
    needed: pd.DataFrame
    n_uses: int
    n_granules: int
    group: int = 1


def repeat_distances(items: np.ndarray) -> np.ndarray:
    """Of each repeated use, how many different items were used since the last one: int array, ascending.

    Since the last use of an item of a chain, all others of the chain were used, and other chains.
    """
    uses, length = chains(items)
    distances = stack_distances(uses, length[uses])
    again = distances >= 0
    n = length[uses[again]]
    return np.sort(np.repeat(distances[again] + n - 1, n))


def lru_granules(distances: np.ndarray, target: float) -> int | None:
    """The smallest LRU cache that serves `target` of the repeated uses, by `repeat_distances`; None without any."""
    least = smallest(distances, target)
    return None if least is None else least + 1


def lru_rate(distances: np.ndarray, size: int) -> float:
    """The share of repeated uses that an LRU cache of `size` items serves, by `repeat_distances` (at least one)."""
    return int(np.searchsorted(distances, size, "left")) / len(distances)


def lru_cliffs(distances: np.ndarray) -> list[int]:
    """The sizes that are the smallest LRU caches for several of `TARGETS`, by `repeat_distances`: ascending."""
    sizes = [size for target in TARGETS if (size := lru_granules(distances, target))]
    return [size for size in dict.fromkeys(sizes) if sizes.count(size) > 1]


def hit_rates(items: np.ndarray, distances: np.ndarray | None = None) -> HitRates:
    """Hit rates of all policies for `N_SIZES` sizes of cache; `items` are the granules in order of their use.

    `distances` are their `repeat_distances`, where those are known.
    """
    uses, length = chains(items)
    n = int(length.sum())
    again = len(items) - n
    if again <= 0:
        return HitRates(_table([], RATES), _table([], NEEDED), len(items), n)
    sizes = np.unique(np.geomspace(max(1, n / 128), n, N_SIZES).round().astype("int64"))
    distances = repeat_distances(items) if distances is None else distances
    often = np.sort(np.repeat(np.bincount(uses) - 1, length))[::-1]
    free = np.concatenate(([0], np.cumsum(often)))  # by how many of the most used items it holds
    apart = stays(uses, length)
    best = Best(apart)
    for place in sorted(range(1, len(sizes) + 1), key=lambda place: -(place & -place)):  # the middle first: see `Best`
        best.rate(int(sizes[place - 1]))
    rates = {
        "Belady": np.array([best.rate(int(size)) for size in sizes]),
        "static": free[sizes] / again,
        "LRU": np.array([lru_rate(distances, int(size)) for size in sizes]),
    }
    needed = {
        "static": [int(np.searchsorted(free, np.ceil(target * again))) for target in TARGETS],
        "LRU": [lru_granules(distances, target) or 0 for target in TARGETS],
    }
    found = [_smallest_best(best, sizes, target) for target in TARGETS]
    needed["Belady"] = [min(of) for of in zip(found, *needed.values(), strict=True)]  # no policy needs less
    return HitRates(
        _table([(p, *row) for p in POLICIES for row in zip(sizes, rates[p], strict=True)], RATES),
        _table([(p, *row) for p in POLICIES for row in zip(TARGETS, needed[p], strict=True)], NEEDED),
        len(items),
        n,
        apart.group,
    )


RATES = {"policy": "str", "size_granules": "int64", "hit_rate": "float64"}
NEEDED = {"policy": "str", "target": "float64", "size_granules": "int64"}


def _table(rows: Sequence[tuple[object, ...]], kinds: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(kinds)).astype(dict(kinds))


def _smallest_best(best: Best, sizes: np.ndarray, target: float) -> int:
    """A size, within `CLOSE` of the smallest, with which the best choice has `target` of the hits; found by halving.

    The last of `sizes` (ascending) has them all.
    """
    at = next(at for at, size in enumerate(sizes) if best.rate(int(size)) >= target)
    low, high = (int(sizes[at - 1]) if at else 0), int(sizes[at])
    while high - low > max(1, CLOSE * high):
        middle = (low + high) // 2
        low, high = (low, middle) if best.rate(middle) >= target else (middle, high)
    return high
