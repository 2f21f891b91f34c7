"""How even choices are: by hand, and beside what choosing at random gives."""

from collections import Counter
from itertools import combinations, product
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.routed import even, run_of
from tracegen.analysis.expert_balance import COLUMNS, balance, measures, random_counts


def test_measures_by_hand() -> None:
    found = measures(np.array([6, 2, 0, 0]))
    assert (found["n_used"], found["largest"]) == (2, 3.0)
    assert found["entropy"] == pytest.approx(-(0.75 * log2(0.75) + 0.25 * log2(0.25)) / 2)
    assert found["gini"] == pytest.approx((1 * 2 + 3 * 6) / (4 * 8))
    flat = measures(np.array([3, 3, 3]))
    assert (flat["entropy"], flat["gini"], flat["largest"]) == (pytest.approx(1), pytest.approx(0), 1)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=9).filter(any))
def test_gini_is_half_the_mean_difference_of_all_pairs(counts: list[int]) -> None:
    differences = sum(abs(a - b) for a in counts for b in counts) / len(counts) ** 2
    assert measures(np.array(counts))["gini"] == pytest.approx(differences / (2 * sum(counts) / len(counts)))


@pytest.mark.parametrize(("n", "k", "size"), [(1, 1, 4), (3, 2, 3), (2, 2, 4), (3, 1, 3), (2, 3, 4)])
def test_chance_is_the_mean_over_all_ways_to_choose(n: int, k: int, size: int) -> None:
    ways = list(product(list(combinations(range(size), k)), repeat=n))
    largest = [max(Counter(e for one in way for e in one).values()) / (n * k / size) for way in ways]
    drawn = random_counts(n, k, size, 6_000)
    assert (drawn.sum(axis=1) == n * k).all() and drawn.max() <= n
    assert measures(drawn)["largest"].mean() == pytest.approx(np.mean(largest), rel=0.03)
    assert drawn.mean(axis=0) == pytest.approx(np.full(size, n * k / size), rel=0.05)


def test_random_choice_lies_in_its_range_and_a_favourite_does_not() -> None:
    inside = 0
    for seed in range(60):
        r = balance(run_of(None, even(seed, 40, 1, 8, 2), 8)).iloc[0]
        inside += bool(r["entropy_low"] <= r["entropy"] <= r["entropy_high"])
    assert 52 <= inside <= 60  # 57 expected
    choices = even(1, 200, 3, 8, 2)
    choices[:60, 1] = (0, 1)
    both = balance(run_of(None, choices, 8)).set_index("layer")
    assert both.loc[1, "entropy"] < both.loc[1, "entropy_low"] and both.loc[1, "largest"] > both.loc[1, "largest_high"]
    assert both.loc[0, "entropy_low"] <= both.loc[0, "entropy"] <= both.loc[0, "entropy_high"]


def test_both_phases_and_all_layers() -> None:
    prompt, generated = even(1, 5, 3, 8, 2), even(2, 30, 3, 8, 2)
    table = balance(run_of(prompt, generated, 8))
    assert list(table.columns) == COLUMNS
    assert table[["phase", "layer"]].astype(object).where(table[["phase", "layer"]].notna(), None).values.tolist() == [
        [phase, layer] for phase in ("generate", "prompt") for layer in (None, 0, 1, 2)
    ]
    of = table[table["phase"] == "prompt"]
    assert set(of["n_rows"]) == {5} and set(table.loc[table["phase"] == "generate", "n_rows"]) == {30}
    assert of["n_used"].iloc[0] == sum(len(set(prompt[:, layer].ravel())) for layer in range(3))
    assert of["gini"].iloc[0] == pytest.approx(of["gini"].iloc[1:].mean())
    pd.testing.assert_frame_equal(table, balance(run_of(prompt, generated, 8)))


def test_what_has_no_chance_is_null() -> None:
    """All experts of a layer, one expert, and rows that differ in how many they choose."""
    assert balance(run_of(None, even(1, 5, 1, 4, 4), 4))[["n_used", "entropy", "gini_chance"]].isna().all(axis=None)
    assert balance(run_of(None, np.zeros((5, 1, 1), int), 1))["entropy"].isna().all()
    tables = run_of(None, even(1, 5, 1, 4, 2), 4)
    table = balance(tables | {"routing": tables["routing"].iloc[:-1]})
    assert table["n_chosen"].isna().all() and table["gini_chance"].isna().all() and table["gini"].notna().all()
    assert balance(run_of(None, even(1, 1, 1, 4, 2), 4)).iloc[1]["n_used"] == 2
    assert balance(run_of(None, None, 4) | {"routing": tables["routing"].iloc[:0]}).empty
