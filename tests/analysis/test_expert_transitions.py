"""Experts of the token before: against plain loops, all orders of few tokens, and chains with a known law."""

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.routed import chosen_of, even, sticky, uneven
from tracegen.analysis import chance
from tracegen.analysis.expert_rows import MOST_ROWS
from tracegen.analysis.expert_transitions import COLUMNS, LEAST_PAIRS, stickiness


def again(choices: np.ndarray, layer: int, order: list[int] | None = None) -> int:
    sets = [set(row[layer]) for row in choices[list(range(len(choices))) if order is None else order]]
    return sum(len(a & b) for a, b in pairwise(sets))


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 6), layers=st.integers(1, 3), k=st.integers(1, 3))
def test_counted_one_by_one_and_over_all_orders(seed: int, n: int, layers: int, k: int) -> None:
    choices = uneven(seed, n, layers, 5, k)
    table = stickiness(chosen_of(choices), dict.fromkeys(range(layers), 5))
    for r in table.iloc[1:].to_dict("records"):
        layer = r["layer"]
        assert (r["n_pairs"], r["n_again"], r["n_choices"]) == (n - 1, again(choices, layer), k * (n - 1))
        every = [again(choices, layer, list(order)) for order in permutations(range(n))]
        assert r["shuffled"] == pytest.approx(np.mean(every) / (k * (n - 1)))
        assert r["effect"] == pytest.approx(r["share"] - r["shuffled"]) and r["even"] == pytest.approx(k / 5)
        far = abs(again(choices, layer) - np.mean(every)) - 1e-9
        exact = np.mean([abs(one - np.mean(every)) >= far for one in every])
        assert r["p"] == pytest.approx(exact, abs=0.07)
    whole = table.iloc[0]
    assert pd.isna(whole["layer"]) and whole["n_layers"] == layers
    assert whole["n_again"] == table.iloc[1:]["n_again"].sum()
    assert whole["shuffled"] == pytest.approx(table.iloc[1:]["shuffled"].mean())


def test_even_and_uneven_choice_without_memory_is_not_above_chance() -> None:
    """5 % of 200 runs: 3 to 19 with a probability above 0.99. All layers together: no more runs than that."""
    found = adjusted = 0
    for seed in range(200):
        choices = (even if seed % 2 else uneven)(seed, 40, 3, 8, 2)
        table = stickiness(chosen_of(choices), dict.fromkeys(range(3), 8))
        found += bool(table["p"].iloc[0] < chance.LEVEL)
        adjusted += bool((table["p_adjusted"].iloc[1:] < chance.LEVEL).any())
    assert 3 <= found <= 19 and adjusted <= 19


@pytest.mark.parametrize(("stay", "n_experts", "k"), [(0.5, 8, 1), (0.1, 32, 4)])
def test_a_planted_chain_is_found_and_its_share_lies_in_the_interval(stay: float, n_experts: int, k: int) -> None:
    """A row that keeps its experts with probability s, else chooses at random, repeats s + (1 - s) k / E of them."""
    true = stay + (1 - stay) * k / n_experts
    inside = 0
    for seed in range(60):
        table = stickiness(chosen_of(sticky(seed, 200, 4, n_experts, k, stay)), dict.fromkeys(range(4), n_experts))
        whole = table.iloc[0]
        assert whole["p"] == pytest.approx(0.001) and whole["effect"] > 0
        inside += bool(whole["share_low"] <= true <= whole["share_high"])
    assert inside >= 51  # 57 expected


def test_sequences_are_apart() -> None:
    """Two sequences that take turns, each always with its own experts: every pair within a sequence repeats all."""
    choices = np.array([[[0, 1]], [[2, 3]]] * 6)
    row = stickiness(chosen_of(choices, [0, 1] * 6), {0: 8}).iloc[0]
    assert (row["n_pairs"], row["share"], row["shuffled"], row["p"]) == (10, 1.0, 1.0, 1.0)


def test_layers_of_different_size_and_rows() -> None:
    """Layer 1 has another k and no row for the last token: it is tested by itself, and not over all layers."""
    one, two = chosen_of(even(1, 30, 2, 8, 2)), chosen_of(even(2, 29, 1, 6, 3)).assign(layer=2)
    table = stickiness(pd.concat([one, two]), {0: 8, 1: 8, 2: 6})
    assert table["layer"].fillna(-1).tolist() == [-1, 0, 1, 2] and table["n_pairs"].tolist() == [29, 29, 29, 28]
    assert table["even"].tolist() == [0.25, 0.25, 0.25, 0.5] and table["n_layers"].tolist() == [2, 1, 1, 1]


def test_what_cannot_be_tested_has_no_row() -> None:
    for choices, size in ((even(1, 1, 2, 8, 2), 8), (even(1, 9, 2, 4, 4), 4), (np.zeros((9, 2, 1), int), 1)):
        table = stickiness(chosen_of(choices), {0: size, 1: size})
        assert table.empty and list(table.columns) == COLUMNS
    assert stickiness(chosen_of(even(1, 9, 1, 8, 2)).iloc[:0], {}).empty
    assert stickiness(chosen_of(even(1, 9, 1, 8, 2)).iloc[:-1], {0: 8}).empty, "rows differ in k"


def test_few_pairs_have_no_interval_and_many_rows_are_cut() -> None:
    few = stickiness(chosen_of(even(1, LEAST_PAIRS, 1, 8, 2)), {0: 8}).iloc[0]
    assert pd.isna(few["share_low"]) and few["n_pairs"] == LEAST_PAIRS - 1
    assert stickiness(chosen_of(even(1, MOST_ROWS + 9, 1, 8, 2)), {0: 8}).iloc[0]["n_pairs"] == MOST_ROWS - 1


def test_an_unequal_use_alone_is_no_stickiness_though_far_above_k_of_e() -> None:
    random = np.random.default_rng(3)
    share = np.array([0.6, *[0.4 / 15] * 15])
    choices = np.array([[random.choice(16, 2, replace=False, p=share)] for _ in range(300)])
    whole = stickiness(chosen_of(choices), {0: 16}).iloc[0]
    assert whole["share"] > 3 * whole["even"] and whole["p"] > chance.LEVEL
    assert whole["low"] <= whole["share"] <= whole["high"]
