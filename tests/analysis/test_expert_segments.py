"""SRP and SCH: against plain loops that follow the paper's text, known answers, and Belady's bound."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.belady import belady
from tests.analysis.routed import chosen_of, even, sticky, uneven
from tests.recompute.plain.experts import best_segment_routing, segment_cache
from tracegen.analysis.expert_segments import COLUMNS, DRAWS, LENGTHS, MOST_ROWS, segments
from tracegen.report.figures.expert_chance import EXPERTS_SEGMENTS


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 24), layers=st.integers(1, 3), k=st.integers(1, 3))
def test_counted_one_by_one(seed: int, n: int, layers: int, k: int) -> None:
    choices = np.sort(uneven(seed, n, layers, 6, k, 0.6), axis=2)
    split = seed % 2 * n // 2  # rows of a first sequence
    table = segments(chosen_of(choices, [0] * split + [1] * (n - split)), dict.fromkeys(range(layers), 6))
    rows = [choices[:split].tolist(), choices[split:].tolist()] if split else [choices.tolist()]
    expected = [m for m in LENGTHS if m <= max(map(len, rows))]
    assert table["length"].tolist() == expected
    for r in table.to_dict("records"):
        m = r["length"]
        srp, taken = best_segment_routing(rows, m)
        assert (r["srp"], r["srp_size"]) == (pytest.approx(srp), pytest.approx(taken / k))
        for size in (1, 2):
            each = [segment_cache([[row[layer] for row in of] for of in rows], m, size * k) for layer in range(layers)]
            assert r[f"sch_{size}"] == pytest.approx(np.mean(each))


def test_the_same_experts_always() -> None:
    same = segments(chosen_of(np.tile([[[1, 4]]], (64, 1, 1))), {0: 8})
    assert same["length"].tolist() == [4, 16, 64]
    for name in ("srp", "srp_shuffled", "srp_size", "sch_1", "sch_2"):
        assert same[name].tolist() == [1.0, 1.0, 1.0]


def belady_hits(choices: np.ndarray, size: int) -> int:
    """The most hits of any cache that takes in what it misses; free room is no miss."""
    return belady(choices.ravel().tolist(), size, bypass=False) + min(size, len(np.unique(choices)))


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(16, 40))
def test_no_cache_is_better_than_belady_and_a_whole_one_holds_all(seed: int, n: int) -> None:
    choices = uneven(seed, n, 1, 6, 1, 0.7)
    table = segments(chosen_of(choices), {0: 6})
    for size in (1, 2):
        assert (table[f"sch_{size}"] <= belady_hits(choices, size) / n + 1e-9).all()
    whole = segments(chosen_of(even(seed, n, 1, 4, 2)), {0: 4})
    assert (whole["sch_2"] == 1.0).all(), "2 k is all of 4 experts"


def test_rows_that_last_are_above_shuffled_ones_and_random_ones_are_not() -> None:
    lasts = segments(chosen_of(sticky(1, 200, 3, 16, 2, 0.8)), dict.fromkeys(range(3), 16))
    assert (lasts["srp"] > lasts["srp_high"]).iloc[:3].all() and (lasts["sch_1"] > lasts["sch_1_high"]).all()
    found = 0
    for seed in range(100):
        row = segments(chosen_of(even(seed, 20, 1, 8, 2)), {0: 8}).iloc[1]
        found += bool(not row["srp_low"] <= row["srp"] <= row["srp_high"])
    assert found <= 2 * 100 / (DRAWS + 1) + 10  # 10 expected: 2 of 20 places are outside the others


def test_layers_of_the_commonest_kind_and_the_first_rows() -> None:
    mixed = pd.concat([chosen_of(even(1, 30, 2, 8, 2)), chosen_of(even(2, 30, 1, 6, 3)).assign(layer=2)])
    assert segments(mixed, {0: 8, 1: 8, 2: 6})["n_layers"].tolist() == [2, 2]
    cut = segments(chosen_of(even(1, MOST_ROWS + 9, 1, 8, 2)), {0: 8})
    assert cut["n_rows"].tolist() == [MOST_ROWS] * 4


def test_what_cannot_be_tested_has_no_row() -> None:
    for choices, size in ((even(1, 3, 2, 8, 2), 8), (even(1, 9, 2, 4, 4), 4)):
        table = segments(chosen_of(choices), {0: size, 1: size})
        assert table.empty and list(table.columns) == COLUMNS
    assert segments(chosen_of(even(1, 9, 1, 8, 2)).iloc[:0], {}).empty


def test_a_cache_that_looks_when_an_expert_comes_again_beats_sch() -> None:
    """SCH counts how often the rows to come choose an expert, not how soon: it bounds no other cache."""
    choices = uneven(3, 200, 1, 8, 1, 0.7)
    table = segments(chosen_of(choices), {0: 8})
    assert (table["sch_2"] < belady_hits(choices, 2) / 200 - 0.02).any()
    explained = f"{EXPERTS_SEGMENTS.shows} {EXPERTS_SEGMENTS.counts} {EXPERTS_SEGMENTS.read}"
    assert "no bound" in explained and "bounds what reading ahead" not in explained
