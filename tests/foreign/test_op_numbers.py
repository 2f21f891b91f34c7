"""The numbers of operations in three revisions of ggml."""

import pytest

from tracegen.foreign.op_names import allowed_ops
from tracegen.foreign.op_numbers import NOOPS, TABLES


@pytest.mark.parametrize(
    ("key", "length", "numbers"),
    [
        ("2025-07", 86, dict(MUL_MAT=27, RMS_NORM=23, GET_ROWS=38, FLASH_ATTN_EXT=66, GLU=85)),
        ("2026-01", 95, dict(MUL_MAT=29, RMS_NORM=25, GET_ROWS=40, FLASH_ATTN_EXT=73, GLU=94)),
        ("2026-11", 101, dict(MUL_MAT=29, RMS_NORM=25, GET_ROWS=40, FLASH_ATTN_EXT=74, GLU=100)),
    ],
)
def test_each_table_has_its_numbers(key: str, length: int, numbers: dict[str, int]) -> None:
    assert len(TABLES[key]) == len(set(TABLES[key])) == length
    assert {name: TABLES[key].index(name) for name in numbers} == numbers
    assert set(TABLES[key]) >= NOOPS


def test_names_allow_only_operations_that_exist() -> None:
    known = set().union(*TABLES.values())
    names = ("Qcur-0", "ffn_up-3", "Qcur-0 (view) (permuted)", "cache_k_l0 (view)", "Kcur (reshaped)-2", "embd", "norm")
    for name in names:
        assert allowed_ops(name) and allowed_ops(name) <= known
    assert allowed_ops("Qcur-0 (view) (permuted)") == {"PERMUTE"}
    assert not allowed_ops("node_21") and not allowed_ops("ffn_up-" + "0" * 63)
