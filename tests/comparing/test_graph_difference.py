"""Graphs that differ in a known way, and the rows of the drawing of it."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tracegen.analysis.graph_difference import COLUMNS, graph_difference, nodes_of, typical_graph
from tracegen.charts.compared_graph import CHANGES, chart
from tracegen.comparing import graph_rows as of
from tracegen.comparing.graph_rows import graph_rows
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


OPS = ("norm", "attn", "ffn")


def a_difference(layers: int, changes: dict[tuple[int | None, str], str]) -> pd.DataFrame:
    """embd, then three operations a layer, then two at the end; `changes`: (layer, name) -> change."""
    nodes: list[tuple[int | None, str]] = [(None, "embd")]
    nodes += [(layer, op) for layer in range(layers) for op in OPS]
    nodes += [(None, "norm"), (None, "head")]
    rows = [(n, op, layer, changes.get((layer, op), "same")) for n, (layer, op) in enumerate(nodes)]
    table = pd.DataFrame(rows, columns=["node", "op", "layer", "change"])
    return table.assign(name=table["op"], component="FFN", what="", layer=table["layer"].astype("Int32"))


def rows_of(table: pd.DataFrame) -> dict[str, str]:
    """Row -> the first letters of its changes, in the order of places."""
    return {str(row): "".join(change[0] for change in part["change"]) for row, part in table.groupby("row", sort=False)}


def test_layers_that_change_alike_share_a_row() -> None:
    table, left_out = graph_rows(a_difference(6, {(2, "attn"): "changed", (3, "attn"): "changed", (5, "ffn"): "gone"}))
    assert left_out == 0 and rows_of(table) == {
        "before the layers": "s",
        "layers 0 to 1": "sss",
        "layers 2 to 3": "scs",
        "layer 4": "sss",
        "layer 5": "ssg",
        "after the layers": "ss",
    }
    assert table.loc[table["row"] == "layer 5", "place"].tolist() == [1, 2, 3]


def test_too_many_rows_are_counted() -> None:
    changes = {(layer, "attn"): "changed" for layer in range(0, 100, 2)}
    table, left_out = graph_rows(a_difference(100, changes))
    assert table["row"].nunique() == of.MOST and left_out == 102 - of.MOST


def test_a_graph_without_layers_has_one_row() -> None:
    table, _ = graph_rows(a_difference(0, {}).assign(layer=pd.array([None] * 3, dtype="Int32")))
    assert rows_of(table) == {"after the layers": "sss"} or rows_of(table) == {"before the layers": "sss"}


def test_the_drawing_tells_changes_by_sign_too() -> None:
    table, _ = graph_rows(a_difference(3, {(1, "attn"): "new", (2, "attn"): "gone"}))
    for width in (360, 690, 1190):
        document = chart(table, width=width).to_dict()
        data = next(iter(document["datasets"].values()))
        assert {row["sign"] for row in data} == {"", "+", "−"}
    assert len({sign for _, sign in CHANGES.values()}) == len(CHANGES)
