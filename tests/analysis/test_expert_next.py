"""Experts guessed from the layer before: against plain loops, and choices with a known law."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.routed import chosen_of, even, sticky, uneven
from tracegen.analysis import chance
from tracegen.analysis.expert_next import COLUMNS, LEARNED, LEAST_ROWS, predicted
from tracegen.analysis.expert_rows import MOST_ROWS


def guesses(choices: np.ndarray, n_experts: int, n_learned: int, layer: int) -> list[set[int]]:
    """The experts guessed for each scored row in the layer, counted pair by pair."""
    k = choices.shape[2]
    pairs: Counter[tuple[int, int]] = Counter()
    of_a: Counter[int] = Counter()
    use: Counter[int] = Counter()
    for row in choices[:n_learned]:
        for a in row[layer - 1]:
            of_a[int(a)] += 1
            pairs.update((int(a), int(b)) for b in row[layer])
        use.update(int(b) for b in row[layer])
    chosen = []
    for row in choices[n_learned:]:
        score = {}
        for b in range(n_experts):
            parts = [pairs[int(a), b] / of_a[int(a)] if of_a[int(a)] else use[b] / n_learned for a in row[layer - 1]]
            score[b] = round(sum(parts) / k, 9)
        chosen.append(set(sorted(score, key=lambda b: (-score[b], -use[b], b))[:k]))
    return chosen


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), layers=st.integers(2, 3), k=st.integers(1, 3))
def test_learned_and_scored_one_by_one(seed: int, layers: int, k: int) -> None:
    n, n_experts = LEAST_ROWS + seed % 7, 6
    choices = uneven(seed, n, layers, n_experts, k, 0.5)
    table = predicted(chosen_of(choices), dict.fromkeys(range(layers), n_experts))
    n_learned = int(LEARNED * n)
    for r in table.iloc[1:].to_dict("records"):
        layer = r["layer"]
        guessed = guesses(choices, n_experts, n_learned, layer)
        rows = [set(row[layer].tolist()) for row in choices]
        chose, size = rows[n_learned:], n - n_learned
        assert (r["after"], r["n_learned"], r["n_rows"], r["n_choices"]) == (layer - 1, n_learned, size, k * size)
        shares = [sum(len(guessed[i] & chose[(i + s) % size]) for i in range(size)) / (k * size) for s in range(size)]
        assert r["share"] == pytest.approx(shares[0]) and r["n_told"] == round(shares[0] * k * size)
        assert (r["shifted"], r["effect"]) == pytest.approx((np.mean(shares), shares[0] - np.mean(shares)))
        assert r["p"] == np.mean([abs(one - np.mean(shares)) >= abs(r["effect"]) - 1e-9 for one in shares])
        use = Counter(int(b) for row in choices[:n_learned] for b in row[layer])
        most = set(sorted(range(n_experts), key=lambda b: (-use[b], b))[:k])
        assert r["most"] == pytest.approx(sum(len(most & one) for one in chose) / (k * size))
        before = [len(rows[i - 1] & rows[i]) for i in range(n_learned, n)]
        assert r["before"] == pytest.approx(sum(before) / (k * size)) and r["even"] == pytest.approx(k / n_experts)
    whole = table.iloc[0]
    assert pd.isna(whole["layer"]) and whole["n_layers"] == layers - 1
    layers = table.iloc[1:]
    assert whole["n_told"] == layers["n_told"].sum() and whole["most"] == pytest.approx(layers["most"].mean())


def led(seed: int, n: int, n_experts: int, follows: float) -> np.ndarray:
    """Two layers: with probability `follows` the second chooses the first's expert plus 1, else any; one each."""
    random = np.random.default_rng(seed)
    first = random.integers(n_experts, size=n)
    second = np.where(random.random(n) < follows, (first + 1) % n_experts, random.integers(n_experts, size=n))
    return np.stack([first, second], axis=1)[:, :, None]


@pytest.mark.parametrize("follows", [0.3, 0.6, 1.0])
def test_a_known_transition_is_found_and_its_share_lies_in_the_interval(follows: float) -> None:
    true, inside = follows + (1 - follows) / 8, 0
    for seed in range(40):
        whole = predicted(chosen_of(led(seed, 1_000, 8, follows)), {0: 8, 1: 8}).iloc[0]
        assert whole["p"] < chance.LEVEL and whole["effect"] > 0 and whole["share"] > whole["high"]
        inside += bool(whole["share_low"] - 1e-9 <= true <= whole["share_high"] + 1e-9)
    assert inside >= 34  # 38 expected


def test_layers_that_know_nothing_of_each_other_are_not_above_chance() -> None:
    """5 % of 200 runs: 3 to 19 with a probability above 0.99. Sticky rows, and preferred experts, are no effect."""
    found = 0
    for seed in range(200):
        n = 150
        choices = (
            uneven(seed, n, 2, 8, 2, 0.9)
            if seed % 2
            else np.concatenate([sticky(seed, n, 1, 8, 2, 0.6), sticky(seed + 500, n, 1, 8, 2, 0.6)], axis=1)
        )
        found += bool(predicted(chosen_of(choices), {0: 8, 1: 8})["p"].iloc[0] < chance.LEVEL)
    assert 3 <= found <= 19


def test_tokens_that_take_turns_keep_their_own_token_before() -> None:
    """Two sequences, each always with its own experts: the token before, of the sequence, tells all."""
    choices = np.array([[[0], [1]], [[2], [3]]] * 60)
    row = predicted(chosen_of(choices, [0, 1] * 60), {0: 8, 1: 8}).iloc[0]
    assert (row["share"], row["before"], row["most"]) == (1.0, 1.0, 0.5)


def test_what_cannot_be_tested_has_no_row() -> None:
    for choices in (even(1, LEAST_ROWS - 1, 2, 8, 2), even(1, LEAST_ROWS, 1, 8, 2), even(1, LEAST_ROWS, 2, 8, 8)):
        table = predicted(chosen_of(choices), {0: 8, 1: 8})
        assert table.empty and list(table.columns) == COLUMNS
    assert predicted(chosen_of(even(1, LEAST_ROWS, 2, 8, 2)).iloc[:0], {}).empty
    cut = predicted(chosen_of(even(1, MOST_ROWS + 9, 2, 8, 2)), {0: 8, 1: 8}).iloc[0]
    assert cut["n_learned"] + cut["n_rows"] == MOST_ROWS
