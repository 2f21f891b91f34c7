"""Simulated caches against plain ones, the best cache against all choices, and sequences with known answers."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.belady import belady
from tracegen.analysis import caches, replacement
from tracegen.analysis.replacement import chains

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
    def from_here(at: int, cached: frozenset[int]) -> int:
        if at == len(items):
            return 0
        item = items[at]
        if item in cached:
            return 1 + from_here(at + 1, cached)
        options = [cached - {gone} | {item} for gone in cached] if len(cached) == size else [cached | {item}]
        if bypass:
            options.append(cached)
        return max(from_here(at + 1, option) for option in options)

    return from_here(0, frozenset())


@given(st.lists(st.integers(0, 4), min_size=1, max_size=14), st.integers(1, 4))
def test_no_choice_is_better_than_belady(items: list[int], size: int) -> None:
    assert belady(items, size) == best(items, size, bypass=True)
    assert belady(items, size, bypass=False) == best(items, size, bypass=False)


@given(ITEMS)
def test_rates_are_hits_of_repeated_uses(items: list[int]) -> None:
    rates = caches.hit_rates(np.array(items), n_sizes=6)
    again = len(items) - len(set(items))
    assert (rates.n_uses, rates.n_granules, rates.n_again) == (len(items), len(set(items)), again)
    if not again:
        assert rates.rates.empty and rates.needed.empty
        return
    counts = sorted((items.count(item) - 1 for item in set(items)), reverse=True)
    hits = {"LRU": lru, "FIFO": fifo, "LFU": lfu, "static": lambda _, size: sum(counts[:size]), "Belady": belady}
    for row in rates.rates.itertuples():
        assert row.hit_rate == pytest.approx(hits[str(row.policy)](items, int(str(row.size_granules))) / again)
    assert (rates.rates[rates.rates["size_granules"] == rates.n_granules]["hit_rate"] == 1).all()
    for row in rates.needed.itertuples():
        sizes = range(len(set(items)) + 1)
        if row.policy in ("LRU", "static"):
            fits = (n for n in sizes if (hits[str(row.policy)](items, n) if n else 0) >= float(str(row.target)) * again)
            assert row.size_granules == next(fits)
    for target in (0.01, 0.5, 0.8, 1.0):  # any share, not only those that the table has
        size = caches.lru_granules(caches.repeat_distances(np.array(items)), target)
        assert size and lru(items, size) >= target * again > (lru(items, size - 1) if size > 1 else 0)


# Uses of whole tensors, one granule behind the other, and of single granules between them.
TOUCHED = st.lists(st.sampled_from([[0], [1], [2, 3], [4, 5, 6], [6], [7, 8, 9, 10]]), min_size=1, max_size=14).map(
    lambda parts: [item for part in parts for item in part]
)


@given(ITEMS | TOUCHED, st.integers(1, 12))
def test_fifo_and_lfu(items: list[int], size: int) -> None:
    of = chains(np.array(items))
    assert replacement.fifo(of, size) == fifo(items, size) and replacement.lfu(of, size) == lfu(items, size)


@given(TOUCHED.filter(lambda items: len(items) <= 24), st.integers(1, 5))
def test_chains_of_granules_change_no_count(items: list[int], size: int) -> None:
    of = caches.stays(chains(np.array(items)))
    assert of.group == 1 and caches.most_hits(of, size) == belady(items, size) == best(items, size, bypass=True)
    assert of.n_again == len(items) - len(set(items))


def test_a_tensor_is_followed_as_one() -> None:
    of = caches.stays(chains(np.tile(np.arange(200), 10)))
    assert (of.begin.tolist(), of.end.tolist()) == (list(range(9)), list(range(1, 10)))
    assert of.amount.tolist() == [200] * 9 and of.n_again == 1800


@given(ITEMS | TOUCHED, st.integers(1, 6), st.integers(1, 12))
def test_fewer_looks_at_the_room_allow_no_less(items: list[int], size: int, most: int) -> None:
    every, some = caches.stays(chains(np.array(items))), caches.stays(chains(np.array(items)), most=most)
    assert len(some.begin) <= most and some.n_again == every.n_again
    assert caches.most_hits(some, size) >= caches.most_hits(every, size)
    if some.group == 1:
        assert caches.most_hits(some, size) == caches.most_hits(every, size)


def test_no_line_of_a_long_run_lies_above_belady() -> None:
    """Sampled, the best cache lay below a static set that was counted for all granules."""
    random = np.random.default_rng(1)
    tokens = [np.append(np.arange(60), 60 + 4 * np.repeat(random.choice(90, 12, replace=False), 4)) for _ in range(150)]
    items = np.concatenate([t + np.where(t >= 60, np.arange(len(t)) % 4, 0) for t in tokens])
    rates = caches.hit_rates(items, most=1_000)
    assert rates.sampled < 1 and rates.group == 1
    by_size = rates.rates.pivot(index="size_granules", columns="policy", values="hit_rate")
    whole = caches.hit_rates(items, most=10**9).rates
    exact = whole[whole["policy"] == "Belady"].set_index("size_granules")["hit_rate"]
    assert by_size["Belady"].to_numpy() == pytest.approx(exact.to_numpy())
    for policy in ("static", "LRU"):
        assert (by_size["Belady"] >= by_size[policy]).all(), policy
    for policy in ("LFU", "FIFO"):
        assert (by_size["Belady"] >= by_size[policy] - rates.errors[policy]).all(), policy


def test_no_policy_needs_less_than_the_best_choice() -> None:
    """The size for the best choice is found to 2 %, that for a set that stays or for LRU to the granule."""
    for n in (1_272, 1_274):
        found = caches.hit_rates(np.tile(np.arange(n), 12)).needed
        sizes = found.pivot(index="target", columns="policy", values="size_granules")
        assert (sizes["Belady"] == sizes.min(axis="columns")).all()


def test_a_cliff_is_named_with_the_rate_below_it() -> None:
    """Nine tokens that read the same 200 granules; 5 of these are used twice in a row."""
    token = np.concatenate([np.repeat(np.arange(5), 2), np.arange(5, 200)])
    rates = caches.hit_rates(np.tile(token, 9))
    assert rates.needed.query("policy == 'LRU'")["size_granules"].tolist() == [200] * 4
    [lru] = rates.cliffs.query("policy == 'LRU'").to_dict("records")
    assert (lru["below_granules"], lru["size_granules"], lru["hit_rate"]) == (199, 200, 1)
    assert lru["below_rate"] == pytest.approx(9 * 5 / (8 * 200 + 9 * 5))
    steady = caches.hit_rates(np.random.default_rng(0).integers(0, 500, 20_000))
    assert steady.cliffs.empty
    others = rates.cliffs[rates.cliffs["policy"] != "LRU"]
    assert set(others["policy"]) == {"LFU", "FIFO"}
    assert (others["below_rate"] < 0.5).all() and (others["hit_rate"] >= 0.9).all()


def test_a_cliff_between_two_sizes_is_looked_at() -> None:
    """Six tokens that read the same 80 granules, and some of 20 others: little is served until most of them fit."""
    random = np.random.default_rng(3)
    items = np.concatenate([np.append(np.arange(80), random.choice(np.arange(80, 100), 4)) for _ in range(6)])
    rates = caches.hit_rates(items, n_sizes=6)
    every = pd.concat([rates.rates, rates.between]).sort_values("size_granules")
    for policy, simulated in (("FIFO", fifo), ("LFU", lfu)):
        rows = every[every["policy"] == policy]
        rises, sizes = rows["hit_rate"].diff(), rows["size_granules"]
        assert rows["hit_rate"].tolist() == [simulated(items.tolist(), size) / rates.n_again for size in sizes]
        assert sizes.is_unique and policy in set(rates.between["policy"])
        assert ((rises <= caches.STEEP) | (sizes.diff() <= np.maximum(1, caches.CLOSE * sizes)))[1:].all()
    assert caches.hit_rates(random.integers(0, 500, 5_000), n_sizes=60).between.empty


def test_a_sample_says_how_far_it_is_off() -> None:
    share = 1 / np.arange(1, 8_001) ** 0.8
    items = np.random.default_rng(0).choice(8_000, 100_000, p=share / share.sum())
    sampled, whole = (caches.hit_rates(items, most=most, n_sizes=8) for most in (10_000, 10**9))
    assert whole.sampled == 1 and not whole.errors
    assert 0.05 < sampled.sampled < 0.2 and set(sampled.errors) == {"LRU", "LFU", "FIFO"}
    assert all(0 < error < 0.15 for error in sampled.errors.values())
    both = sampled.rates.merge(whole.rates, on=["policy", "size_granules"])
    assert len(both) == len(whole.rates)
    off = (both["hit_rate_x"] - both["hit_rate_y"]).abs().groupby(both["policy"]).max()
    assert (off[["LRU", "static", "Belady"]] == 0).all()  # exact with the sample, too
    for policy in ("FIFO", "LFU"):
        assert off[policy] < sampled.errors[policy], policy


@pytest.mark.parametrize("items", [[], [3], [1, 2, 3]])
def test_nothing_repeats(items: list[int]) -> None:
    rates = caches.hit_rates(np.array(items, dtype=np.int64))
    assert rates.rates.empty and rates.needed.empty and rates.n_again == 0


@pytest.mark.parametrize("seed", range(2))
def test_rates_of_sizes_decide_about_others_as_simulating_them_would(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    items = random.choice(2000, 20_000, p=random.dirichlet(np.full(2000, 0.3)))
    asked: list[int] = []
    most_hits = caches.most_hits
    monkeypatch.setattr(caches, "most_hits", lambda of, size: asked.append(size) or most_hits(of, size))
    quick, fewer = caches.hit_rates(items), len(asked)
    monkeypatch.setattr(caches, "_undecided", lambda *_: (0.0, np.inf))
    slow = caches.hit_rates(items)
    assert quick.needed.equals(slow.needed) and fewer < len(asked) - fewer
