"""What an even choice of experts would be, and what is left out; tests/recompute counts single choices.

Experts used by passes, beside random choice.
"""

from tests.analysis.routed import even, run_of
from tests.builders import N_EXPERTS, N_USED, only, scaled_case, without
from tracegen.analysis import experts
from tracegen.analysis.expert_use import used

CASE = scaled_case(7, 3, moe=True)


def test_the_baseline_is_the_share_of_experts_a_row_chooses() -> None:
    choice = experts.choice(CASE)
    assert (choice.n_rows, choice.n_experts, choice.n_chosen) == (7, N_EXPERTS, N_USED)
    assert choice.even == 7 * N_USED / N_EXPERTS == choice.counts["n_tokens"].sum() / len(choice.counts)


def test_layers_with_other_numbers_of_experts_have_no_common_baseline() -> None:
    tensors = CASE["tensors"]
    more = tensors["n_experts"].mask((tensors["layer"] == 1) & tensors["n_experts"].notna(), 16)
    choice = experts.choice(CASE | {"tensors": tensors.assign(n_experts=more)})
    assert choice.n_experts is None and choice.even is None
    assert choice.counts.groupby("layer").size().to_dict() == {0: 8, 1: 16, 2: 8}


def test_warmup_and_prompt_are_left_out() -> None:
    for kinds in (("load", "warmup"), ("load", "warmup", "prompt")):
        assert experts.choice(only(CASE, kinds)).counts.empty


def test_a_run_without_routing_has_no_counts() -> None:
    assert experts.choice(without(CASE, "routing")).counts.empty


def test_without_tensors_choices_or_one_number_of_experts() -> None:
    tables = run_of(None, even(1, 5, 1, 8, 2), 8)
    bare = used(tables | {"tensors": tables["tensors"].iloc[:0]})
    assert bare["tensor"].isna().all() and len(bare) == 1
    assert used(tables | {"routing": tables["routing"].iloc[:0]}).empty
    assert used(tables | {"routing": tables["routing"].iloc[:-1]})["if_even"].isna().all()
