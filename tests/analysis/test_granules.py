"""Granules of accesses, one by one; working sets against windows made one by one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import granules
from tracegen.analysis.working_set import window_sizes, working_set

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


def test_no_access_gives_no_granule() -> None:
    empty = pd.DataFrame({name: pd.Series(dtype="int64") for name in ("pass_id", "node", "begin", "end")})
    assert granules.granule_uses(empty, 4096).empty and granules.per_pass(granules.granule_uses(empty, 4096)).empty


@pytest.mark.parametrize(
    ("file_bytes", "size"),
    [(0, 4096), (5 << 20, 4096), (668 << 20, 128 << 10), (2000 << 20, 2 << 20), (12 << 30, 2 << 20)],
)
def test_files_have_a_thousand_granules_or_small_ones(file_bytes: int, size: int) -> None:
    assert granules.granule_bytes(file_bytes) == size


PASSES = st.lists(st.sets(st.integers(0, 8), max_size=6), min_size=1, max_size=12)


def found(passes: list[set[int]]) -> pd.DataFrame:
    """The working sets of passes 10, 20 … that use these granules, some of them twice; a pass 5 does not count."""
    rows = [(5, 99)] + [(10 * (i + 1), g) for i, of in enumerate(passes) for g in [*of, *of]]
    uses = pd.DataFrame(rows, columns=["pass_id", "granule"])
    return working_set(uses, [10 * (i + 1) for i in range(len(passes))])


@given(PASSES)
def test_each_window_counted_by_itself(passes: list[set[int]]) -> None:
    table, n = found(passes), len(passes)
    assert table["n_passes"].tolist() == window_sizes(n)
    for row in table.to_dict("records"):
        length = int(row["n_passes"])
        windows = [len(set().union(*passes[i : i + length])) for i in range(n - length + 1)]
        assert row["n_windows"] == len(windows) and row["granules"] == pytest.approx(np.mean(windows))
        assert (row["least_granules"], row["most_granules"]) == (min(windows), max(windows))
        new = [len(passes[i] - set().union(*passes[i - length : i])) for i in range(length, n)]
        assert row["new_granules"] == pytest.approx(np.mean(new)) if new else np.isnan(row["new_granules"])


def test_window_sizes_double_up_to_the_number_of_passes() -> None:
    assert [window_sizes(n) for n in (0, 1, 2, 3, 8, 9)] == [[], [1], [1, 2], [1, 2, 3], [1, 2, 4, 8], [1, 2, 4, 8, 9]]
    assert found([set()])["granules"].tolist() == [0]
    assert working_set(pd.DataFrame({"pass_id": [1], "granule": [2]}), []).empty
