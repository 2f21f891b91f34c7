"""Caches against another simulator: libcachesim counts the same hits, of the same granules in the same order.

It is GPL, so it is not a dependency and not in the lock file: `pip install "tracegen[oracle]"`, then run this file.
"""

from typing import Any

import numpy as np
import pytest

from tests.analysis.belady import belady
from tracegen.analysis.stack_distance import stack_distances

libcachesim = pytest.importorskip("libcachesim", reason='needs libcachesim: pip install "tracegen[oracle]"')

NEVER = 1 << 62  # the next use of an item that is not used again


def traces() -> dict[str, list[int]]:
    """A popular part with a long tail, a cycle, and tokens that choose some of the granules that follow each other."""
    random = np.random.default_rng(7)
    token = [n for _ in range(60) for one in random.choice(40, 8, replace=False) for n in range(one * 9, one * 9 + 9)]
    return {
        "Zipf": np.minimum(random.zipf(1.3, 20_000), 3_000).tolist(),
        "cycle": list(range(300)) * 20,
        "tokens": [int(n) for n in token],
    }


def hits(policy: str, items: list[int], size: int) -> int:
    """What libcachesim counts; Belady takes the time of each item's next use, as its oracle traces have."""
    cache: Any = getattr(libcachesim, policy)(cache_size=size)
    following, next_use = {}, [NEVER] * len(items)
    for at in range(len(items) - 1, -1, -1):
        next_use[at] = following.get(items[at], NEVER)
        following[items[at]] = at
    return sum(
        bool(cache.get(libcachesim.Request(obj_id=item + 1, obj_size=1, clock_time=at, next_access_vtime=next_use[at])))
        for at, item in enumerate(items)
    )


@pytest.mark.parametrize("name", list(traces()))
@pytest.mark.parametrize("size", [5, 60, 250])
def test_hits_equal_those_of_libcachesim(name: str, size: int) -> None:
    items = traces()[name]
    distances = stack_distances(np.unique(items, return_inverse=True)[1])
    assert int(((distances >= 0) & (distances < size)).sum()) == hits("LRU", items, size)
    assert belady(items, size, bypass=False) == hits("Belady", items, size)
    assert belady(items, size) >= hits("Belady", items, size), "it need not take in what it missed"
