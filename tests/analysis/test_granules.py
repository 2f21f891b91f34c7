"""Granules of accesses, one by one."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import granules

ROWS = st.lists(st.tuples(*map(st.integers, (0, 0, 0, 1), (2, 3, 50, 30))), min_size=1, max_size=12)


@given(ROWS, st.integers(1, 9))
def test_an_operation_uses_a_granule_once(rows: list[tuple[int, int, int, int]], size: int) -> None:
    ordered = sorted(rows, key=lambda row: row[:2])
    table = pd.DataFrame(ordered, columns=["pass_id", "node", "begin", "length"])
    table["end"] = table["begin"] + table["length"]
    expected: list[tuple[int, int, int]] = []
    for pass_id, node, begin, length in ordered:
        for byte in range(begin, begin + length):
            if (pass_id, node, byte // size) not in expected:
                expected.append((pass_id, node, byte // size))
    assert list(granules.granule_uses(table, size).itertuples(index=False, name=None)) == expected


def test_nothing_was_touched() -> None:
    empty = pd.DataFrame({name: pd.Series(dtype="int64") for name in ("pass_id", "node", "begin", "end")})
    assert granules.granule_uses(empty, 4096).empty and granules.per_pass(granules.granule_uses(empty, 4096)).empty


@pytest.mark.parametrize(
    ("file_bytes", "size"),
    [(0, 4096), (5 << 20, 4096), (668 << 20, 128 << 10), (2000 << 20, 2 << 20), (12 << 30, 2 << 20)],
)
def test_files_have_a_thousand_granules_or_small_ones(file_bytes: int, size: int) -> None:
    assert granules.granule_bytes(file_bytes) == size
