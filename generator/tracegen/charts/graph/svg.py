"""A graph as SVG: the diagram of its blocks, and each distinct block in detail.

layout.py places the boxes of a block, shapes.py writes them. A tensor that many nodes read
(positions, mask) is drawn once per reader: lines from a single box would cross the drawing.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from tracegen.analysis.accesses import Tables
from tracegen.analysis.blocks import Block, fold, sources_of
from tracegen.charts import theme
from tracegen.charts.graph.layout import lay_out
from tracegen.charts.graph.overview import draw_overview
from tracegen.charts.graph.shapes import Shape, group, whole
from tracegen.charts.graph.straight import Box
from tracegen.charts.svg import GROUND
from tracegen.contract.text import printable

LONGEST = 30  # characters of a label; the node's title has the full name
MARGIN = 4.0
HUB = 6  # a result with more readers inside a block is drawn once per reader


@dataclass(frozen=True)
class BlockDrawing:
    """One distinct block: its title, the layers that it represents, and its SVG for inline use in HTML.

    `difference` says in which operations a layer differs from the layer before it; it may be empty.
    """

    key: str
    title: str
    layers: tuple[int, ...]
    n_nodes: int
    svg: str
    difference: str = ""


@dataclass(frozen=True)
class GraphDrawing:
    """The drawings of one topology: the block diagram, then each distinct block."""

    overview: str
    blocks: tuple[BlockDrawing, ...]


def draw_graph(tables: Tables, graph: int, *, pass_id: int | None, operations: str) -> GraphDrawing:
    """Draw `graph`; nodes link to `operations#pass=PASS&node=NODE` when a pass is given.

    Every node of the graph, folded or not, has an element with an id such as `g0-n125`.
    """
    blocks = fold(tables, graph)
    nodes = tables["graph_nodes"]
    rows = nodes[(nodes["graph"] == graph).to_numpy()].astype(object).to_dict("records")
    info: dict[int, dict[Any, Any]] = {int(row["node"]): row for row in rows}
    home = {node: (i, k) for i, b in enumerate(blocks) for k, member in enumerate(b.members) for node in member}
    # not for a leaf that another graph computed: its sources are not drawn here
    sources = {target: read for target, read in sources_of(tables, graph).items() if target in home}
    link = "" if pass_id is None else f"{operations}#pass={pass_id}&node="
    readers: dict[int, set[tuple[int, int]]] = {}
    for target, read in sources.items():
        for source in read:
            readers.setdefault(source, set()).add(home[target])
    shared = {source for source, places in readers.items() if len(places) > 1}
    drawn: dict[str, BlockDrawing] = {}
    before: Block | None = None
    for block in blocks:
        if block.signature not in drawn:
            same = [b for b in blocks if b.signature == block.signature]
            drawing = _draw_block(graph, same, info, sources, shared, link, len(drawn))
            drawn[block.signature] = replace(drawing, difference=_difference(before, block, info))
        before = block
    keys = {signature: drawing.key for signature, drawing in drawn.items()}
    overview = draw_overview(graph, blocks, info, sources, keys)
    return GraphDrawing(overview, tuple(drawn.values()))


def _draw_block(
    graph: int,
    same: list[Block],
    info: Mapping[int, Mapping[Any, Any]],
    sources: Mapping[int, list[int]],
    shared: set[int],
    link: str,
    number: int,
) -> BlockDrawing:
    """One drawing for all blocks of one signature."""
    members = [member for block in same for member in block.members]
    layers = tuple(layer for block in same for layer in block.layers)
    lead = members[0]
    twins = {node: tuple(member[i] for member in members) for i, node in enumerate(lead)}
    shapes, lines = _shapes(twins, info, sources, shared, link, bool(layers), len(members) > 1)
    spine = _spine(lead, info, sources)
    if spine and (before := [a for a, b in lines if b == spine[0] and a.startswith("x")]):
        spine.insert(0, before[0])
    key = f"g{graph}-b{number}"
    title = " and ".join(block.title for block in same[:3]) + (" and others" if len(same) > 3 else "")
    svg = _layout(key, graph, shapes, lines, spine, title)
    return BlockDrawing(key, title, layers, len(lead), svg)


def _difference(before: Block | None, block: Block, info: Mapping[int, Mapping[Any, Any]]) -> str:
    """`Like layers 0–2, with 2 GET_ROWS more.`; empty unless the block and the one before it are layers."""
    if before is None or not before.kind == block.kind == "layer":
        return ""
    now, then = (Counter(str(info[n]["op"]) for n in b.members[0] if info[n]["kind"] == "op") for b in (block, before))
    more = [f"{n} {printable(op)} more" for op, n in sorted((now - then).items())]
    less = [f"{n} {printable(op)} less" for op, n in sorted((then - now).items())]
    if not more and not less:
        return f"The same operations as {before.title}, otherwise connected or named."
    return f"Like {before.title}, with {' and '.join([*more, *less])}."


def _shapes(
    twins: Mapping[int, tuple[int, ...]],
    info: Mapping[int, Mapping[Any, Any]],
    sources: Mapping[int, list[int]],
    shared: set[int],
    link: str,
    layered: bool,
    folded: bool,
) -> tuple[dict[str, Shape], list[tuple[str, str]]]:
    """The shapes of a block by id, and its edges; weights, inputs and copies stand beside the op that reads them.

    `twins`: each node that is drawn, in their order -> the nodes that it stands for.
    """
    readers = Counter(source for node in twins for source in sources.get(node, ()))
    hubs = {source for source, n in readers.items() if n > HUB}
    shapes: dict[str, Shape] = {}
    lines: list[tuple[str, str]] = []
    for node, alike in twins.items():
        row = info[node]
        look = "noop" if row["kind"] == "noop" else "op"
        lines_of = (_short(str(row["op"]), False), _short(str(row["name"]), layered))
        shape = Shape(
            lines_of[:1] if look == "noop" else lines_of,
            look,
            theme.colour(row["component"]),
            _title(row, alike),
            alike,
            f"{link}{node}" if link and look == "op" else "",
        )
        shapes[f"n{node}"] = shape
        for source in sources.get(node, ()):
            read = info[source]
            if read["kind"] == "leaf":
                state = str(read["name"]).startswith("cache_")
                writes = state and row["op"] in ("SET_ROWS", "CPY")
                side = shape.right if writes else shape.left
                side.append(_leaf(read, source, layered, "state" if state else "leaf"))
            elif source in twins and source not in hubs:
                lines.append((f"n{source}", f"n{node}"))
            elif source in twins or source in shared:
                shape.left.append(_leaf(read, source, False, "from"))
            else:
                text = "from the layer before" if folded else _short(str(read["name"]), False)
                name = f"x{source}"
                colour = theme.colour(read["component"])
                shapes.setdefault(name, Shape((text,), "enter", colour, _title(read, (source,)), (source,)))
                lines.append((name, f"n{node}"))
    outer = {name: shape for name, shape in shapes.items() if name.startswith("x")}
    return outer | shapes, list(dict.fromkeys(lines))


def _spine(lead: tuple[int, ...], info: Mapping[int, Mapping[Any, Any]], sources: Mapping[int, list[int]]) -> list[str]:
    """The main path of the activations through a block, from its last node up along first computed operands.

    At an ADD it follows the longer path: the shorter one is the residual.
    """
    members = set(lead)
    depth: dict[int, int] = {}
    for node in lead:
        depth[node] = 1 + max((depth.get(s, 0) for s in sources.get(node, ())), default=0)
    way = [lead[-1]] if lead else []
    while way:
        read = [s for s in sources.get(way[-1], ()) if s in members and depth[s] < depth[way[-1]]]
        if not read:
            break
        way.append(max(read, key=lambda s: depth[s]) if info[way[-1]]["op"] == "ADD" else read[0])
    return [f"n{node}" for node in reversed(way)]


def _leaf(row: Mapping[Any, Any], node: int, layered: bool, look: str) -> Shape:
    lines = (_short(str(row["name"]), layered), _sizes(row))
    return Shape(lines, look, theme.colour(row["component"]), _title(row, (node,)), (node,))


def _layout(
    key: str,
    graph: int,
    shapes: Mapping[str, Shape],
    lines: list[tuple[str, str]],
    spine: list[str],
    title: str,
) -> str:
    """Place the shapes, each op with the boxes beside it as one box, and draw them with their lines."""
    boxes = {
        name: Box(
            shape.beside(shape.left) + shape.width / 2,
            shape.beside(shape.right) + shape.width / 2,
            shape.width / 2,
            shape.height,
        )
        for name, shape in shapes.items()
    }
    layout = lay_out(boxes, lines, spine)
    arrow = f' marker-end="url(#{key}-arrow)"'
    paths = "".join(f'<path class="tg-edge" d="{path}"{arrow if ends else ""}/>' for path, ends in layout.lines)
    body = "".join(group(graph, shape, *layout.places[name], key) for name, shape in shapes.items())
    inner = f'<g transform="translate({MARGIN:g},{MARGIN:g})">{paths}{body}</g>'
    label = f"Operations of {title}, top to bottom"
    return whole(key, layout.width + 2 * MARGIN, layout.height + 2 * MARGIN, inner, label)


def _short(name: str, layered: bool) -> str:
    """The name, cut to LONGEST; without its layer if `layered`, because the drawing's title has it."""
    if layered:
        name = re.sub(r"^blk\.\d+\.", "", re.sub(r"(?<=cache_[kv])_l\d+|-\d+(?=$| \()", "", name))
    name = printable(name)
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _sizes(row: Mapping[Any, Any]) -> str:
    """Type and shape, as far as they are known."""
    known = [row[f"ne{i}"] for i in range(4)]
    dtype = "type unknown" if pd.isna(row["dtype"]) else str(row["dtype"])
    if any(pd.isna(n) for n in known):
        return f"{dtype}, shape unknown"
    sizes = [int(n) for n in known]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return f"{dtype} {' × '.join(map(str, sizes))}"


