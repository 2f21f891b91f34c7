"""Tensors to keep in memory: by hand, and patterns against all other names."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import kept_tensors


def a_table(*sizes_and_touches: tuple[int, int]) -> pd.DataFrame:
    """The result of `kept` for tensors of these sizes that were touched for so many bytes."""
    n = range(len(sizes_and_touches))
    sizes = [size for size, _ in sizes_and_touches]
    tensors = pd.DataFrame(
        {
            "tensor": n,
            "name": [f"t{i}" for i in n],
            "file": 0,
            "offset": [sum(sizes[:i]) for i in n],
            "size_bytes": sizes,
            "component": "other",
            "layer": pd.array([None] * len(sizes), dtype="Int32"),
        }
    )
    accesses = [(i, 0, 1) for i, (_, touched) in enumerate(sizes_and_touches) for _ in range(touched)]
    return kept_tensors.kept(tensors, pd.DataFrame(accesses, columns=["tensor", "begin", "end"]))


def test_the_densest_come_first_and_cold_ones_are_never_kept() -> None:
    table = a_table((40, 20), (20, 30), (20, 0), (20, 10))
    assert table["name"].tolist() == ["t1", "t0", "t3", "t2"]
    chosen = kept_tensors.chosen(table)
    assert chosen["n_tensors"].tolist() == [0, 1, 2, 2]  # 10, 25, 50 and 75 bytes
    assert chosen["kept_bytes"].tolist() == [0, 20, 40, 60]
    assert chosen["served_share"].tolist() == pytest.approx([0, 0.5, 40 / 60, 50 / 60])
    assert kept_tensors.chosen(a_table((1, 5), (3, 0)))["n_tensors"].tolist() == [0, 1, 1, 1]


def test_a_tensor_that_does_not_fit_leaves_its_room_to_those_after_it() -> None:
    table = a_table((60, 600), (10, 20), (10, 10), (20, 10))
    chosen = kept_tensors.chosen(table)  # 10, 25, 50 and 75 bytes
    assert chosen["n_tensors"].tolist() == [1, 2, 3, 2] and chosen["kept_bytes"].tolist() == [10, 20, 40, 70]
    assert kept_tensors.fitting(table, 75)["name"].tolist() == ["t0", "t1"]
    assert chosen["served_share"].tolist() == pytest.approx([20 / 640, 30 / 640, 40 / 640, 620 / 640])


def test_without_a_touch_no_share_is_served() -> None:
    table = a_table((10, 0), (20, 0))
    assert kept_tensors.chosen(table)["served_share"].isna().all()


NAMES = [f"blk.{n}.{rest}" for n in (0, 1, 2, 10, 11, 21) for rest in ("attn_q.weight", "attn_q.bias", "ffn(up)")]
NAMES += ["output.weight", "token_embd.weight", "outputXweight", "a+b[c]{2}|d", "blk.1.attn_qXweight", "xblk.1.ffn(up)"]


@given(st.sets(st.sampled_from(NAMES)))
def test_a_pattern_finds_just_its_tensors(chosen: set[str]) -> None:
    """As llama.cpp looks for it: anywhere in the name."""
    pattern = kept_tensors.pattern(sorted(chosen))
    assert {name for name in NAMES if pattern and re.search(pattern, name)} == chosen and not re.search("[,=]", pattern)


def test_what_ot_reads_as_its_own_is_left_out() -> None:
    pattern = kept_tensors.pattern(["a,b=c"])
    assert pattern == "^(?:a.b.c)$" and re.search(pattern, "a,b=c")
    assert kept_tensors.pattern([]) == ""
