"""Rank tests, against counting every arrangement, and SciPy."""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from tracegen.analysis.rank_tests import Floats, RankTest, mann_whitney, signed_rank

LEVEL = 0.01
SMALL = st.integers(0, 8)


def floats(values: object) -> Floats:
    return np.array(values, dtype=np.float64)


def p_of(statistics: Floats, observed: float) -> float:
    """Twice the smaller share of the arrangements that are at least as extreme as the observed one."""
    return min(1.0, 2 * min(float(np.mean(statistics <= observed)), float(np.mean(statistics >= observed))))


def counted_mann_whitney(a: Floats, b: Floats) -> float:
    """The p of U, the pairs in which b is larger and half of the equal ones, over every choice of who is b."""
    pool = np.concatenate([a, b])
    larger = (pool[:, None] > pool) + (pool[:, None] == pool) / 2
    places = list(combinations(range(len(pool)), len(b)))
    choices = np.zeros((len(places), len(pool)))
    for choice, taken in zip(choices, places, strict=True):
        choice[list(taken)] = 1
    in_b = np.concatenate([np.zeros(len(a)), np.ones(len(b))])
    return p_of(((choices @ larger) * (1 - choices)).sum(axis=1), float(in_b @ larger @ (1 - in_b)))


def counted_signed_rank(differences: Floats) -> float:
    """The p of the number of Walsh sums above 0 and half of those that are 0, over every choice of signs."""
    first, second = np.triu_indices(len(differences))
    signs = floats(list(product((-1, 1), repeat=len(differences))))
    sums = signs[:, first] * differences[first] + signs[:, second] * differences[second]
    observed = differences[first] + differences[second]
    return p_of(((sums > 0) + (sums == 0) / 2).sum(axis=1), float(((observed > 0) + (observed == 0) / 2).sum()))


@given(st.lists(SMALL, min_size=1, max_size=6), st.lists(SMALL, min_size=1, max_size=5))
def test_p_counts_every_choice_of_samples_with_and_without_ties(a: list[int], b: list[int]) -> None:
    expected = counted_mann_whitney(floats(a), floats(b))
    assert mann_whitney(floats(a), floats(b), LEVEL).p == pytest.approx(expected, rel=1e-12)


@example([0, 1, 2, -3, 4, 5])  # a 0 and no tie: left out, p would be 10 / 32; ranked, 8 / 32
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_p_counts_every_choice_of_signs_with_zeros_and_ties(differences: list[int]) -> None:
    expected = counted_signed_rank(floats(differences))
    assert signed_rank(floats(differences), LEVEL).p == pytest.approx(expected, rel=1e-12)


def check_interval(test: RankTest, steps: list[int], p_at: Callable[[float], float]) -> None:
    """The interval holds a shift if and only if its p is at least LEVEL; a shift at an end may be rejected itself."""
    places = sorted({*steps, *(step + half for step in steps for half in (-0.5, 0.5))})
    for shift in places:
        if test.low is None or test.high is None:
            assert p_at(shift) >= LEVEL
        elif shift not in (test.low, test.high):
            assert (p_at(shift) >= LEVEL) == (test.low < shift < test.high), shift
    assert (test.low is None) == (test.high is None) == (test.least_p >= LEVEL)
    assert test.low is None or test.high is None or test.low <= test.shift <= test.high


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=6), st.lists(st.integers(3, 14), min_size=5, max_size=6))
def test_the_interval_inverts_the_counted_test_of_samples(a: list[int], b: list[int]) -> None:
    steps = sorted({y - x for x in a for y in b})
    test = mann_whitney(floats(a), floats(b), LEVEL)
    check_interval(test, steps, lambda shift: counted_mann_whitney(floats(a), floats(b) - shift))