def _title(row: Mapping[Any, Any], nodes: tuple[int, ...]) -> str:
    layer = "" if row["layer"] is None or pd.isna(row["layer"]) else f", layer {row['layer']}"
    more = f" and {len(nodes) - 1} like it" if len(nodes) > 1 else ""
    text = f"{row['op']} {row['name']} (node {nodes[0]}{layer}, {row['component']}, {_sizes(row)}){more}"
    return printable(text)


def standalone(svg: str) -> str:
    """The drawing as a separate file: with its own styles and the light colours, without links."""
    style = (
        "text{font:11px Arial,Liberation Sans,sans-serif;text-anchor:middle;fill:#22262c}"
        ".tg-sub{fill:#59616b}.tg-head,.tg-start{text-anchor:start}.tg-head{font-size:14px}"
        ".tg-edge{fill:none;stroke:#59616b;stroke-opacity:.7}"
    )
    fixed = re.sub(r"var\(--[\w-]+,(#[0-9a-f]{6})\)", r"\1", svg)
    fixed = re.sub(r'<a [^>]*href="[^"]*"[^>]*>|</a>|<g id="[^"]*"/>', "", fixed)
    return str(Markup(fixed.replace("<defs>", f"<style>{style}</style>{GROUND}<defs>", 1)))
