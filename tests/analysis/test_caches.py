"""Simulated caches against plain ones, the best cache against all choices, and sequences with known answers."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.belady import belady
from tracegen.analysis import caches
from tracegen.analysis.belady import Best, chains, stays
from tracegen.analysis.stack_distance import stack_distances

ITEMS = st.lists(st.integers(0, 6), min_size=1, max_size=24)
# Uses of whole tensors, one granule behind the other, and of single granules between them.
TOUCHED = st.lists(st.sampled_from([[0], [1], [2, 3], [4, 5, 6], [6], [7, 8, 9, 10]]), min_size=1, max_size=14).map(
    lambda parts: [item for part in parts for item in part]
)


def lru(items: list[int], size: int) -> int:
    """Hits of a cache that drops what was not used for longest."""
    kept: list[int] = []  # the last used at the end
    hits = 0
    for item in items:
        hits += item in kept
        kept = [*(one for one in kept if one != item), item][-size:]
    return hits


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
    rates = caches.hit_rates(np.array(items))
    again = len(items) - len(set(items))
    assert (rates.n_uses, rates.n_granules) == (len(items), len(set(items)))
    if not again:
        assert rates.rates.empty and rates.needed.empty
        return
    counts = sorted((items.count(item) - 1 for item in set(items)), reverse=True)
    hits = {"LRU": lru, "static": lambda _, size: sum(counts[:size]), "Belady": belady}
    for row in rates.rates.itertuples():
        assert row.hit_rate == pytest.approx(hits[str(row.policy)](items, int(str(row.size_granules))) / again)
    assert (rates.rates[rates.rates["size_granules"] == rates.n_granules]["hit_rate"] == 1).all()
    for row in rates.needed.itertuples():
        sizes = range(len(set(items)) + 1)
        if row.policy in ("LRU", "static"):
            fits = (n for n in sizes if (hits[str(row.policy)](items, n) if n else 0) >= float(str(row.target)) * again)
            assert row.size_granules == next(fits)
    distances = caches.repeat_distances(np.array(items))
    for target in (0.01, 0.5, 0.8, 1.0):  # any share, not only those that the table has
        size = caches.lru_granules(distances, target)
        assert size and lru(items, size) >= target * again > (lru(items, size - 1) if size > 1 else 0)


@given(ITEMS | TOUCHED)
def test_chains_have_the_distances_of_their_items(items: list[int]) -> None:
    each = stack_distances(np.array(items))
    assert caches.repeat_distances(np.array(items)).tolist() == sorted(each[each >= 0].tolist())


@given(TOUCHED.filter(lambda items: len(items) <= 24), st.integers(1, 5))
def test_chains_of_granules_change_no_count(items: list[int], size: int) -> None:
    of = stays(*chains(np.array(items)))
    assert of.group == 1 and Best(of).hits(size) == belady(items, size) == best(items, size, bypass=True)
    assert of.n_again == len(items) - len(set(items))


@given(ITEMS | TOUCHED, st.permutations(range(1, 9)))
def test_sizes_that_are_known_change_no_other(items: list[int], sizes: list[int]) -> None:
    found = Best(stays(*chains(np.array(items))))
    assert [found.hits(size) for size in sizes] == [belady(items, size) for size in sizes]


def test_a_tensor_is_followed_as_one() -> None:
    of = stays(*chains(np.tile(np.arange(200), 10)))
    assert (of.begin.tolist(), of.end.tolist()) == (list(range(9)), list(range(1, 10)))
    assert of.amount.tolist() == [200] * 9 and of.n_again == 1800


@given(ITEMS | TOUCHED, st.permutations(range(1, 7)), st.integers(1, 12))
def test_fewer_looks_at_the_room_allow_no_less(items: list[int], sizes: list[int], most: int) -> None:
    of = stays(*chains(np.array(items)), most=most)
    assert len(of.begin) <= most and of.n_again == len(items) - len(set(items))
    found = Best(of)
    for size in sizes:
        assert found.hits(size) == Best(of).hits(size)
        assert found.hits(size) >= belady(items, size)
        assert of.group > 1 or found.hits(size) == belady(items, size)


def test_no_line_of_a_long_run_lies_above_belady() -> None:
    random = np.random.default_rng(1)
    tokens = [np.append(np.arange(60), 60 + 4 * np.repeat(random.choice(90, 12, replace=False), 4)) for _ in range(150)]
    items = np.concatenate([t + np.where(t >= 60, np.arange(len(t)) % 4, 0) for t in tokens])
    rates = caches.hit_rates(items)
    assert rates.group == 1
    by_size = rates.rates.pivot(index="size_granules", columns="policy", values="hit_rate")
    best = [belady(items.tolist(), int(size)) / (len(items) - rates.n_granules) for size in by_size.index]
    assert by_size["Belady"].tolist() == best
    for policy in ("static", "LRU"):
        assert (by_size["Belady"] >= by_size[policy]).all(), policy


def test_no_policy_needs_less_than_the_best_choice() -> None:
    """The size for the best choice is found to 2 %, that for a set that stays or for LRU to the granule."""
    for n in (1_272, 1_274):
        found = caches.hit_rates(np.tile(np.arange(n), 12)).needed
        sizes = found.pivot(index="target", columns="policy", values="size_granules")
        assert (sizes["Belady"] == sizes.min(axis="columns")).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_size_for_the_best_choice_is_found_to_two_percent(seed: int) -> None:
    random = np.random.default_rng(seed)
    items = random.choice(800, 6_000, p=random.dirichlet(np.full(800, 0.3)))
    needed = caches.hit_rates(items).needed
    again = len(items) - len(set(items.tolist()))
    for row in needed[needed["policy"] == "Belady"].itertuples():
        size, target = int(str(row.size_granules)), float(str(row.target))
        assert belady(items.tolist(), size) / again >= target
        assert belady(items.tolist(), size - max(1, round(caches.CLOSE * size))) / again < target


def test_lru_has_a_cliff_where_all_that_a_token_reads_fits() -> None:
    """Nine tokens that read the same 200 granules; 5 of these are used twice in a row."""
    token = np.concatenate([np.repeat(np.arange(5), 2), np.arange(5, 200)])
    items = np.tile(token, 9)
    assert caches.hit_rates(items).needed.query("policy == 'LRU'")["size_granules"].tolist() == [200] * 4
    distances = caches.repeat_distances(items)
    assert caches.lru_cliffs(distances) == [200] and caches.lru_rate(distances, 200) == 1
    assert caches.lru_rate(distances, 199) == pytest.approx(9 * 5 / (8 * 200 + 9 * 5))
    steady = caches.repeat_distances(np.random.default_rng(0).integers(0, 500, 20_000))
    assert caches.lru_cliffs(steady) == []
