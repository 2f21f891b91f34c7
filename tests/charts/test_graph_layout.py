"""Lines of a graph drawing: never upwards, never through a box, the spine in one column."""

import re
from itertools import pairwise

import pytest

from tracegen.charts.graph.layout import Layout, lay_out
from tracegen.charts.graph.straight import Box

SMALL = Box(20, 20, 20, 30)
WIDE = Box(140, 20, 20, 60)

LAYER = {
    "spine": ["in", "norm", "q", "attention", "add", "up", "out"],
    "edges": [
        ("in", "norm"),
        ("norm", "q"),
        ("norm", "k"),
        ("norm", "v"),
        ("q", "attention"),
        ("k", "cache_k"),
        ("v", "attention"),
        ("view", "attention"),
        ("attention", "add"),
        ("in", "add"),
        ("add", "up"),
        ("up", "out"),
        ("add", "out"),
        ("up", "gate"),
        ("gate", "out"),
    ],
}


def layer() -> tuple[dict[str, Box], Layout]:
    names = ["in", "norm", "q", "k", "v", "cache_k", "view", "attention", "add", "up", "gate", "out"]
    boxes = {name: WIDE if name in ("q", "k", "v", "attention") else SMALL for name in names}
    return boxes, lay_out(boxes, LAYER["edges"], LAYER["spine"])  # type: ignore[arg-type]


def points(path: str) -> list[tuple[float, float]]:
    """The corners of a path: absolute M, H and V, relative q."""
    x, y, found = 0.0, 0.0, []
    for letter, text in re.findall(r"([MHVq])([^MHVq]*)", path):
        n = [float(v) for v in re.split(r"[ ,]", text)]
        if letter == "M":
            x, y = n
        elif letter == "H":
            x = n[0]
        elif letter == "V":
            y = n[0]
        else:
            x, y = x + n[2], y + n[3]
        found.append((x, y))
    return found


def test_no_line_turns_up() -> None:
    for path, _ in layer()[1].lines:
        heights = [y for _, y in points(path)]
        assert all(b >= a - 0.15 for a, b in pairwise(heights)), path


def test_no_line_passes_through_a_box() -> None:
    boxes, layout = layer()
    for path, _ in layout.lines:
        corners = points(path)
        for (x0, y0), (x1, y1) in pairwise(corners):
            for name, (x, y) in layout.places.items():
                box = boxes[name]
                beside = max(x0, x1) <= x - box.left + 1 or min(x0, x1) >= x + box.right - 1
                apart = max(y0, y1) <= y - box.height / 2 + 1 or min(y0, y1) >= y + box.height / 2 - 1
                assert beside or apart, (path, name)


def test_the_spine_is_one_column_and_boxes_do_not_overlap() -> None:
    boxes, layout = layer()
    assert len({round(layout.places[name][0], 1) for name in LAYER["spine"]}) == 1
    spans = sorted((y, x - boxes[n].left, x + boxes[n].right) for n, (x, y) in layout.places.items())
    for (y, _, right), (other, left, _) in pairwise(spans):
        assert other > y or left >= right
    assert all(left >= 0 and right <= layout.width + 0.1 for _, left, right in spans)


def test_every_edge_ends_at_a_box() -> None:
    assert sum(ends for _, ends in layer()[1].lines) == len(LAYER["edges"])


@pytest.mark.parametrize("edges", [[("b", "a")], [("a", "b"), ("b", "c"), ("c", "a")], [("a", "a")]])
def test_a_graph_out_of_order_or_with_a_ring_is_still_drawn(edges: list[tuple[str, str]]) -> None:
    layout = lay_out(dict.fromkeys("abc", SMALL), edges, [])
    assert set(layout.places) == set("abc")


def test_a_graph_of_no_or_one_box_is_laid_out() -> None:
    assert lay_out({}, [], []).height == 0
    assert lay_out({"a": SMALL}, [], ["a"]).height == 30
