"""Pieces of the file and what passes used of them, against plain loops over ranges and bytes."""

from collections import defaultdict
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tests.golden.hard_case import hard_case
from tracegen.analysis.accesses import ranges
from tracegen.analysis.pieces import piece_use, pieces

CASES = {"MoE": scaled_case(3, 2, moe=True), "dense": scaled_case(2, 1), "hard": hard_case()}


@pytest.fixture(params=CASES, ids=str)
def tables(request: pytest.FixtureRequest) -> dict[str, pd.DataFrame]:
    return CASES[request.param]


def test_pieces_tile_their_tensors(tables: dict[str, pd.DataFrame]) -> None:
    cut = pieces(tables)
    axis = tables["files"].set_index("file")["axis_begin"]
    for tensor in tables["tensors"].to_dict("records"):
        own = cut[cut["tensor"] == tensor["tensor"]]
        begin = tensor["offset"] + axis[tensor["file"]]
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
    axis = tables["files"].set_index("file")["axis_begin"]
    expected: dict[tuple[int, int, str], dict[tuple[int, str], int]] = defaultdict(lambda: defaultdict(int))
    for row in used.to_dict("records"):
        begin, end = row["begin"] + axis[row["file"]], row["end"] + axis[row["file"]]
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


def test_nothing_used() -> None:
    tables = CASES["dense"]
    assert piece_use(tables, ranges(tables).head(0), pieces(tables)).empty
