"""Experts used by passes: against sets of single choices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.analysis.routed import even, run_of
from tracegen.analysis.expert_use import line, used


def test_each_pass_and_tensor() -> None:
    prompt, generated = even(1, 4, 2, 8, 2), even(2, 3, 2, 8, 2)
    tables = run_of(prompt, generated, 8)
    made = used(tables)
    names = tables["tensors"].dropna(subset=["n_experts"])
    assert len(made) == 2 * len(names) and set(made["tensor"]) == set(names["name"])
    for r in made.to_dict("records"):
        of = prompt if r["phase"] == "prompt" else generated
        assert (r["n_used"], r["n_rows"]) == (len(set(of[:, r["layer"]].ravel())), len(of))
        assert r["if_even"] == pytest.approx(8 * (1 - 0.75 ** len(of))) and r["n_experts"] == 8
        assert pd.isna(r["pass_id"]) == (r["phase"] == "generate")
    assert made["phase"].tolist() == ["prompt"] * len(names) + ["generate"] * len(names)


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
