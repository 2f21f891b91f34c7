"""What rules hold of the experts that tokens choose: against caches that are played in plain loops."""

from collections import Counter, OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.routed import chosen_of, even, sticky, uneven
from tests.analysis.test_expert_next import guesses
from tracegen.analysis.expert_next import LEARNED, LEAST_ROWS
from tracegen.analysis.expert_policies import RULES, policies


def sizes(choices: np.ndarray, n_experts: int) -> dict[int, int]:
    return dict.fromkeys(range(choices.shape[1]), n_experts)


def recent(choices: np.ndarray, layer: int, n_held: int) -> list[set[int]]:
    """What a cache of the experts chosen last holds before each token; equals go by number."""
    last: dict[int, int] = {}
    before = []
    for token, row in enumerate(choices[:, layer]):
        before.append(set(sorted(last, key=lambda e: (-last[e], e))[:n_held]))
        last = {e: last[e] for e in before[-1]}
        last.update({int(e): token for e in row})
    return before


def best(choices: np.ndarray, layer: int, n_held: int) -> list[set[int]]:
    """What a cache that knows the future holds before each token."""
    held: set[int] = set()
    before = []
    for token, row in enumerate(choices[:, layer]):
        before.append(held)
        later = choices[token + 1 :, layer].tolist()
        there = held | {int(e) for e in row}
        nexts = {e: next((at for at, of in enumerate(later) if e in of), 10**6) for e in there}
        held = set(sorted(there, key=lambda e: (nexts[e], e))[:n_held])
    return before


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), layers=st.integers(1, 3), k=st.integers(1, 2))
def test_every_rule_is_as_it_is_played(seed: int, layers: int, k: int) -> None:
    n, n_experts = LEAST_ROWS + seed % 5, 8
    choices = uneven(seed, n, layers, n_experts, k, 0.6)
    n_learned = int(LEARNED * n)
    scored = range(n_learned, n)
    for row in policies(chosen_of(choices), sizes(choices, n_experts)).to_dict("records"):
        n_held = int(row["n_held"])
        hits, unused = Counter[str](), 0
        every: OrderedDict[tuple[int, int], None] = OrderedDict()
        held = {"recent": [recent(choices, layer, n_held) for layer in range(layers)]}
        held["best"] = [best(choices, layer, n_held) for layer in range(layers)]
        fewer = [recent(choices, layer, n_held - k) for layer in range(layers)]
        expected = [[], *(guesses(choices, n_experts, n_learned, layer) for layer in range(1, layers))]
        use = [Counter(int(e) for e in choices[:n_learned, layer].ravel()) for layer in range(layers)]
        fixed = [set(sorted(range(n_experts), key=lambda e: (-of[e], e))[:n_held]) for of in use]
        for token in range(n):
            for layer in range(layers):
                for e in sorted(int(e) for e in choices[token, layer]):
                    if token in scored:
                        hits["everywhere"] += (layer, e) in every
                    every.pop((layer, e), None)
                    every[layer, e] = None
                    if len(every) > n_held * layers:
                        every.popitem(last=False)
        for token in scored:
            for layer in range(layers):
                chose = {int(e) for e in choices[token, layer]}
                ahead = held["recent"][0][token] if layer == 0 else fewer[layer][token]
                if layer:
                    told = expected[layer][token - n_learned]
                    unused += len(told - fewer[layer][token] - chose)
                    ahead = ahead | told
                hits["ahead"] += len(chose & ahead)
                hits["fixed"] += len(chose & fixed[layer])
                for rule in ("recent", "best"):
                    hits[rule] += len(chose & held[rule][layer][token])
        n_choices = len(scored) * layers * k
        assert {rule: row[rule] for rule in RULES} == pytest.approx({rule: hits[rule] / n_choices for rule in RULES})
        assert row["ahead_unused"] == pytest.approx(unused / n_choices)


def test_no_rule_exceeds_the_best_one() -> None:
    choices = sticky(3, 600, 4, 32, 4, 0.5)
    table = policies(chosen_of(choices), sizes(choices, 32))
    assert table["n_held"].tolist() == [4, 8, 16]
    for rule in ("recent", "fixed"):
        assert (table[rule] <= table["best"] + 1e-12).all()
    assert table["best"].is_monotonic_increasing and table["recent"].is_monotonic_increasing


def test_where_tokens_choose_at_random_a_rule_holds_the_share_that_it_keeps() -> None:
    choices = even(1, 2000, 3, 16, 2)
    table = policies(chosen_of(choices), sizes(choices, 16))
    for rule in ("recent", "everywhere", "fixed"):
        assert table[rule].to_numpy() == pytest.approx(table["n_held"].to_numpy() / 16, abs=0.07)


def test_too_few_tokens_or_unlike_layers_are_not_compared() -> None:
    assert policies(chosen_of(even(1, LEAST_ROWS - 1, 2, 8, 2)), {0: 8, 1: 8}).empty
    assert policies(chosen_of(even(1, LEAST_ROWS, 2, 8, 2)), {0: 8, 1: 9}).empty
