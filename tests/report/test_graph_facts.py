"""What the graph page's scripts are given, against the tables."""

import json
from typing import Any

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case
from tests.recompute.published import handed_over
from tracegen.analysis.blocks import fold
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import script_json
from tracegen.report.figures.context import Context
from tracegen.report.pages import graphs
from tracegen.report.pages.explorers.graph_facts import instances


def topology_of(context: Context, assets: Assets) -> dict[str, Any]:
    """The first topology, as the page gives it to its script."""
    return dict(json.loads(script_json(graphs.graphs(context, assets)["state"]))["topologies"][0])


def facts_of(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    return dict(topology_of(Context(a_run(), tables), Assets())["facts"])


def test_columns_are_those_of_the_drawn_graph() -> None:
    tables = scaled_case(2, 2, moe=True)
    facts, nodes = facts_of(tables), tables["graph_nodes"]
    rows = nodes[nodes["graph"] == 0].to_dict("records")
    edges = tables["graph_edges"]
    tensors = tables["tensors"].set_index("tensor")["name"]
    assert facts["node"] == [r["node"] for r in rows] and facts["name"] == [r["name"] for r in rows]
    for name in ("op", "component", "dtype"):
        column = facts[name]
        assert [column["names"][code] for code in column["codes"]] == [r[name] for r in rows]
    for i, row in enumerate(rows):
        own = edges[(edges["graph"] == 0) & (edges["target"] == row["node"])].sort_values("slot")
        assert facts["sources"][i] == list(own["source"])
        assert facts["layer"][i] == (None if pd.isna(row["layer"]) else row["layer"])
        assert facts["tensor"][i] is None or tensors[facts["tensor"][i]] == row["name"]
    weights = [r["name"] for r in rows if r["name"].endswith(".weight")]
    assert sum(t is not None for t in facts["tensor"]) == len(weights)


def test_shapes_are_given_of_the_drawn_graph_and_of_the_one_that_generates() -> None:
    facts = facts_of(scaled_case(2, 1))
    at = facts["name"].index("inp_embd")
    shapes = [facts[name]["names"][facts[name]["codes"][at]] for name in ("shape", "other_shape")]
    assert facts["shape_graphs"] == [0, 1] and shapes == ["256 × 6", "256"]
    assert facts["over"] == "2 measured generate passes" and facts["mean"] == "per token"


def test_without_generate_passes_the_mean_says_so() -> None:
    facts = facts_of(scaled_case(0, 1))
    assert facts["over"] == "1 measured pass, none of which is known to generate" and facts["mean"] == "per pass"
    assert facts["shape_graphs"] == [0]


@pytest.mark.parametrize("moe", [True, False])
def test_instances_hold_every_computing_node_once(moe: bool) -> None:
    tables = scaled_case(1, 3, moe=moe)
    found = instances(fold(tables, 0))
    nodes = tables["graph_nodes"]
    computing = nodes[(nodes["graph"] == 0) & (nodes["kind"] != "leaf")]["node"]
    assert sorted(n for one in found for n in one["nodes"]) == sorted(computing)
    assert [(one["block"], one["layer"]) for one in found] == [(0, None), (1, 0), (1, 1), (1, 2), (2, None)]


def test_facts_that_are_long_stand_in_a_file_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = scaled_case(1, 1)
    inside = facts_of(tables)
    monkeypatch.setattr(graphs, "IN_PAGE_BYTES", 1_000)
    assets = Assets()
    one = topology_of(Context(a_run(), tables), assets)
    assert "facts" not in one and one["path"] == "../data/graph/graph-0.js"
    assert handed_over(assets.files["data/graph/graph-0.js"].decode()) == [inside]


def test_a_long_name_is_cut_and_says_so() -> None:
    tables = scaled_case(1, 1)
    tables["graph_nodes"] = tables["graph_nodes"].assign(name="x" * 10_000)
    names = set(facts_of(tables)["name"])
    assert names == {f"{'x' * 200}… (10000 characters)"}
