"""Experts used by passes, beside random choice; tests/recompute counts sets of single choices."""

import numpy as np
import pytest

from tests.analysis.routed import even, run_of
from tracegen.analysis.expert_use import line, used


def test_the_expected_number_is_the_mean_of_simulated_ones() -> None:
    drawn = [len(set(even(seed, 5, 1, 8, 2).ravel())) for seed in range(400)]
    made = used(run_of(None, even(1, 5, 1, 8, 2), 8))
    assert made["if_even"].iloc[0] == pytest.approx(np.mean(drawn), rel=0.02)


def test_without_tensors_choices_or_one_number_of_experts() -> None:
    tables = run_of(None, even(1, 5, 1, 8, 2), 8)
    bare = used(tables | {"tensors": tables["tensors"].iloc[:0]})
    assert bare["tensor"].isna().all() and len(bare) == 1
    assert used(tables | {"routing": tables["routing"].iloc[:0]}).empty
    assert used(tables | {"routing": tables["routing"].iloc[:-1]})["if_even"].isna().all()


def test_the_words_that_users_paste() -> None:
    assert line("blk.0.ffn_gate_exps.weight", 95, 128) == "blk.0.ffn_gate_exps.weight: 95/128 experts used"
