"""The ledger of bytes against a list of single bytes, on small random files."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegen.analysis import ledger

PAGE = 4
SIZES = (6, 9, 5)  # of the tensors
BEGINS = (3, 9, 20)
FILE = 26

RANGE = st.tuples(st.integers(0, 2), st.integers(0, 8), st.integers(0, 8), st.sampled_from(["disk", "copied"]))
PAGES = st.sets(st.integers(0, (FILE - 1) // PAGE))


def tables(loaded: set[int], at_end: set[int]) -> dict[str, pd.DataFrame]:
    """Three tensors in one file; pass 0 loads, pass 1 warms up, passes 2 and 3 are measured."""
    kinds = ["load", "warmup", "prompt", "generate"]
    runs = [(0, 0, page, 1) for page in sorted(loaded)] + [(3, 0, page, 1) for page in sorted(at_end)]
    runs.append((1, 0, 0, 1))  # nobody asks what was there after the warm-up
    return {
        "passes": pd.DataFrame({"pass_id": range(4), "kind": kinds, "begin_ns": range(4), "end_ns": range(1, 5)}),
        "files": pd.DataFrame({"file": [0], "axis_begin": [0], "size_bytes": [FILE]}),
        "tensors": pd.DataFrame(
            {
                "tensor": [0, 1, 2],
                "file": 0,
                "offset": BEGINS,
                "size_bytes": SIZES,
                "layer": pd.array([0, 0, 1], "Int32"),
                "component": ["norm", "router", "norm"],
            }
        ),
        "residency": pd.DataFrame(runs, columns=["pass_id", "file", "first_page", "n_pages"]),
    }


def ranges(rows: list[tuple[int, int, int, str]]) -> pd.DataFrame:
    """What measured passes touched: tensor, from, up to, memory; and the warm-up, which touched all."""
    records = [
        (2 + at % 2, t, kind, BEGINS[t] + min(a, b, SIZES[t]), BEGINS[t] + min(max(a, b), SIZES[t]))
        for at, (t, a, b, kind) in enumerate(rows)
    ]
    records += [(1, t, "disk", BEGINS[t], BEGINS[t] + SIZES[t]) for t in range(3)]
    table = pd.DataFrame(records, columns=["pass_id", "tensor", "memory", "begin", "end"])
    return table.assign(file=0)


NONE_UNSEEN = pd.DataFrame({"tensor": pd.Series(dtype="Int64")})


@given(st.lists(RANGE, max_size=8), PAGES, PAGES)
def test_each_byte_is_in_its_columns(rows: list[tuple[int, int, int, str]], loaded: set[int], at_end: set[int]) -> None:
    used = ranges(rows)
    table = ledger.by_tensor(tables(loaded, at_end), used, NONE_UNSEEN, PAGE).set_index("tensor")
    measured = used[used["pass_id"] >= 2]
    bytes_of: dict[str, set[int]] = {"disk": set(), "copied": set()}
    for kind, begin, end in measured[["memory", "begin", "end"]].itertuples(index=False, name=None):
        bytes_of[kind] |= set(range(begin, end))
    there = {byte for byte in range(FILE) if byte // PAGE in loaded}
    left = {byte for byte in range(FILE) if byte // PAGE in at_end}
    disk, copied = bytes_of["disk"], bytes_of["copied"]
    for tensor in range(3):
        own = set(range(BEGINS[tensor], BEGINS[tensor] + SIZES[tensor]))
        expected = {
            "size_bytes": own,
            "touched_bytes": own & disk,
            "copied_bytes": own & copied,
            "loaded_bytes": own & there,
            "waste_bytes": own & there - disk,
            "resident_bytes": own & left,
            "gone_bytes": own & disk - left,
            "copied_resident_bytes": own & copied & left,
        }
        assert {name: int(table.loc[tensor, name]) for name in ledger.SUMS} == {k: len(v) for k, v in expected.items()}


def test_what_was_not_recorded_is_null() -> None:
    blind = tables(set(), set())
    blind["residency"] = blind["residency"].iloc[:0]
    table = ledger.by_tensor(blind, ranges([(0, 0, 6, "disk")]), NONE_UNSEEN, PAGE)
    assert table["touched_bytes"].tolist() == [6, 0, 0]
    for name in ("loaded_bytes", "waste_bytes", "resident_bytes", "gone_bytes", "copied_resident_bytes"):
        assert table[name].isna().all(), name
    unseen = pd.DataFrame({"tensor": pd.array([1], "Int64")})
    table = ledger.by_tensor(tables({0}, {1}), ranges([]), unseen, PAGE).set_index("tensor")
    assert pd.isna(table.loc[1, "touched_bytes"]) and pd.isna(table.loc[1, "waste_bytes"])
    assert table.loc[1, "size_bytes"] == 9 and table.loc[0, "touched_bytes"] == 0
    groups = ledger.by_group(table.reset_index(), {"norm": "norm", "router": "router", "other": "other"})
    assert groups["group"].tolist() == ["norm", "router"] and groups["n_tensors"].tolist() == [2, 1]
    assert groups["touched_bytes"].tolist() == [0, pd.NA]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3 << 20), st.integers(1, 300_000)), max_size=8))
def test_blocks_are_those_in_which_a_byte_was_touched(rows: list[tuple[int, int, int]]) -> None:
    table = pd.DataFrame(rows, columns=["pass_id", "begin", "length"], dtype="int64")
    found = ledger.blocks(table.assign(end=table["begin"] + table["length"]), 1 << 30)
    for row in found.itertuples():
        size = int(str(row.block_bytes))
        own = [(begin, begin + length) for number, begin, length in rows if number == row.pass_id]
        numbers = {n for begin, end in own for n in range(begin // size, (end - 1) // size + 1)}
        assert row.in_blocks_bytes == size * len(numbers)
        touched = np.zeros(4 << 20, dtype=bool)
        for begin, end in own:
            touched[begin:end] = True
        assert row.touched_bytes == touched.sum()
    assert len(found) == 3 * len({number for number, *_ in rows})


def test_the_last_block_ends_where_the_files_end() -> None:
    touched = pd.DataFrame({"pass_id": [0, 0], "begin": [0, 5000], "end": [1, 5001]})
    found = ledger.blocks(touched, 6000).set_index("block_bytes")["in_blocks_bytes"]
    assert found.tolist() == [6000, 6000, 6000]
