"""What an even choice of experts would be, and what is left out; tests/recompute counts single choices."""

from tests.builders import N_EXPERTS, N_USED, only, scaled_case, without
from tracegen.analysis import experts

CASE = scaled_case(7, 3, moe=True)


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
