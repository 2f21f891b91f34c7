"""Where threads wait, against sums over single spans."""

from collections import defaultdict
from typing import Any

import pandas as pd

from tests.builders import only, scaled_case
from tracegen.analysis import operations, waiting
from tracegen.analysis.passes import measured

CASE = scaled_case(3, 2, moe=True, threads=3)


def waited(tables: dict[str, pd.DataFrame], keys: tuple[str, ...]) -> pd.DataFrame:
    return waiting.by(operations.op_rows(tables), measured(tables), keys)


def by_hand(tables: dict[str, pd.DataFrame], keys: tuple[str, ...]) -> dict[tuple[Any, ...], list[int]]:
    passes = {r["pass_id"]: r for r in tables["passes"].to_dict("records")}
    nodes = {(r["graph"], r["node"]): r for r in tables["graph_nodes"].to_dict("records")}
    found: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for span in tables["spans"].to_dict("records"):
        one = passes[span["pass_id"]]
        if one["kind"] in ("load", "warmup"):
            continue
        node = nodes[one["graph"], span["node"]]
        key = tuple("none" if pd.isna(node[k]) else node[k] for k in keys)
        for i, name in enumerate(("work_ns", "barrier_ns", "wait_ns")):
            found[key][i] += span[name]
    return dict(found)


def test_sums_and_shares_equal_those_of_single_spans() -> None:
    for keys in (waiting.KIND, waiting.NODE):
        made, expected = waited(CASE, keys), by_hand(CASE, keys)
        passes = measured(CASE)
        whole = 3 * int((passes["end_ns"] - passes["begin_ns"]).sum())  # three threads
        assert len(made) == len(expected)
        for r in made.to_dict("records"):
            times = expected[tuple("none" if pd.isna(r[k]) else r[k] for k in keys)]
            assert [r["work_ns"], r["barrier_ns"], r["wait_ns"]] == times
            assert r["waiting_ns"] == times[1] + times[2]
            assert abs(r["share"] - r["waiting_ns"] / whole) < 1e-12


def test_most_waiting_comes_first_and_names_the_op_that_waited_longest() -> None:
    made = waited(CASE, waiting.NODE)
    assert made["waiting_ns"].is_monotonic_decreasing
    sums = CASE["spans"].assign(waited=CASE["spans"]["barrier_ns"] + CASE["spans"]["wait_ns"])
    sums = sums.groupby(["pass_id", "node"])["waited"].sum()
    for r in made.to_dict("records"):
        ops = [int(sums[p, r["node"]]) for p in measured(CASE)["pass_id"] if (p, r["node"]) in sums.index]
        assert sums[r["pass_id"], r["at_node"]] == max(ops) and r["at_node"] == r["node"]


def test_a_thread_that_computes_alone_waits_for_nobody() -> None:
    alone = scaled_case(3, 2, threads=1)
    made = waited(alone, waiting.KIND)
    assert (made["wait_ns"] > 0).any() and (made["waiting_ns"] == 0).all() and (made["share"] == 0).all()
    passes = measured(alone)
    ops = operations.op_rows(alone)
    assert waiting.thread_time(ops, passes) == (int((passes["end_ns"] - passes["begin_ns"]).sum()), 1)


def test_without_spans_or_measured_passes_there_are_no_rows() -> None:
    for tables in (CASE | {"spans": CASE["spans"].head(0)}, only(CASE, ("load", "warmup"))):
        assert waited(tables, waiting.KIND).empty
