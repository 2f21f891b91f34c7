"""How often each expert was chosen, against a count of single choices."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from tests.builders import N_EXPERTS, N_USED, only, scaled_case, without
from tracegen.analysis import experts

CASE = scaled_case(7, 3, moe=True)


def counted_by_hand(tables: dict[str, pd.DataFrame]) -> Counter[tuple[int, int]]:
    kinds = dict(zip(tables["passes"]["pass_id"], tables["passes"]["kind"], strict=True))
    found: Counter[tuple[int, int]] = Counter()
    for row in tables["routing"].to_dict("records"):
        if kinds[row["pass_id"]] == "generate":
            found[row["layer"], row["expert"]] += 1
    return found


def test_counts_equal_those_of_single_choices_and_experts_never_chosen_have_zero() -> None:
    made = experts.choice(CASE)
    expected = counted_by_hand(CASE)
    rows = {(r["layer"], r["expert"]): r["n_tokens"] for r in made.counts.to_dict("records")}
    assert rows == {(n, e): expected[n, e] for n in range(3) for e in range(N_EXPERTS)}
    assert 0 in rows.values() or sum(rows.values()) == 3 * 7 * N_USED


def test_the_baseline_is_the_share_of_experts_a_row_chooses() -> None:
    made = experts.choice(CASE)
    assert (made.n_rows, made.n_experts, made.n_chosen) == (7, N_EXPERTS, N_USED)
    assert made.even == 7 * N_USED / N_EXPERTS == made.counts["n_tokens"].sum() / len(made.counts)


def test_layers_with_other_numbers_of_experts_have_no_common_baseline() -> None:
    tensors = CASE["tensors"]
    more = tensors["n_experts"].mask((tensors["layer"] == 1) & tensors["n_experts"].notna(), 16)
    made = experts.choice(CASE | {"tensors": tensors.assign(n_experts=more)})
    assert made.n_experts is None and made.even is None
    assert made.counts.groupby("layer").size().to_dict() == {0: 8, 1: 16, 2: 8}


def test_warmup_and_prompt_are_left_out() -> None:
    for kinds in (("load", "warmup"), ("load", "warmup", "prompt")):
        assert experts.choice(only(CASE, kinds)).counts.empty


def test_a_run_without_routing_has_no_counts() -> None:
    assert experts.choice(without(CASE, "routing")).counts.empty
