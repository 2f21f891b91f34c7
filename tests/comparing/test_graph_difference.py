"""Graphs that differ in a known way."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tracegen.analysis.graph_difference import COLUMNS, graph_difference, nodes_of, typical_graph
from tracegen.contract.tables import empty

NODES = nodes_of(scaled_case(3, 3), 1)


def changes(a: pd.DataFrame, b: pd.DataFrame) -> dict[str, int]:
    found = graph_difference(a, b)
    assert list(found.columns) == COLUMNS
    used = [int(n) for n in found["node_b"].dropna()] if len(found) else []
    assert sorted(used) == sorted(b["node"]) and len(set(used)) == len(used)
    used = [int(n) for n in found["node_a"].dropna()] if len(found) else []
    assert sorted(used) == sorted(a["node"]) and len(set(used)) == len(used)
    return {str(k): int(n) for k, n in found["change"].value_counts().items()}


def test_numbers_of_nodes_do_not_count() -> None:
    shifted = NODES.assign(node=NODES["node"] + 1000)
    assert changes(NODES, shifted) == {"same": len(NODES)}


def test_what_is_new_and_gone_stands_in_its_place() -> None:
    without = NODES.drop(index=7)
    assert changes(NODES, without) == {"same": len(NODES) - 1, "gone": 1}
    assert changes(without, NODES) == {"same": len(NODES) - 1, "new": 1}
    found = graph_difference(NODES, without)
    place = found.index[found["change"] == "gone"][0]
    assert found.loc[place, "node_a"] == NODES.loc[7, "node"]
    assert found.loc[place - 1, "node_a"] == NODES.loc[6, "node"]
    first = graph_difference(NODES, NODES.drop(index=0))
    assert first.loc[0, "change"] == "gone"


def test_a_change_says_what_changed() -> None:
    other = NODES.copy()
    other.loc[5, "shape"], other.loc[5, "dtype"] = "1 × 2 × 3 × 4", "F64"
    found = graph_difference(NODES, other)
    (row,) = found[found["change"] == "changed"].to_dict("records")
    assert row["name"] == NODES.loc[5, "name"]
    assert row["what"] == f"dtype: {NODES.loc[5, 'dtype']} → F64; shape: {NODES.loc[5, 'shape']} → 1 × 2 × 3 × 4"


def test_a_node_elsewhere_has_moved() -> None:
    order = [*range(1, 20), 0, *range(20, len(NODES))]
    found = graph_difference(NODES, NODES.iloc[order])
    (row,) = found[found["change"] != "same"].to_dict("records")
    assert row["change"] == "moved" and row["name"] == NODES.loc[0, "name"]


def test_a_layer_more_is_new_from_end_to_end() -> None:
    more = nodes_of(scaled_case(3, 4), 1)
    found = graph_difference(NODES, more)
    new = found[found["change"] == "new"]
    assert set(new["layer"].dropna().astype(int)) == {3} and "gone" not in set(found["change"])


@given(st.lists(st.integers(0, len(NODES) - 1), unique=True, max_size=8), st.randoms(use_true_random=False))
def test_every_node_of_both_graphs_stands_once(dropped: list[int], random: object) -> None:
    kept = [i for i in range(len(NODES)) if i not in dropped]
    if len(kept) > 30:
        kept[10:20] = sorted(kept[10:20], key=lambda i: (i * 7) % 11)
    counts = changes(NODES, NODES.iloc[kept])
    assert counts.get("gone", 0) == len(dropped) and sum(counts.values()) == len(NODES)
    assert "new" not in counts and "changed" not in counts


def test_runs_without_a_graph() -> None:
    assert typical_graph(empty()) is None
    nothing = NODES.head(0)
    assert changes(nothing, NODES) == {"new": len(NODES)} and changes(NODES, nothing) == {"gone": len(NODES)}
    assert changes(nothing, nothing) == {}
