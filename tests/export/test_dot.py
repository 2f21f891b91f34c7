"""Graphs for Graphviz: parsed by Graphviz, they are the graphs of the tables."""

import html
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pygraphviz
import pytest

from tests.builders import a_moe_run, scaled_case
from tests.site_project import LONG
from tracegen.contract.tables import empty
from tracegen.export import dot
from tracegen.export.format import Source

NAMES = (
    '"',
    "\\",
    'a\\"',
    "\\\\",
    "ends\\",
    "{",
    "}|<>",
    "a|b",
    "<p>",
    "two  spaces ",
    " ",
    "\n",
    "a\r\nb\tc",
    "\0",
    "\x1b[31m",
    "\ud800x",
    "&amp;",
    "&lt;script&gt;",
    "\\n",
    "\\N",
    "\\G\\L",
    "->",
    "]; n0 -> n1;",
    "ffn_up-0 (view)",
    "",
    LONG,
    "Ünïcödé \u202e\u2028",
)


def graphs(tables: dict[str, pd.DataFrame], folder: Path) -> dict[int, pygraphviz.AGraph]:
    folder.mkdir(exist_ok=True)
    dot.DOT.write(Source("demo/run-003", a_moe_run(), tables, folder), folder)
    return {int(path.stem.removeprefix("graph-")): pygraphviz.AGraph(str(path)) for path in folder.glob("*.dot")}


def shown(name: str) -> str:
    """A name as a reader sees it: control characters and what UTF-8 cannot express as escapes."""
    escaped = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", name)
    return escaped.encode("utf-8", "backslashreplace").decode()


def fields(label: str) -> list[str]:
    """The fields of a record's label, as Graphviz prints them."""
    parts, at = [""], 0
    while at < len(label):
        if label[at] == "\\":
            assert label[at + 1] in '\\{}|<>" '
            parts[-1] += label[at + 1]
            at += 1
        elif label[at] == "|":
            parts.append("")
        else:
            assert label[at] not in "{}<>"
            parts[-1] += label[at]
        at += 1
    return [re.sub("&([^;]*);", lambda found: {"amp": "&"}[found[1]], part) for part in parts]


def compare(tables: dict[str, pd.DataFrame], by_number: dict[int, pygraphviz.AGraph]) -> None:
    assert sorted(by_number) == tables["graphs"]["graph"].tolist()
    for graph, drawn in by_number.items():
        nodes = tables["graph_nodes"][tables["graph_nodes"]["graph"] == graph]
        assert sorted(drawn.nodes()) == sorted(f"n{node}" for node in nodes["node"])
        for row in nodes.to_dict("records"):
            node = drawn.get_node(f"n{row['node']}")
            name, shape, op = fields(node.attr["label"])
            assert name == f"{shown(row['name'])} ({'?' if pd.isna(row['dtype']) else row['dtype']})"
            assert op == shown(row["op"])
            sizes = ["?" if pd.isna(row[f"ne{i}"]) else str(row[f"ne{i}"]) for i in range(4)]
            number, written = shape.split(" ", 1)
            assert number == str(row["node"]) and [*written.strip("[]").split(", "), "1", "1"][:4] == sizes
            assert node.attr["layer"] == ("" if pd.isna(row["layer"]) else str(row["layer"]))
            assert written.count(",") == 1 or not written.endswith(", 1]")
            assert (node.attr["component"], node.attr["kind"]) == (row["component"], row["kind"])
            assert (node.attr["style"] == "filled") == (row["kind"] == "leaf")
        edges = tables["graph_edges"][tables["graph_edges"]["graph"] == graph]
        found = Counter((edge[0], edge[1], edge.attr["label"]) for edge in drawn.edges())
        assert found == Counter(
            (f"n{source}", f"n{target}", slot)
            for source, target, slot in edges[["source", "target", "slot"]].itertuples(index=False)
        )
        assert drawn.directed


def test_nodes_and_edges_are_those_of_the_tables(tmp_path: Path) -> None:
    tables = scaled_case(1, 2, moe=True)
    by_number = graphs(tables, tmp_path)
    compare(tables, by_number)
    assert by_number[0].graph_attr["topology"] == tables["graphs"]["topology"].iloc[0]
    assert by_number[0].graph_attr["label"].replace("\\ ", " ") == "demo/run-003, graph 0"


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_a_name(tmp_path: Path, name: str) -> None:
    tables = scaled_case(0, 1)
    names = tables["graph_nodes"]["name"].astype(object)
    names[:] = [f"{name}" if i % 3 else f"x{name}{i}" for i in range(len(names))]
    dtype = pd.StringDtype("python")
    tables["graph_nodes"] = tables["graph_nodes"].assign(name=pd.array(names, dtype=dtype))
    by_number = graphs(tables, tmp_path)
    compare(tables, by_number)
    assert tables["graph_nodes"].loc[0, "name"] == f"x{name}0"
    assert drawn_name(by_number[0], "n0") == shown(f"x{name}0") + " (F16)"


def drawn_name(graph: pygraphviz.AGraph, node: str) -> str:
    """The first text of a node in the picture that Graphviz draws."""
    svg = graph.draw(format="svg", prog="dot").decode()
    found = re.search(f"<title>{node}</title>.*?<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    assert found
    return html.unescape(found[1]).replace("\xa0", " ")


def test_what_is_not_known_is_a_question_mark(tmp_path: Path) -> None:
    tables = scaled_case(0, 1)
    nodes = tables["graph_nodes"]
    sizes = {f"ne{i}": pd.array([None] * len(nodes), dtype="Int64") for i in range(4)}
    tables["graph_nodes"] = nodes.assign(**sizes, dtype=pd.Categorical([None] * len(nodes)))
    compare(tables, graphs(tables, tmp_path))
    assert "(?)|0 [?, ?, ?, ?]|" in (tmp_path / "graph-0.dot").read_text()


def test_a_graph_without_nodes_is_empty_and_a_run_without_graphs_has_no_file(tmp_path: Path) -> None:
    tables = scaled_case(0, 1)
    bare = {**empty(), "graphs": tables["graphs"]}
    compare(bare, graphs(bare, tmp_path))
    unlisted = {**tables, "graphs": empty()["graphs"], "graph_edges": empty()["graph_edges"]}
    assert sorted(graphs(unlisted, tmp_path / "unlisted")) == tables["graphs"]["graph"].tolist()
    assert not graphs(empty(), tmp_path / "none")
