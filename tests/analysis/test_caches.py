"""Simulated caches against plain ones, the best cache against all choices, and sequences with known answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import caches

ITEMS = st.lists(st.integers(0, 6), min_size=1, max_size=24)
Drop = Callable[[dict[int, int], dict[int, int], dict[int, int]], int]


def plain(items: list[int], size: int, drop: Drop) -> int:
    """Hits of a cache that asks `drop` which item goes: it sees when each came in, was last used, and how often."""
    came: dict[int, int] = {}
    last: dict[int, int] = {}
    often: dict[int, int] = {}
    hits = 0
    for time, item in enumerate(items):
        if item in came:
            hits += 1
            often[item] += 1
        else:
            if len(came) == size:
                gone = drop(came, last, often)
                del came[gone], last[gone], often[gone]
            came[item], often[item] = time, 1
        last[item] = time
    return hits


def lru(items: list[int], size: int) -> int:
    return plain(items, size, lambda came, last, often: min(came, key=last.__getitem__))


def fifo(items: list[int], size: int) -> int:
    return plain(items, size, lambda came, last, often: min(came, key=came.__getitem__))


def lfu(items: list[int], size: int) -> int:
    return plain(items, size, lambda came, last, often: min(came, key=lambda item: (often[item], last[item])))


def best(items: list[int], size: int, *, bypass: bool) -> int:
    """The most hits that any choice of what to drop gives: all choices are tried."""

    @cache
    def from_here(at: int, held: frozenset[int]) -> int:
        if at == len(items):
            return 0
        item = items[at]
        if item in held:
            return 1 + from_here(at + 1, held)
        options = [held - {gone} | {item} for gone in held] if len(held) == size else [held | {item}]
        if bypass:
            options.append(held)
        return max(from_here(at + 1, option) for option in options)

    return from_here(0, frozenset())


@given(ITEMS, st.integers(1, 7))
def test_fifo_and_lfu(items: list[int], size: int) -> None:
    assert caches.fifo(items, size) == fifo(items, size)
    assert caches.lfu(items, size) == lfu(items, size)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=14), st.integers(1, 4))
def test_no_choice_is_better_than_belady(items: list[int], size: int) -> None:
    assert caches.belady(items, size) == best(items, size, bypass=True)
    assert caches.belady(items, size, bypass=False) == best(items, size, bypass=False)


@given(ITEMS)
def test_rates_are_hits_of_repeated_uses(items: list[int]) -> None:
    rates = caches.hit_rates(np.array(items), n_sizes=6)
    again = len(items) - len(set(items))
    assert (rates.n_uses, rates.n_granules, rates.n_again) == (len(items), len(set(items)), again)
    if not again:
        assert rates.rates.empty and rates.needed.empty
        return
    counts = sorted((items.count(item) - 1 for item in set(items)), reverse=True)
    hits = {
        "LRU": lru,
        "FIFO": fifo,
        "LFU": lfu,
        "static": lambda _, size: sum(counts[:size]),
        "Belady": lambda items, size: caches.belady(items, size),
    }
    for row in rates.rates.itertuples():
        assert row.hit_rate == pytest.approx(hits[str(row.policy)](items, int(str(row.size_granules))) / again)
    assert (rates.rates[rates.rates["size_granules"] == rates.n_granules]["hit_rate"] == 1).all()
    for row in rates.needed.itertuples():
        sizes = range(len(set(items)) + 1)
        if row.policy in ("LRU", "static"):
            fits = (n for n in sizes if (hits[str(row.policy)](items, n) if n else 0) >= float(str(row.target)) * again)
            assert row.size_granules == next(fits)


@given(ITEMS)
def test_belady_is_the_upper_bound(items: list[int]) -> None:
    rates = caches.hit_rates(np.array(items), n_sizes=6).rates
    if rates.empty:
        return
    by_size = rates.pivot(index="size_granules", columns="policy", values="hit_rate")
    for policy in ("static", "LRU", "LFU", "FIFO"):
        assert (by_size["Belady"] >= by_size[policy] - 1e-12).all(), policy


def test_a_cache_smaller_than_the_cycle_hits_nothing_under_lru() -> None:
    """Each token of a dense model reads the same bytes in the same order."""
    rates = caches.hit_rates(np.tile(np.arange(200), 10)).rates
    lru_rates = rates[rates["policy"] == "LRU"]
    assert (lru_rates.loc[lru_rates["size_granules"] < 200, "hit_rate"] == 0).all()
    assert (lru_rates.loc[lru_rates["size_granules"] == 200, "hit_rate"] == 1).all()
    static = rates[rates["policy"] == "static"]
    assert static["hit_rate"].to_numpy() == pytest.approx(static["size_granules"].to_numpy() / 200)


def test_uniform_uses_hit_as_often_as_the_cache_is_large() -> None:
    items = np.random.default_rng(0).integers(0, 500, 60_000)
    rates = caches.hit_rates(items).rates
    for policy in ("LRU", "FIFO", "LFU"):
        of = rates[rates["policy"] == policy]
        assert of["hit_rate"].to_numpy() == pytest.approx(of["size_granules"].to_numpy() / 500, abs=0.02), policy


def test_zipf_hits_as_often_as_its_hottest_items_are_used() -> None:
    share = 1 / np.arange(1, 1001) ** 1.1
    share /= share.sum()
    items = np.random.default_rng(0).choice(1000, 80_000, p=share)
    static = caches.hit_rates(items).rates.query("policy == 'static'")
    expected = [share[:size].sum() for size in static["size_granules"]]
    assert static["hit_rate"].to_numpy() == pytest.approx(expected, abs=0.02)


def test_a_sample_says_how_far_it_is_off() -> None:
    share = 1 / np.arange(1, 8_001) ** 0.8
    items = np.random.default_rng(0).choice(8_000, 100_000, p=share / share.sum())
    sampled, whole = (caches.hit_rates(items, most=most, n_sizes=8) for most in (10_000, 10**9))
    assert whole.sampled == 1 and whole.sampling_error == 0
    assert 0.05 < sampled.sampled < 0.2 and 0 < sampled.sampling_error < 0.1
    both = sampled.rates.merge(whole.rates, on=["policy", "size_granules"])
    assert len(both) == len(whole.rates)
    off = (both["hit_rate_x"] - both["hit_rate_y"]).abs().groupby(both["policy"]).max()
    assert (off[["LRU", "static"]] == 0).all()  # exact with the sample, too
    assert (off[["FIFO", "LFU", "Belady"]] < 3 * sampled.sampling_error + 0.01).all()


@pytest.mark.parametrize("items", [[], [3], [1, 2, 3]])
def test_nothing_repeats(items: list[int]) -> None:
    rates = caches.hit_rates(np.array(items, dtype=np.int64))
    assert rates.rates.empty and rates.needed.empty and rates.n_again == 0
