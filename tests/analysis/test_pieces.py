"""Pieces of the file and what passes used of them, against plain loops over ranges and bytes."""

from collections import Counter, defaultdict
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case, with_faults, with_requests
from tests.golden.hard_case import hard_case
from tracegen.analysis import axis, disk_waits
from tracegen.analysis.accesses import ranges
from tracegen.analysis.pieces import piece_use, pieces

CASES = {"MoE": scaled_case(3, 2, moe=True), "dense": scaled_case(2, 1), "hard": hard_case()}


@pytest.fixture(params=CASES, ids=str)
def tables(request: pytest.FixtureRequest) -> dict[str, pd.DataFrame]:
    return CASES[request.param]


def test_pieces_tile_their_tensors(tables: dict[str, pd.DataFrame]) -> None:
    cut = pieces(tables)
    start = tables["files"].set_index("file")["axis_begin"]
    for tensor in tables["tensors"].to_dict("records"):
        own = cut[cut["tensor"] == tensor["tensor"]]
        begin = tensor["offset"] + start[tensor["file"]]
        assert own["begin"].tolist() == [begin, *own["end"].tolist()[:-1]]
        assert own["end"].iloc[-1] == begin + tensor["size_bytes"]
        assert own["expert"].isna().all() if len(own) == 1 else own["expert"].tolist() == list(range(len(own)))


def test_stacked_tensors_are_cut_by_expert() -> None:
    tables = CASES["MoE"]
    cut = pieces(tables).groupby("tensor").size()
    names = tables["tensors"].set_index("tensor")["name"]
    assert {names[t] for t in cut.index[cut > 1]} == {name for name in names if "_exps" in name}


def test_use_of_pieces_is_that_of_their_bytes(tables: dict[str, pd.DataFrame]) -> None:
    used, cut = ranges(tables), pieces(tables)
    found = piece_use(tables, used, cut)
    work = tables["spans"].groupby(["pass_id", "node"])["work_ns"].sum().to_dict()
    start = tables["files"].set_index("file")["axis_begin"]
    expected: dict[tuple[int, int, str], dict[tuple[int, str], int]] = defaultdict(lambda: defaultdict(int))
    for row in used.to_dict("records"):
        begin, end = row["begin"] + start[row["file"]], row["end"] + start[row["file"]]
        for number, piece in cut.iterrows():
            share = min(end, piece["end"]) - max(begin, piece["begin"])
            if share > 0:
                at = (row["pass_id"], number, row["memory"])
                expected[at][row["node"], row["slot"]] += share  # type: ignore[index]
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = {
        (r["pass_id"], r["piece"], r["memory"]): (r["n_uses"], r["touched_bytes"], r["work_ns"])
        for r in found.to_dict("records")
    }
    assert set(rows) == set(expected) and len(rows) == len(found)
    for key, operands in expected.items():
        times = [work.get((key[0], node)) for node, _ in operands]
        n_uses, touched, took = rows[key]
        assert (n_uses, touched) == (len(operands), sum(operands.values()))
        if None in times:
            assert pd.isna(took)
        else:
            assert took == sum(times)  # type: ignore[arg-type]


def test_without_an_access_no_piece_has_use() -> None:
    tables = CASES["dense"]
    assert piece_use(tables, ranges(tables).head(0), pieces(tables)).empty


# What passes waited for and read of pieces, fault by fault and request by request


TABLES = with_requests(with_faults(scaled_case(3, 2, moe=True)))
CUT = pieces(TABLES)


def disk_of_pieces() -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Waiting (ns) and bytes read by pass and piece."""
    begins, waited, read = axis.begins(TABLES), Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    ends = list(zip(CUT["begin"].tolist(), CUT["end"].tolist(), strict=True))
    for one in TABLES["faults"].to_dict("records"):
        place = begins[one["file"]] + one["offset"]
        for piece in [i for i, (begin, end) in enumerate(ends) if begin <= place < end]:
            waited[one["pass_id"], piece] += one["duration_ns"]
    for one in TABLES["requests"].to_dict("records"):
        if pd.isna(one["pass_id"]) or pd.isna(one["file"]):
            continue
        first = begins[one["file"]] + one["offset"]
        asked = range(first, first + one["file_bytes"])
        for piece, (begin, end) in enumerate(ends):
            if n_bytes := len(range(max(asked.start, begin), min(asked.stop, end))):
                read[one["pass_id"], piece] += n_bytes
    return waited, read


@pytest.mark.parametrize(("waits", "reads"), [(True, True), (True, False), (False, True), (False, False)])
def test_each_piece_has_what_was_recorded(waits: bool, reads: bool) -> None:
    waited, read = disk_of_pieces()
    rows = disk_waits.by_piece(TABLES, CUT, waits=waits, reads=reads).to_dict("records")
    found = {(row["pass_id"], row["piece"]): (row["waited_ns"], row["read_bytes"]) for row in rows}
    assert set(found) == (set(waited) if waits else set()) | (set(read) if reads else set())
    for key, (ns, n_bytes) in found.items():
        assert (ns == waited[key]) if waits else pd.isna(ns)
        assert (n_bytes == read[key]) if reads else pd.isna(n_bytes)
    assert len(waited) > 5 and len(read) > 5 and max(read.values()) > 1000
