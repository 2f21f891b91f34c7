"""Hot sets: choices that were planted are found, by a set that is scored on tokens it was not learned on."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.analysis import routed
from tests.analysis.routed import chosen_of, even
from tracegen.analysis.hot_set import LEARNED, LEAST_TOKENS, Gain, HotSet, hot_set, n_held, table

Table = np.ndarray  # tokens, layers, choices
N_EXPERTS, N_CHOSEN, N_LAYERS, N_TOKENS = 16, 2, 6, 300


def drawn(seed: int, shares: np.ndarray) -> Table:
    """Choices of each token by themselves, with the shares of each layer (layers, experts)."""
    random = np.random.default_rng(seed)
    n = len(shares[0])
    return np.array([[random.choice(n, N_CHOSEN, replace=False, p=share) for share in shares] for _ in range(N_TOKENS)])


def flat(seed: int) -> Table:
    return even(seed, N_TOKENS, N_LAYERS, N_EXPERTS, N_CHOSEN)


def sticky(seed: int) -> Table:
    return routed.sticky(seed, N_TOKENS, N_LAYERS, N_EXPERTS, N_CHOSEN, 0.7)


def zipf(seed: int) -> Table:
    share = 1 / np.arange(1, N_EXPERTS + 1) ** 1.1
    random = np.random.default_rng(seed)
    return drawn(seed, np.array([random.permutation(share / share.sum()) for _ in range(N_LAYERS)]))


@pytest.mark.parametrize(("choices", "verdict"), [(flat, "flat"), (zipf, "static"), (sticky, "recency only")])
@pytest.mark.parametrize("seed", range(3))
def test_the_planted_kind_is_found(choices: Callable[[int], Table], verdict: str, seed: int) -> None:
    hot = hot_set(chosen_of(choices(seed)), N_EXPERTS)
    assert hot is not None
    assert (hot.static.reaches == "yes") == (verdict == "static"), hot.static
    assert verdict != "recency only" or hot.recent.reaches == "yes", hot.recent
    assert verdict != "flat" or hot.verdict == "flat", (hot.static, hot.recent)


def test_served_shares_are_counted_one_by_one() -> None:
    choices = sticky(3)
    hot = hot_set(chosen_of(choices), N_EXPERTS)
    assert hot is not None and hot.n_held == 4
    first = int(N_TOKENS * LEARNED)
    assert (hot.n_learned, hot.n_scored) == (first, N_TOKENS - first)
    static = recent = 0
    for layer in range(N_LAYERS):
        counts = {e: int((choices[:first, layer] == e).sum()) for e in range(N_EXPERTS)}
        kept = sorted(counts, key=lambda e: (-counts[e], e))[:4]
        assert hot.kept.loc[hot.kept["layer"] == layer, "expert"].tolist() == kept
        assert hot.kept.loc[hot.kept["layer"] == layer, "n_learned"].tolist() == [counts[e] for e in kept]
        for token in range(first, N_TOKENS):
            last = {int(e): t for t in range(token) for e in choices[t, layer]}
            latest = sorted(last, key=lambda e: (-last[e], e))[:4]
            static += sum(int(e) in kept for e in choices[token, layer])
            recent += sum(int(e) in latest for e in choices[token, layer])
    n = hot.n_scored * N_LAYERS * N_CHOSEN
    assert hot.static.served == pytest.approx(static / n) and hot.recent.served == pytest.approx(recent / n)
    assert hot.static.gain == pytest.approx((static / n - 0.25) / 0.75)


@pytest.mark.parametrize(
    ("choices", "n_experts"),
    [
        (np.zeros((LEAST_TOKENS - 1, 2, 1), dtype=int), 8),  # too few tokens
        (np.zeros((N_TOKENS, 2, 1), dtype=int), 1),  # one expert: all would be kept
        (np.zeros((0, 2, 1), dtype=int), 8),
    ],
)
def test_there_is_nothing_to_learn_from(choices: Table, n_experts: int) -> None:
    assert hot_set(chosen_of(choices), n_experts) is None


def test_rows_that_choose_different_numbers_have_no_common_share() -> None:
    rows = chosen_of(flat(0))
    assert hot_set(rows.iloc[1:], N_EXPERTS) is None


@pytest.mark.parametrize(
    ("static", "recent", "verdict"),
    [
        ((0.26, 0.44), (0.1, 0.3), "static"),
        ((0.01, 0.11), (-0.01, 0.08), "open"),  # gains that surely exceed chance and may reach the limit
        ((0.08, 0.14), (0.2, 0.3), "open"),
        ((-0.02, 0.09), (0.1, 0.3), "recency only"),
        ((-0.02, 0.09), (0.09, 0.3), "open"),
        ((0.01, 0.09), (-0.2, -0.1), "flat"),
    ],
)
def test_a_verdict_is_that_of_whole_intervals(
    static: tuple[float, float], recent: tuple[float, float], verdict: str
) -> None:
    gains = [Gain(0.5, (low + high) / 2, low, high) for low, high in (static, recent)]
    assert HotSet(200, 50, 8, 32, *gains, kept=pd.DataFrame()).verdict == verdict


def test_half_of_a_layer_is_kept_at_most() -> None:
    assert [n_held(32, 4), n_held(8, 2), n_held(8, 4), n_held(4, 1), n_held(3, 2)] == [8, 4, 4, 2, 2]


def test_the_rows_of_the_table() -> None:
    hot = hot_set(chosen_of(zipf(1)), N_EXPERTS)
    assert hot is not None
    rows = table(hot)
    assert rows["set"].tolist() == ["static", "recent"]
    assert (rows["low"] < rows["gain"]).all() and (rows["gain"] < rows["high"]).all()
