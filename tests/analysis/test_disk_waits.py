"""Waiting for the disk, against sums over single spans and faults."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case, with_faults
from tests.builders.graph import N_EXPERTS
from tracegen.analysis import disk_waits, expert_waits, heatmap
from tracegen.analysis.passes import measured
from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]


CASE = with_faults(scaled_case(3, 2, moe=True, threads=3))


def test_faults_of_a_tensor_are_summed() -> None:
    faults, tensors = CASE["faults"].to_dict("records"), CASE["tensors"].to_dict("records")
    inside = set(measured(CASE)["pass_id"])
    expected: dict[int, list[int]] = {}
    pages: dict[int, set[int]] = {}
    for fault in faults:
        if fault["pass_id"] not in inside:
            continue
        (tensor,) = [
            t["tensor"]
            for t in tensors
            if t["file"] == fault["file"] and t["offset"] <= fault["offset"] < t["offset"] + t["size_bytes"]
        ]
        sums = expected.setdefault(tensor, [0, 0, 0])
        sums[0] += 1
        sums[1] += fault["kind"] == "major"
        sums[2] += fault["duration_ns"]
        pages.setdefault(tensor, set()).add(fault["offset"] // 4096)
    table = disk_waits.by_tensor(CASE)
    assert len(table) == len(expected) > 5 and table["waited_ns"].is_monotonic_decreasing
    assert table["share"].sum() == pytest.approx(1)
    for row in table.to_dict("records"):
        assert [row["n_faults"], row["n_major"], row["waited_ns"]] == expected[row["tensor"]]
        assert row["n_pages"] == len(pages[row["tensor"]])


def test_a_tied_matrix_is_waited_for_where_it_is_used() -> None:
    """The same tensor looked up by row in one operation, and multiplied in another: the longer use is named."""
    table = disk_waits.by_tensor(CASE).set_index("tensor")
    nodes = {(n["graph"], n["node"]): n["op"] for n in CASE["graph_nodes"].to_dict("records")}
    graph = {p["pass_id"]: p["graph"] for p in CASE["passes"].to_dict("records")}
    rows = disk_waits.placed(CASE).dropna(subset=["node", "tensor"])
    kinds = [nodes[graph[p], n] for p, n in zip(rows["pass_id"], rows["node"], strict=True)]
    first = rows.iloc[kinds.index("MUL_MAT")]
    tensor, node = int(first["tensor"]), int(first["node"])
    others = CASE["faults"]["fault"] != first["fault"]
    assert table.loc[tensor, "op"] == nodes[graph[int(first["pass_id"])], node] and table.loc[tensor, "op_share"] == 1
    looked_up = next(key for key, op in nodes.items() if op == "GET_ROWS" and key[0] == graph[int(first["pass_id"])])
    faults = CASE["faults"]
    twice = faults.loc[~others].assign(
        fault=faults["fault"].max() + 1, node=looked_up[1], duration_ns=3 * int(table.loc[tensor, "waited_ns"])
    )
    both = disk_waits.by_tensor(CASE | {"faults": pd.concat([faults, twice], ignore_index=True).astype(faults.dtypes)})
    row = both[(both["tensor"] == tensor).to_numpy(bool)].iloc[0]
    assert (row["op"], row["op_share"]) == ("GET_ROWS", 0.75)


def test_waiting_by_expert_against_equal_parts_of_its_tensors() -> None:
    """An expert's bytes are a row of equal parts of its tensor; the fault lies in the part with its number."""
    chosen = np.random.default_rng(5)
    size, passes = int(CASE["files"]["size_bytes"].iloc[0]), list(measured(CASE)["pass_id"])
    rows = [
        dict(
            fault=i,
            pass_id=int(chosen.choice(passes)),
            file=0,
            offset=int(chosen.integers(size)),
            begin_ns=i,
            kind=str(chosen.choice(["minor", "major"])),
            duration_ns=int(chosen.integers(1, 10_000)),
        )
        for i in range(400)
    ]
    tables = {**CASE, "faults": contract.frame("faults", rows)}
    tensors = tables["tensors"][tables["tensors"]["name"].str.contains("exps").to_numpy(bool)].to_dict("records")
    expected: dict[tuple[int, int], list[Any]] = {}
    for row in rows:
        for tensor in tensors:
            into = row["offset"] - tensor["offset"]
            if tensor["file"] == 0 and 0 <= into < tensor["size_bytes"]:
                key = int(tensor["layer"]), into // (tensor["size_bytes"] // N_EXPERTS)
                sums = expected.setdefault(key, [0, 0, 0, set()])
                sums[:3] = sums[0] + 1, sums[1] + (row["kind"] == "major"), sums[2] + row["duration_ns"]
                sums[3].add(row["pass_id"])
    table = expert_waits.by_expert(tables)
    assert len(table) == len(expected) > 3 and table["waited_ns"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        n_faults, n_major, waited, of_passes = expected[row["layer"], row["expert"]]
        assert (row["n_faults"], row["n_major"], row["waited_ns"]) == (n_faults, n_major, waited)
        assert row["n_passes"] == len(of_passes)
        assert row["share"] == pytest.approx(waited / sum(row["duration_ns"] for row in rows))
    assert expert_waits.by_expert(scaled_case(2, 1, moe=True)).empty


def test_a_run_without_recorded_faults_has_no_split() -> None:
    tables = scaled_case(2, 1)
    assert not disk_waits.recorded(tables) and disk_waits.recorded(CASE)
    assert disk_waits.by_tensor(tables).empty
    table, longest = disk_waits.cells(tables, heatmap.display_rows(tables), 50, 8)
    assert table.empty and longest == 0


def test_cells_hold_the_waiting_of_their_stretch_of_the_file() -> None:
    rows = heatmap.display_rows(CASE)
    table, longest = disk_waits.cells(CASE, rows, n_bins=50, n_steps=8)
    axis = CASE["files"].set_index("file")["axis_begin"]
    total = int((CASE["files"]["axis_begin"] + CASE["files"]["size_bytes"]).max())
    width = -(-total // 50)
    row_of = dict(zip(rows["pass_id"], rows["row"], strict=True))
    expected: dict[tuple[int, int], float] = {}
    for fault in CASE["faults"].to_dict("records"):
        if fault["pass_id"] in set(measured(CASE)["pass_id"]):
            key = row_of[fault["pass_id"]], (axis[fault["file"]] + fault["offset"]) // width * width
            expected[key] = expected.get(key, 0) + fault["duration_ns"]
    found = {(r["row"], r["begin"]): r for r in table.to_dict("records")}
    assert found.keys() == expected.keys() and longest == max(expected.values())
    for key, waited in expected.items():
        assert found[key]["waited_ns"] == waited
        step = found[key]["step"]
        assert waited <= longest / 4 ** (7 - step) * (1 + 1e-6)
        assert step == 0 or waited > longest / 4 ** (8 - step) * (1 - 1e-6)
