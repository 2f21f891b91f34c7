"""Graph drawings: every node addressable, hostile names harmless, large graphs quick, bytes the same."""

import cProfile
import pstats
import re
import xml.etree.ElementTree as ElementTree

import pandas as pd

from tests.builders import scaled_case
from tests.golden.hard_case import hard_case
from tracegen.charts.graph.svg import GraphDrawing, draw_graph, standalone

HOSTILE = "</text><script>alert(1)</script>\"'&<img src=x onerror=alert(1)>\x00\x1b[31m\u202e"


def draw(tables: dict[str, pd.DataFrame], graph: int = 1) -> GraphDrawing:
    return draw_graph(tables, graph, pass_id=3, operations="../operations/index.html")


def all_svg(drawing: GraphDrawing) -> list[str]:
    return [drawing.overview, *(b.svg for b in drawing.blocks)]


def test_every_computing_node_is_one_element() -> None:
    tables = scaled_case(1, 4, moe=True)
    ids = [i for s in all_svg(draw(tables)) for i in re.findall(r'id="(g1-n\d+)"', s)]
    nodes = tables["graph_nodes"]
    computing = nodes[(nodes["graph"] == 1) & (nodes["kind"] != "leaf")]["node"]
    assert sorted(ids) == sorted(f"g1-n{n}" for n in computing)


def test_layers_of_one_shape_are_drawn_once() -> None:
    drawing = draw(scaled_case(1, 4))
    assert [(b.title, b.layers) for b in drawing.blocks] == [
        ("input", ()),
        ("layers 0–3", (0, 1, 2, 3)),
        ("output", ()),
    ]
    assert "4 of the same shape" in drawing.overview


def test_a_node_leads_to_its_row() -> None:
    body = "".join(all_svg(draw(hard_case())))
    assert 'href="../operations/index.html#pass=3&amp;node=4"' in body
    assert "node=3" not in body.replace("node=3&", ""), "a view has no row"


def test_drawings_are_well_formed_and_the_same_twice() -> None:
    tables = scaled_case(1, 3, moe=True)
    for svg in all_svg(draw(tables)):
        ElementTree.fromstring(svg)
        ElementTree.fromstring(standalone(svg))
        assert "var(" not in standalone(svg)
    assert draw(tables) == draw(tables)


def test_hostile_names_stay_text() -> None:
    tables = scaled_case(1, 2)
    nodes = tables["graph_nodes"]
    tables["graph_nodes"] = nodes.assign(name=[f"{HOSTILE}{i}" for i in range(len(nodes))])
    for svg in all_svg(draw(tables)):
        tags = {e.tag.split("}")[1] for e in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "defs", "marker", "path", "g", "a", "title", "rect", "text"}
        assert "\x00" not in svg and "\x1b" not in svg and "\u202e" not in svg


def test_a_name_of_ten_thousand_characters_does_not_widen_the_drawing() -> None:
    tables = scaled_case(1, 1)
    tables["graph_nodes"] = tables["graph_nodes"].assign(name="x" * 10_000)
    widths = [float(ElementTree.fromstring(s).get("width", "0")) for s in all_svg(draw(tables))]
    assert max(widths) < 2_000


def test_the_work_for_a_graph_without_layers_grows_with_its_nodes() -> None:
    """Calls, not seconds: four times the nodes, not much more than four times the work."""
    calls = []
    for n_layers in (8, 32):
        tables = scaled_case(0, n_layers, moe=True)
        nodes = tables["graph_nodes"]
        tables["graph_nodes"] = nodes.assign(layer=pd.array([None] * len(nodes), dtype="Int32"))
        with cProfile.Profile() as profile:
            drawing = draw(tables)
        calls.append(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]
        assert len(drawing.blocks) == 1
    assert calls[1] < 5 * calls[0]


def test_labels_are_large_enough() -> None:
    style = re.search(r"text\{font:(\d+)px", standalone(draw(hard_case()).overview))
    assert style is not None and int(style.group(1)) >= 11
