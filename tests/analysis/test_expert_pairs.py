"""Experts chosen together: expectation against all ways to choose, chance is rarely called a pair, a plant is found."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from tests.analysis.routed import chosen_of, even, sticky, uneven
from tracegen.analysis import chance
from tracegen.analysis.expert_pairs import (
    COLUMNS,
    LEAST_LIFT,
    LEAST_ROWS,
    N_BLOCKS,
    SHOWN,
    chernoff,
    expected_together,
    pairs,
)

Choices = np.ndarray


def planted(seed: int, n: int, n_layers: int = 4, n_experts: int = 16, k: int = 2, share: float = 0.7) -> Choices:
    """Random choices, but in layer 1 a row that chooses expert 3 and not 5 chooses 5 too, with probability `share`."""
    random = np.random.default_rng(seed)
    choices = even(seed, n, n_layers, n_experts, k)
    for row in choices[:, 1]:
        if 3 in row and 5 not in row and random.random() < share:
            row[next(at for at in range(k) if row[at] != 3)] = 5
    return choices


@pytest.mark.parametrize("k", [2, 3, 5])
def test_equal_use_is_expected_exactly(k: int) -> None:
    expected = expected_together(np.full(9, 90 * k // 9), k)
    assert expected is not None
    n = 90 * k // 9 * 9 / k
    assert expected[~np.eye(9, dtype=bool)] == pytest.approx(n * k * (k - 1) / (9 * 8), rel=1e-5)


def test_two_of_four_are_the_law_of_pairs_with_these_margins() -> None:
    """Of all laws of one pair P(a, b) ~ w_a w_b the one whose margins are the counts: worked out by another solver."""
    counts = np.array([50, 30, 30, 10])

    def spare(rest: float) -> float:  # experts 1 and 2 are alike; w_0 = 1, w_1 = w_2 = w, w_3 = rest
        w = brentq(lambda w: (2 * w + rest) / (w + w * w + w * rest) - 50 / 30, 1e-9, 1e3)
        return (2 * w + rest) / (rest + 2 * w * rest) - 50 / 10

    rest = brentq(spare, 1e-6, 10)
    w = brentq(lambda w: (2 * w + rest) / (w + w * w + w * rest) - 50 / 30, 1e-9, 1e3)
    weights = np.array([1, w, w, rest])
    total = sum(a * b for a, b in combinations(weights, 2))
    expected = expected_together(counts, 2)
    assert expected is not None
    for a, b in combinations(range(4), 2):
        assert expected[a, b] == pytest.approx(60 * weights[a] * weights[b] / total, rel=1e-4)


def test_margins_that_no_weights_have_are_not_applicable() -> None:
    assert expected_together(np.array([10, 4, 3, 3]), 2) is None, "an expert of every row"
    expected = expected_together(np.array([9, 4, 3, 0, 4]), 2)
    assert expected is not None and expected.sum(axis=1) == pytest.approx([9, 4, 3, 0, 4], abs=1e-3)


@pytest.mark.parametrize(
    ("make", "n", "size", "k"),
    [
        (even, 260, 16, 4),
        (uneven, 260, 16, 4),
        (lambda *a: uneven(*a, lasting=0.95), 400, 8, 2),
        (lambda *a: sticky(*a, stay=0.5), 260, 16, 2),
    ],
)
def test_chance_is_rarely_called_a_pair(make: object, n: int, size: int, k: int) -> None:
    """Random, uneven and lasting choices: at most 5 % of 40 runs have a pair; 6 or more have a probability of 0.01."""
    found = [pairs(chosen_of(make(seed, n, 3, size, k)), dict.fromkeys(range(3), size)) for seed in range(40)]  # type: ignore[operator]
    assert max(one.n_tested for one in found) > 20 and sum(one.n_unusual > 0 for one in found) <= 5


@pytest.mark.parametrize("n", [300, 1_000])
def test_a_planted_pair_is_found_and_no_other(n: int) -> None:
    found = 0
    for seed in range(10):
        tested = pairs(chosen_of(planted(seed, n)), dict.fromkeys(range(4), 16))
        unusual = tested.strongest[tested.strongest["unusual"].to_numpy(bool)]
        first = tested.strongest.iloc[0]
        assert unusual[["layer", "a", "b"]].values.tolist() in ([], [[1, 3, 5]])
        found += len(unusual)
        if len(unusual):
            assert first["lift"] >= LEAST_LIFT and first["p_adjusted"] < chance.LEVEL
            assert 1 < first["low"] < first["lift"] < first["high"]
    assert found >= 9


def test_counted_one_by_one() -> None:
    choices = planted(3, 120, k=3)
    tested = pairs(chosen_of(choices), dict.fromkeys(range(4), 16))
    assert tested.n_pairs == 4 * 120
    for r in tested.strongest.to_dict("records"):
        rows = [set(row[r["layer"]]) for row in choices]
        assert (r["n_rows"], r["n_a"], r["n_b"]) == (120, *(sum(e in row for row in rows) for e in (r["a"], r["b"])))
        assert r["together"] == sum(r["a"] in row and r["b"] in row for row in rows)
        assert min(r["n_a"], r["n_b"]) >= LEAST_ROWS and r["a"] < r["b"]
        assert r["lift"] == pytest.approx(r["together"] / r["expected"])


def test_listed_are_those_below_the_level_in_order() -> None:
    tested = pairs(chosen_of(even(1, 400, 6, 64, 8)), dict.fromkeys(range(6), 64))
    assert 0 < len(tested.strongest) <= SHOWN < tested.n_tested and list(tested.strongest.columns) == [
        *COLUMNS,
        "p_held",
    ]
    assert tested.strongest["p"].is_monotonic_increasing and (tested.strongest["p"] < chance.LEVEL).all()
    assert tested.strongest["low"].notna().all() and not tested.strongest["unusual"].any()


@pytest.mark.parametrize(("n", "share", "least"), [(30, 0.2, 9), (80, 0.1, 8), (25, 0.4, 20)])
def test_the_bound_is_never_below_the_exact_tail(n: int, share: float, least: int) -> None:
    one = np.array([1.0])
    bound = chernoff(one * least, one * n, one * n * share, one)[0]
    assert stats.binom.sf(least - 1, n, share) <= bound < 30 * stats.binom.sf(least - 1, n, share)
    assert chernoff(one * least, one * n, one * n * share, 2 * one)[0] == pytest.approx(bound**0.5)
    assert chernoff(one * 1, one * n, one * n * share, one)[0] == 1


def test_what_cannot_be_tested_is_empty() -> None:
    for choices, size in (
        (even(1, 60, 1, 8, 1), 8),
        (even(1, 2 * N_BLOCKS - 1, 1, 8, 2), 8),
        (even(1, 60, 1, 2, 2), 2),
    ):
        tested = pairs(chosen_of(choices), {0: size})
        assert tested.strongest.empty and (tested.n_tested, tested.n_pairs, tested.n_unusual) == (0, 0, 0)
    rare = pairs(chosen_of(even(1, 60, 1, 64, 2)), {0: 64})
    assert rare.strongest.empty and (rare.n_tested, rare.n_pairs) == (0, 64 * 63 // 2)
