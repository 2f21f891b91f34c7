"""How uneven use is, against loops over single bytes, pairs, and known spreads."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tests.golden.hard_case import hard_case
from tracegen.analysis import concentration
from tracegen.analysis.accesses import ranges
from tracegen.analysis.order import disk_accesses
from tracegen.analysis.pieces import pieces

CASES = {"MoE": scaled_case(3, 2, moe=True), "dense": scaled_case(2, 1), "hard": hard_case()}
USES = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 90)), min_size=1, max_size=20)


def use_of(sizes_and_uses: list[tuple[int, float]]) -> pd.DataFrame:
    return pd.DataFrame(sizes_and_uses, columns=["size_bytes", "touched_bytes"])


@pytest.mark.parametrize("name", CASES)
def test_use_of_pieces_byte_by_byte(name: str) -> None:
    tables = CASES[name]
    used, cut = ranges(tables), pieces(tables)
    accesses = disk_accesses(tables, used)
    found = concentration.piece_use(tables, used, accesses, cut)
    work = tables["spans"].groupby(["pass_id", "node"])["work_ns"].sum().to_dict()
    fused = tables["ops"].dropna(subset=["fused_into"])
    into = {(r["pass_id"], r["node"]): r["fused_into"] for r in fused.to_dict("records")}
    touched: dict[tuple[int, int | None], int] = defaultdict(int)
    by_op: dict[tuple[int, int], dict[tuple[int, int | None], int]] = defaultdict(lambda: defaultdict(int))
    for row in accesses.to_dict("records"):
        for piece in cut.to_dict("records"):
            inside = len(range(max(row["begin"], piece["begin"]), min(row["end"], piece["end"])))
            key = (piece["tensor"], None if pd.isna(piece["expert"]) else piece["expert"])
            if inside:
                touched[key] += inside
                by_op[row["pass_id"], row["node"]][key] += inside
    kernels: dict[tuple[int, int], int] = defaultdict(int)
    for (pass_id, node), parts in by_op.items():
        kernels[pass_id, into.get((pass_id, node), node)] += sum(parts.values())
    for row in found.to_dict("records"):
        key = (row["tensor"], None if pd.isna(row["expert"]) else row["expert"])
        assert row["touched_bytes"] == touched.get(key, 0)
        assert row["n_accesses"] == sum(key in parts for parts in by_op.values())
        time = sum(
            work[p, into.get((p, n), n)] * parts[key] / kernels[p, into.get((p, n), n)]
            for (p, n), parts in by_op.items()
            if key in parts
        )
        assert row["work_ns"] == pytest.approx(time)
    told = {k for k, _ in work.items()} & set(kernels)
    assert found["work_ns"].sum() == pytest.approx(sum(work[k] for k in told))  # conservation


@given(USES)
def test_gini_pair_by_pair(uses: list[tuple[int, int]]) -> None:
    """Half the mean difference of use per byte between two bytes, beside the mean use per byte."""
    points = concentration.curve(use_of(uses), "touched_bytes")
    if not sum(use for _, use in uses):
        assert points.empty
        return
    bytes_ = [use / size for size, use in uses for _ in range(size)]
    differences = np.abs(np.subtract.outer(bytes_, bytes_)).mean()
    assert concentration.gini(points) == pytest.approx(differences / 2 / np.mean(bytes_), abs=1e-9)


def test_known_spreads() -> None:
    even = concentration.curve(use_of([(10, 30), (20, 60), (5, 15)]), "touched_bytes")
    assert concentration.gini(even) == pytest.approx(0) and concentration.file_share(even, 0.8) == pytest.approx(0.8)
    one = concentration.curve(use_of([(10, 7), (90, 0)]), "touched_bytes")
    assert concentration.gini(one) == pytest.approx(0.9) and concentration.file_share(one, 0.5) == pytest.approx(0.05)
    zipf = concentration.curve(use_of([(1, 1 / n**1.1) for n in range(1, 1001)]), "touched_bytes")
    weights = 1 / np.arange(1, 1001) ** 1.1
    n_half = int(np.searchsorted(np.cumsum(weights) / weights.sum(), 0.5)) + 1
    assert (n_half - 1) / 1000 < concentration.file_share(zipf, 0.5) <= n_half / 1000


def test_thinned_curves_keep_their_ends_and_lie_on_the_curve() -> None:
    points = concentration.curve(use_of([(1, 1 / n) for n in range(1, 3000)]), "touched_bytes")
    few = concentration.thinned(points)
    assert 200 < len(few) <= 400
    assert few.iloc[0].tolist() == points.iloc[0].tolist() and few.iloc[-1].tolist() == points.iloc[-1].tolist()
    assert few.merge(points).shape == few.shape
    assert concentration.gini(few) == pytest.approx(concentration.gini(points), abs=0.001)


def test_a_time_that_is_missing_leaves_no_curve_of_time_and_copies_are_no_part_of_the_file() -> None:
    tables = CASES["MoE"]
    used, cut = ranges(tables), pieces(tables)
    accesses = disk_accesses(tables, used)
    first = accesses.iloc[0]
    spans = tables["spans"]
    gone = (spans["pass_id"] == first["pass_id"]) & (spans["node"] == first["node"])
    use = concentration.piece_use({**tables, "spans": spans[~gone]}, used, accesses, cut)
    assert concentration.curve(use, "work_ns").empty and len(concentration.curve(use, "n_accesses"))
    tensor = int(first["tensor"])
    copied = used.assign(memory=used["memory"].astype("object").mask(used["tensor"] == tensor, "copied"))
    use = concentration.piece_use(tables, copied, accesses[accesses["tensor"] != tensor], cut)
    assert tensor not in set(use["tensor"]) and len(use) < len(cut)
