"""Weights that are copied to a device for passes: sums by hand."""

import pandas as pd

from tests.builders import a_moe_run, a_run, scaled_case
from tracegen.analysis import copies
from tracegen.contract.tables import frame
from tracegen.report.figures.context import Context
from tracegen.report.findings.found import of_kind


def copied(proofs: tuple[str, ...] = ("none", "blocking")) -> dict[str, pd.DataFrame]:
    """A mixture whose prompt copies experts, a matrix and an input to one device, and a matrix to another."""
    tables = scaled_case(2, 2, moe=True)
    passes, tensors = tables["passes"].set_index("pass_id"), tables["tensors"]
    (prompt,) = passes.index[passes["kind"].eq("prompt").to_numpy(bool)]
    begin = int(passes.loc[prompt, "begin_ns"])
    experts = tensors[tensors["n_experts"].notna() & tensors["layer"].eq(0)]["name"].iloc[0]
    matrix = tensors[tensors["n_experts"].isna() & tensors["layer"].eq(1)]["name"].iloc[0]
    what = (
        (experts, "GPU0", 300),
        (experts, "GPU0", 100),
        (matrix, "GPU0", 100),
        ("inp_pos", "GPU0", 4),
        (matrix, "GPU1", 7),
    )
    rows = [
        dict(pass_id=prompt, copy=i, split=0, tensor=name, source="CPU", target=target, size_bytes=size)
        | dict(begin_ns=begin + 10 * i, end_ns=begin + 10 * i + 5, proof=proofs[i % len(proofs)])
        for i, (name, target, size) in enumerate(what)
    ]
    return {**tables, "copies": frame("copies", rows)}


def test_weights_are_told_from_inputs_and_experts_from_other_weights() -> None:
    first, second = copies.weights(copied(), "prompt")
    assert (first.target, first.n_bytes, first.expert_bytes, first.layers) == ("GPU0", 500, 400, (0, 1))
    assert (first.took_ns, first.whole) == (15, False)
    assert (second.target, second.n_bytes, second.expert_bytes, second.layers) == ("GPU1", 7, 0, (1,))
    assert copies.weights(copied(("blocking",)), "prompt")[0].whole


def test_nothing_is_copied_by_passes_of_another_kind_or_on_the_cpu_alone() -> None:
    assert copies.weights(copied(), "generate") == [] == copies.weights(scaled_case(1, 1), "prompt")


def test_the_finding_says_what_is_copied_and_whether_its_time_is_whole() -> None:
    for proofs, how in (
        (("none",), "whose hand-over alone takes"),
        (("blocking",), "which takes, with waiting for both,"),
    ):
        tables = copied(proofs)
        (found,) = (f for f in of_kind(Context(a_moe_run(), tables), "bytes") if "are copied to" in f.text)
        assert found.text.startswith(
            "For the prompt, 500 B of weights of layers 0 to 1 are copied to GPU0, 80.0 % of them"
        )
        assert how in found.text and found.scope == "prompt" and found.amounts[0].value == 500
    assert not [f for f in of_kind(Context(a_run(), scaled_case(1, 1)), "bytes") if "copied to" in f.text]
