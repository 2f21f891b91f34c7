"""Three consumers follow one MUL_MAT_ID through the keys: an op row, a heatmap cell, a byte range."""

import pytest

from tests.golden.hard_case import EXPERT_BYTES, hard_case
from tracegen.analysis.accesses import accesses, ranges
from tracegen.analysis.heatmap import file_cells
from tracegen.analysis.held import held, last_given
from tracegen.analysis.operations import op_rows

TABLES = hard_case()


def test_op_row_of_the_expert_product() -> None:
    rows = op_rows(TABLES, [1])
    assert list(rows["node"]) == [0, 1, 2, 4]
    row = rows[rows["node"] == 4].iloc[0]
    assert (row["op"], row["name"], row["layer"], row["component"]) == (
        "MUL_MAT_ID",
        "ffn_moe_gate-0",
        0,
        "expert_gate",
    )
    assert (row["begin_ns"], row["duration_ns"]) == (1_000, 3_000)
    assert (row["work_ns"], row["barrier_ns"], row["wait_ns"]) == (2_900 + 1_890, 1_100, 100)
    assert row["copied_bytes"] == 3 * EXPERT_BYTES and row["disk_bytes"] == 0
    assert row["buffer_bytes"] == 256 * 3 + 256 * 3 + 3 * 2 * 4  # of each row of the argsort two of four numbers


def test_rows_of_the_prompt_hold_no_generated_token() -> None:
    assert TABLES["tokens"]["generated_token"].isna().all() and held(TABLES)["generated_token"].isna().all()
    assert last_given(TABLES) == 0, "pass 2 gave it, and no pass came after"


def test_embedding_rows_are_disk_and_only_the_rows_used() -> None:
    rows = accesses(TABLES)
    table = rows[(rows["op"] == "GET_ROWS") & (rows["slot"] == "src0")]
    assert list(table["size_bytes"]) == [1280, 1280] and list(table["touched_bytes"]) == [3 * 128, 2 * 128]
    assert set(table["memory"]) == {"disk"}


@pytest.mark.parametrize(("pass_id", "expected"), [(1, [(256, 2560), (3712, 4864)]), (2, [(1408, 3712)])])
def test_ranges_of_the_chosen_experts(pass_id: int, expected: list[tuple[int, int]]) -> None:
    used = ranges(TABLES, [pass_id])
    used = used[used["node"] == 4]
    assert list(zip(used["begin"], used["end"], strict=True)) == expected
    assert set(used["memory"]) == {"copied"} and set(used["file"]) == {1}


def test_heatmap_cells_equal_a_byte_by_byte_count() -> None:
    """Brute force: one counter per byte of the 7,680-byte axis, summed per stretch of 96."""
    counts = [0] * 7680
    for begin, end in ((512 + 7 * 128, 512 + 10 * 128), (1792, 2816)):
        for byte in range(begin, end):
            counts[byte] += 1
    for begin, end in ((256, 2560), (3712, 4864)):
        for byte in range(2816 + begin, 2816 + end):
            counts[byte] += 1
    expected = {i: s for i in range(80) if (s := sum(counts[i * 96 : (i + 1) * 96]))}
    cells = file_cells(TABLES, 80, [1])
    by_bin = cells.groupby("bin")["touched_bytes"].sum().to_dict()
    assert by_bin == expected
    assert cells[cells["memory"] == "copied"]["touched_bytes"].sum() == 3 * EXPERT_BYTES
