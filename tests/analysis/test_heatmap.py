"""Shares of the heatmap against an array with one element for each byte of the files."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import scaled_case
from tests.golden.hard_case import hard_case
from tracegen.analysis import heatmap
from tracegen.analysis.accesses import ranges
from tracegen.analysis.pieces import pieces

CASE = scaled_case(5, 3, moe=True)
KEYS = ["row", "begin", "end"]


def painted(tables: dict[str, pd.DataFrame], used: pd.DataFrame) -> dict[tuple[int, str], np.ndarray]:
    """Pass and memory (`all`: any) -> for each byte of the axis whether the pass used it."""
    files = tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max())
    start = dict(zip(files["file"], files["axis_begin"], strict=True))
    bytes_of: dict[tuple[int, str], np.ndarray] = {}
    for row in used.to_dict("records"):
        for memory in ("all", row["memory"]):
            array = bytes_of.setdefault((row["pass_id"], memory), np.zeros(total, dtype=bool))
            array[row["begin"] + start[row["file"]] : row["end"] + start[row["file"]]] = True
    return bytes_of


def assert_painted(tables: dict[str, pd.DataFrame], used: pd.DataFrame, n_columns: int, max_rows: int = 240) -> None:
    """Every cell of every row has the bytes that are painted there, and a cell without any has no line."""
    shares = heatmap.shares(tables, n_columns, max_rows, used=used)
    cells, rows = heatmap.places(tables, n_columns), heatmap.display_rows(tables, max_rows)
    bytes_of = painted(tables, used)
    found = {(int(r["row"]), int(r["begin"]), int(r["end"])): r for r in shares.to_dict("records")}
    for row, of_row in rows.groupby("row"):
        for begin, end in zip(cells["begin"].tolist(), cells["end"].tolist(), strict=True):
            arrays = [[bytes_of.get((p, m)) for p in of_row["pass_id"]] for m in ("all", "copied")]
            touched, copied = (sum(int(a[begin:end].sum()) for a in kind if a is not None) for kind in arrays)
            cell = found.pop((int(row), begin, end), None)
            assert (cell is None) == (touched == 0)
            if cell is not None:
                assert (cell["touched_bytes"], cell["copied_bytes"]) == (touched, copied)
                assert cell["share"] == touched / ((end - begin) * len(of_row))
                assert cell["size_bytes"] == end - begin and 0 < cell["share"] <= 1
    assert not found


@pytest.mark.parametrize("n_columns", [7, 1010])
@pytest.mark.parametrize("tables", [CASE, hard_case()], ids=["moe", "hard"])
def test_shares_equal_a_count_of_painted_bytes(tables: dict[str, pd.DataFrame], n_columns: int) -> None:
    assert_painted(tables, ranges(tables), n_columns)


def test_rows_of_several_passes_are_their_mean() -> None:
    tables = scaled_case(30, 1)
    assert heatmap.display_rows(tables, 12)["n_passes"].max() > 1
    assert_painted(tables, ranges(tables), 200, max_rows=12)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 1), st.integers(0, 95), st.integers(0, 40), st.booleans()),
        min_size=1,
        max_size=25,
    ),
    st.integers(1, 70),
)
def test_overlapping_ranges_count_each_byte_once(drawn: list[tuple[int, int, int, int, bool]], n_columns: int) -> None:
    small = scaled_case(2, 1)
    files = pd.DataFrame({"file": [0, 1], "axis_begin": [0, 100], "size_bytes": [100, 60]})
    tensors = small["tensors"].head(3).assign(file=[0, 0, 1], offset=[10, 50, 0], size_bytes=[40, 3, 60])
    limit = {0: 100, 1: 60}
    used = pd.DataFrame(
        [
            (p, f, min(begin, limit[f]), min(begin + length, limit[f]), "copied" if copied else "disk")
            for p, f, begin, length, copied in drawn
        ],
        columns=["pass_id", "file", "begin", "end", "memory"],
    )
    assert_painted({**small, "files": files, "tensors": tensors}, used, n_columns)


@pytest.mark.parametrize("n_columns", [50, 254, 1010])
def test_cells_tile_the_axis_and_follow_what_is_wider_than_two_pixels(n_columns: int) -> None:
    cells, cut = heatmap.places(CASE, n_columns), pieces(CASE)
    total = int((CASE["files"]["axis_begin"] + CASE["files"]["size_bytes"]).max())
    begin, end = cells["begin"].tolist(), cells["end"].tolist()
    assert begin[0] == 0 and end[-1] == total and begin[1:] == end[:-1]
    wide = cut[(cut["end"] - cut["begin"]) * n_columns > 2 * total]
    own = set(zip(begin, end, strict=True))
    assert len(wide) and all((b, e) in own for b, e in zip(wide["begin"], wide["end"], strict=True))
    other = {*begin, *end} - {*wide["begin"], *wide["end"]}
    pixels = {i * total // n_columns for i in range(n_columns + 1)}
    axis = CASE["files"]["axis_begin"]
    assert other <= pixels | {*axis, *(axis + CASE["files"]["size_bytes"])}


def test_a_cell_knows_the_tensors_that_lie_in_it() -> None:
    cells, cut = heatmap.places(CASE, 120), pieces(CASE)
    for cell in cells.to_dict("records"):
        there = cut[(cut["begin"] < cell["end"]) & (cut["end"] > cell["begin"])]
        assert cell["n_tensors"] == there["tensor"].nunique()
        if len(there):
            assert (cell["first_tensor"], cell["last_tensor"]) == (there["tensor"].iloc[0], there["tensor"].iloc[-1])
        expert = there["expert"].iloc[0] if len(there) == 1 else pd.NA
        assert pd.isna(cell["expert"]) if pd.isna(expert) else cell["expert"] == expert


def test_joined_cells_keep_every_byte_and_tell_of_all_they_cover() -> None:
    shares = heatmap.shares(CASE, 300)
    whole, joined = heatmap.joined_shares(shares, 8, len(shares)), heatmap.joined_shares(shares, 8, 0)
    assert len(whole) == len(shares) > 2 * len(joined)
    assert (joined["size_bytes"] == joined["end"] - joined["begin"]).all()
    for name in ("size_bytes", "touched_bytes", "copied_bytes"):
        assert joined[name].sum() == shares[name].sum()
    cut = pieces(CASE)
    for cell in joined.to_dict("records"):
        there = cut[(cut["begin"] < cell["end"]) & (cut["end"] > cell["begin"])]
        within = whole[whole["row"].eq(cell["row"]) & (whole["begin"] >= cell["begin"]) & (whole["end"] <= cell["end"])]
        assert cell["touched_bytes"] == within["touched_bytes"].sum() and set(within["step"]) == {cell["step"]}
        assert cell["n_tensors"] == there["tensor"].nunique()


def test_steps_are_eighths_of_all_bytes() -> None:
    touched = [1, 80, 81, 1000, 1001, 7000, 7001, 8000]
    cells = pd.DataFrame({"touched_bytes": touched, "size_bytes": 8000, "copied_bytes": 0, "n_passes": 1})
    assert heatmap.joined_shares(cells, 8, 99)["step"].tolist() == [-1, -1, 0, 0, 1, 6, 7, 7]


@pytest.mark.parametrize(("per_pass", "n_rows"), [(1, 240), (25, 240), (26, 230), (50, 120), (100, 60), (5000, 60)])
def test_a_pass_that_uses_many_ranges_leaves_room_for_fewer_rows(per_pass: int, n_rows: int) -> None:
    used = pd.DataFrame({"pass_id": np.repeat(np.arange(7), per_pass)})
    assert heatmap.rows_that_fit(used) == n_rows and heatmap.rows_that_fit(used[:0]) == heatmap.MOST_ROWS