@settings(max_examples=25)
@given(st.lists(st.integers(-3, 12), min_size=6, max_size=9))
def test_the_interval_inverts_the_counted_test_of_pairs(halves: list[int]) -> None:
    doubled = [2 * value for value in halves]  # so that Walsh averages are whole
    steps = sorted({(x + y) // 2 for x in doubled for y in doubled})
    test = signed_rank(floats(doubled), LEVEL)
    check_interval(test, steps, lambda shift: counted_signed_rank(floats(doubled) - shift))


@pytest.mark.parametrize("n", [20, 50])
def test_the_interval_of_many_values_agrees_with_scipy(n: int) -> None:
    a, b = np.random.default_rng(n).normal(0, 1, (2, n))
    test = mann_whitney(a, b, LEVEL)
    assert test.low is not None and test.high is not None
    for end, outward in ((test.low, -1e-9), (test.high, 1e-9)):
        assert stats.mannwhitneyu(a, b - end - outward, method="exact").pvalue < LEVEL
        assert stats.mannwhitneyu(a, b - end + outward, method="exact").pvalue >= LEVEL
    pairs = signed_rank(b - a, LEVEL)
    assert pairs.low is not None and pairs.high is not None
    for end, outward in ((pairs.low, -1e-9), (pairs.high, 1e-9)):
        assert stats.wilcoxon(b - a - end - outward, method="exact").pvalue < LEVEL
        assert stats.wilcoxon(b - a - end + outward, method="exact").pvalue >= LEVEL


def test_many_values_with_two_that_are_equal_are_nearly_as_without() -> None:
    """No path of its own for ties: one tie among 1,225 pairs moves p by little."""
    a, b = np.random.default_rng(3).normal(0, 1, (2, 50))
    tied = b.copy()
    tied[0] = a[0]
    moved = b.copy()
    moved[0] = a[0] + 1e-12
    assert mann_whitney(a, tied, LEVEL).p == pytest.approx(stats.mannwhitneyu(a, moved, method="exact")[1], rel=0.01)


def test_the_least_p_is_that_of_samples_that_do_not_overlap() -> None:
    for n_a, n_b in ((1, 1), (4, 4), (5, 5), (7, 7), (4, 20), (100, 100)):
        test = mann_whitney(np.arange(n_a) + 0.0, np.arange(n_b) + 1000.0, LEVEL)
        assert test.p == pytest.approx(test.least_p, rel=1e-12)
    for n in (1, 7, 8, 50):
        test = signed_rank(np.arange(n) + 1.0, LEVEL)
        assert test.p == pytest.approx(test.least_p, rel=1e-12)
    assert mann_whitney(floats([1] * 4), floats([2] * 4), LEVEL).p == pytest.approx(1 / 35, rel=1e-12)  # 0.029


def test_samples_without_any_spread() -> None:
    equal = mann_whitney(floats([3] * 7), floats([3] * 7), LEVEL)
    assert (equal.p, equal.shift, equal.low, equal.high) == (1, 0, 0, 0)
    apart = mann_whitney(floats([3] * 7), floats([5] * 7), LEVEL)
    assert (apart.shift, apart.low, apart.high) == (2, 2, 2) and apart.p == pytest.approx(2 / 3432)
    pairs = signed_rank(floats([0] * 8), LEVEL)
    assert (pairs.p, pairs.shift, pairs.low, pairs.high) == (1, 0, 0, 0)


def test_a_rejected_shift_of_0_is_not_in_the_interval() -> None:
    """Both samples have an 8: the shifts that are not rejected begin just above 0, and 0 itself is rejected."""
    a, b = floats([3, 3, 4, 8, 1, 4]), floats([5, 8, 13, 10, 8, 13])
    assert counted_mann_whitney(a, b) == pytest.approx(8 / 924) and counted_mann_whitney(a, b - 0.5) > LEVEL
    up, down = mann_whitney(a, b, LEVEL), mann_whitney(b, a, LEVEL)
    assert up.p == down.p == pytest.approx(8 / 924) and up.high == 10 and down.low == -10
    assert up.low == -(down.high or 0) and 0 < (up.low or 0) < 1e-300


@pytest.mark.parametrize("n", [5, 7, 12, 20, 50])
def test_p_without_equal_values_is_that_of_scipy(n: int) -> None:
    for seed in range(20):
        a, b = np.random.default_rng([n, seed]).normal(0, 1, (2, n))
        b = b + seed / 20
        p = stats.mannwhitneyu(a, b, method="exact").pvalue
        assert mann_whitney(a, b, LEVEL).p == pytest.approx(p, rel=1e-9, abs=1e-300)
        p = stats.wilcoxon(b - a, method="exact").pvalue
        assert signed_rank(b - a, LEVEL).p == pytest.approx(p, rel=1e-9, abs=1e-300)
