"""A graph as SVG: its blocks from first to last, and each distinct block in detail.

Graphviz places the nodes and bends the edges of one block at a time; it never sees
a name, and everything drawn is written here. What many nodes read (positions, mask)
is drawn once per reader, because one shared copy would tie the whole block together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pygraphviz
from markupsafe import Markup, escape

from tracegen.analysis.accesses import Tables
from tracegen.analysis.blocks import Block, fold
from tracegen.charts import theme
from tracegen.charts.text import printable

LINE, PAD, GAP, SIDE = 14.0, 8.0, 16.0, 6.0  # height of a line at 11 px, margins, space beside an op
LONGEST = 30  # characters of a label; the whole name is in the node's title
SUB = ' class="tg-sub"'
HUB = 6  # more readers than this inside a block: drawn once per reader


@dataclass(frozen=True)
class BlockDrawing:
    """One distinct block: its title, the layers it stands for, and its SVG (to stand inline in HTML)."""

    key: str
    title: str
    layers: tuple[int, ...]
    n_nodes: int
    svg: str


@dataclass(frozen=True)
class GraphDrawing:
    """The drawings of one topology: the block diagram, then each distinct block."""

    graph: int
    overview: str
    blocks: tuple[BlockDrawing, ...]


@dataclass
class _Shape:
    """Something to draw: lines of text, its look, the nodes it stands for."""

    lines: tuple[str, ...]
    look: str
    colour: str
    title: str
    nodes: tuple[int, ...] = ()
    link: str = ""
    left: list[_Shape] = field(default_factory=list)
    right: list[_Shape] = field(default_factory=list)

    @property
    def width(self) -> float:
        return max(sum(_advance(c) for c in line) for line in self.lines) + 2 * PAD

    @property
    def height(self) -> float:
        beside = max((len(side) * (2 * LINE + 8 + SIDE) - SIDE for side in (self.left, self.right)), default=0)
        return max(len(self.lines) * LINE + 8, beside)

    def beside(self, side: list[_Shape]) -> float:
        """The width that a side takes, its gap included."""
        return max(shape.width for shape in side) + GAP if side else 0.0


def _advance(character: str) -> float:
    """Width of a character at 11 px, generously: no font is asked."""
    return 7.7 if character.isupper() or character in "mwMW" else 5.9 if character.isascii() else 11.0


def draw_graph(tables: Tables, graph: int, *, pass_id: int | None, operations: str) -> GraphDrawing:
    """Draw `graph`; nodes link to `operations#pass=PASS&node=NODE` when a pass is given.

    Every node number of the graph is an element's id, `g0-n125`, whatever was folded.
    """
    blocks = fold(tables, graph)
    nodes = tables["graph_nodes"]
    rows = nodes[(nodes["graph"] == graph).to_numpy()].astype(object).to_dict("records")
    info: dict[int, dict[Any, Any]] = {int(row["node"]): row for row in rows}
    edges = tables["graph_edges"]
    edges = edges[(edges["graph"] == graph).to_numpy()].sort_values(["target", "slot"])
    sources: dict[int, list[int]] = {}
    for source, target in zip(edges["source"], edges["target"], strict=True):
        sources.setdefault(int(target), []).append(int(source))
    link = "" if pass_id is None else f"{operations}#pass={pass_id}&node="
    home = {node: (i, k) for i, b in enumerate(blocks) for k, member in enumerate(b.members) for node in member}
    readers: dict[int, set[tuple[int, int]]] = {}
    for target, read in sources.items():
        for source in read:
            readers.setdefault(source, set()).add(home[target])
    shared = {source for source, places in readers.items() if len(places) > 1}
    drawn: dict[str, BlockDrawing] = {}
    for block in blocks:
        if block.signature not in drawn:
            same = [b for b in blocks if b.signature == block.signature]
            drawn[block.signature] = _draw_block(graph, same, info, sources, shared, link, len(drawn))
    overview = _draw_overview(graph, blocks, info, sources, drawn)
    return GraphDrawing(graph, overview, tuple(drawn.values()))


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
    shapes, lines = _shapes(lead, twins, info, sources, shared, link, bool(layers), len(members) > 1)
    key = f"g{graph}-b{number}"
    title = " and ".join(block.title for block in same[:3]) + (" and others" if len(same) > 3 else "")
    svg = _layout(key, graph, shapes, lines, title)
    return BlockDrawing(key, title, layers, len(lead), svg)


def _shapes(
    lead: tuple[int, ...],
    twins: Mapping[int, tuple[int, ...]],
    info: Mapping[int, Mapping[Any, Any]],
    sources: Mapping[int, list[int]],
    shared: set[int],
    link: str,
    layered: bool,
    folded: bool,
) -> tuple[dict[str, _Shape], list[tuple[str, str]]]:
    """What a block shows, and its edges; what only one op reads stands beside that op."""
    readers: dict[int, int] = {}
    for node in lead:
        for source in sources.get(node, ()):
            readers[source] = readers.get(source, 0) + 1
    hubs = {source for source, n in readers.items() if n > HUB}
    shapes: dict[str, _Shape] = {}
    lines: list[tuple[str, str]] = []
    for node in lead:
        row = info[node]
        look = "noop" if row["kind"] == "noop" else "op"
        lines_of = (_short(str(row["op"]), False), _short(str(row["name"]), layered))
        made = _Shape(
            lines_of[:1] if look == "noop" else lines_of,
            look,
            theme.colour(row["component"]),
            _title(row, twins[node]),
            twins[node],
            f"{link}{node}" if link and look == "op" else "",
        )
        shapes[f"n{node}"] = made
        for source in sources.get(node, ()):
            read = info[source]
            if read["kind"] == "leaf":
                state = str(read["name"]).startswith("cache_")
                writes = state and row["op"] in ("SET_ROWS", "CPY")
                (made.right if writes else made.left).append(_leaf(read, source, layered, "state" if state else "leaf"))
            elif source in twins and source not in hubs:
                lines.append((f"n{source}", f"n{node}"))
            elif source in twins or source in shared:
                made.left.append(_leaf(read, source, False, "from"))
            else:
                text = "from the layer before" if folded else _short(str(read["name"]), False)
                name = f"x{source}"
                shapes.setdefault(
                    name, _Shape((text,), "from", theme.colour(read["component"]), _title(read, (source,)))
                )
                lines.append((name, f"n{node}"))
    return shapes, list(dict.fromkeys(lines))


def _leaf(row: Mapping[Any, Any], node: int, layered: bool, look: str) -> _Shape:
    lines = (_short(str(row["name"]), layered), _sizes(row))
    return _Shape(lines, look, theme.colour(row["component"]), _title(row, (node,)), (node,))


def _layout(key: str, graph: int, shapes: Mapping[str, _Shape], lines: list[tuple[str, str]], title: str) -> str:
    """Let Graphviz place the shapes: it gets numbers and sizes only, an op and what stands beside it as one."""
    names = list(shapes)
    number = {name: i for i, name in enumerate(names)}
    text = ["strict digraph {", "rankdir=TB; nodesep=0.2; ranksep=0.32; splines=true; node [shape=plain];"]
    text += [f"{number[name]} [label=<{_cells(shape)}>];" for name, shape in shapes.items()]
    text += [f"{number[a]}:p:s -> {number[b]}:p:n [arrowhead=none];" for a, b in lines]
    made = pygraphviz.AGraph(string="\n".join([*text, "}"]))
    made.layout(prog="dot")
    box = [float(v) for v in made.graph_attr["bb"].split(",")]
    height = box[3] + 8
    body = [_edge(made.get_edge(number[a], number[b]).attr["pos"], height, key) for a, b in lines]
    for node in made.nodes():
        shape = shapes[names[int(node)]]
        x, y = (float(v) for v in node.attr["pos"].split(","))
        left, right = shape.beside(shape.left), shape.beside(shape.right)
        body.append(_group(graph, shape, x + 4 + (left - right) / 2, height - y - 4, key))
    return _svg(key, box[2] + 8, height, "".join(body), f"Operations of {title}, top to bottom")


def _cells(shape: _Shape) -> str:
    """Graphviz's table for an op with its neighbours: sizes in points, no text."""
    widths = (shape.beside(shape.left), shape.width, shape.beside(shape.right))
    cells = "".join(
        f'<TD FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{shape.height:.0f}"{port}></TD>'
        for width, port in zip(widths, ("", ' PORT="p"', ""), strict=True)
        if width
    )
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'


def _group(graph: int, shape: _Shape, x: float, y: float, key: str) -> str:
    """An op with what stands beside it: operands enter from the left, state leaves to the right."""
    made = [_shape(graph, shape, x, y)]
    for side, sign in ((shape.left, -1), (shape.right, 1)):
        step = 2 * LINE + 8 + SIDE
        for i, other in enumerate(side):
            at = y + (i - (len(side) - 1) / 2) * step
            edge = x + sign * shape.width / 2
            near = edge + sign * GAP
            begin, end = (near, edge - 1) if sign < 0 else (edge, near - 1)
            made.append(f'<path class="tg-edge" d="M{begin:.1f},{at:.1f}H{end:.1f}" marker-end="url(#{key}-arrow)"/>')
            made.append(_shape(graph, other, near + sign * other.width / 2, at))
    return "".join(made)


def _edge(pos: str, height: float, key: str) -> str:
    """A path through Graphviz's Bézier points, in tenths of a pixel, with the arrow at its end."""
    points = [tuple(float(v) for v in p.split(",")) for p in re.sub(r"[es],\S+ ", "", pos.replace("\\\n", "")).split()]
    shown = [f"{x + 4:.1f},{height - y - 4:.1f}" for x, y in points]
    return f'<path class="tg-edge" d="M{shown[0]}C{" ".join(shown[1:])}" marker-end="url(#{key}-arrow)"/>'


def _shape(graph: int, shape: _Shape, x: float, y: float) -> str:
    """A rounded rectangle with its lines of text, all its ids, and the link when it has one."""
    width, height = shape.width, shape.height
    radius = {"op": 6, "noop": 6, "leaf": 2, "state": 2, "from": height / 2}[shape.look]
    ids = [f"g{graph}-n{node}" for node in shape.nodes] if shape.look in ("op", "noop") else []
    fill, stroke = _paint(shape)
    first = y - (len(shape.lines) - 1) * LINE / 2 + 4
    words = "".join(
        f'<text{SUB if i else ""} x="{x:.1f}" y="{first + i * LINE:.1f}">{escape(line)}</text>'
        for i, line in enumerate(shape.lines)
    )
    rect = _rect(x - width / 2, y - height / 2, width, height, radius, f"{fill} {stroke}")
    bar = _rect(x - width / 2, y - height / 2, 4, height, 2, _fill(shape.colour))
    inner = f"<title>{escape(shape.title)}</title>{rect}{bar if shape.look != 'from' else ''}{words}"
    inner += "".join(f'<g id="{other}"/>' for other in ids[1:])
    if shape.link:
        inner = f'<a href="{escape(shape.link)}">{inner}</a>'
    return f'<g class="tg-node tg-{shape.look}"{f" id={chr(34)}{ids[0]}{chr(34)}" if ids else ""}>{inner}</g>'


def _rect(x: float, y: float, width: float, height: float, radius: float, paint: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" {paint}/>'


def _paint(shape: _Shape) -> tuple[str, str]:
    line = {"op": "", "noop": ' stroke-dasharray="3 2"', "leaf": "", "state": "", "from": ' stroke-dasharray="1 3"'}
    tint = {"op": 0.14, "noop": 0.0, "leaf": 0.05, "state": 0.05, "from": 0.0}[shape.look]
    return f'{_fill(shape.colour)} fill-opacity="{tint:g}"', f"{_fill(shape.colour, 'stroke')}{line[shape.look]}"


def _fill(colour: str, what: str = "fill") -> str:
    names = {light: variable for variable, light, _ in (*theme.GROUPS.values(), *theme.INK.values())}
    return f'{what}="var({names[colour]},{colour})"'


def _svg(key: str, width: float, height: float, body: str, label: str) -> str:
    arrow = (
        f'<defs><marker id="{key}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto">'
        f'<path d="M0,1L7,4L0,7Z" {_fill(theme.INK["muted"][1])}/></marker></defs>'
    )
    return (
        f'<svg class="tg-graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="group" aria-label="{escape(label)}">{arrow}{body}</svg>'
    )


def _draw_overview(
    graph: int,
    blocks: tuple[Block, ...],
    info: Mapping[int, Mapping[Any, Any]],
    sources: Mapping[int, list[int]],
    drawn: Mapping[str, BlockDrawing],
) -> str:
    """The blocks as a column, each linked to its detail, with its operations by component group."""
    width, box, gap = 420.0, 58.0, 26.0
    band, line = theme.INK["band"][1], theme.INK["hairline"][1]
    parts = []
    key = f"g{graph}-o"
    for i, block in enumerate(blocks):
        y = 6 + i * (box + gap)
        ops = [node for node in block.members[0] if info[node]["kind"] == "op"]
        weights = {
            s
            for n in block.members[0]
            for s in sources.get(n, ())
            if info[s]["kind"] == "leaf" and str(info[s]["name"]).endswith((".weight", ".bias"))
        }
        each = "each " if len(block.layers) > 1 else ""
        note = f"{each}{len(ops)} operations, {len(weights)} weights"
        if len(block.layers) > 1:
            note = f"{len(block.layers)} of the same shape, {note}"
        if i:
            parts.append(
                f'<path class="tg-edge" d="M{width / 2:g},{y - gap:g}V{y - 1:g}" marker-end="url(#{key}-arrow)"/>'
            )
        stack = "".join(
            _rect(14 + 4 * k, y + 4 * k, width - 28, box, 8, _fill(band) + _fill(line, " stroke"))
            for k in ((1, 0) if len(block.layers) > 1 else (0,))
        )
        strip, x = [], 28.0
        for name in theme.GROUPS:
            n = sum(theme.group(info[node]["component"]) == name for node in ops)
            if n:
                span = n / max(len(ops), 1) * (width - 56)
                strip.append(
                    f"<g><title>{n} {escape(name)}</title>"
                    f"{_rect(x, y + box - 14, max(span - 1.5, 1), 6, 1, _fill(theme.colour(name)))}</g>"
                )
                x += span
        parts.append(
            f'<a class="tg-node" href="#{escape(drawn[block.signature].key)}"><g>{stack}'
            f'<text class="tg-head" x="28" y="{y + 20:g}">{escape(block.title)}</text>'
            f'<text class="tg-sub tg-start" x="28" y="{y + 36:g}">{escape(note)}</text>{"".join(strip)}</g></a>'
        )
    height = 6 + len(blocks) * (box + gap)
    return _svg(key, width, height, "".join(parts), "Blocks of the graph, from input to output")


def _short(name: str, layered: bool) -> str:
    """The name without its layer where the drawing's title says it, and not longer than a label may be."""
    if layered:
        name = re.sub(r"^blk\.\d+\.", "", re.sub(r"(?<=cache_[kv])_l\d+|-\d+(?=$| \()", "", name))
    name = printable(name)
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _sizes(row: Mapping[Any, Any]) -> str:
    sizes = [int(row[f"ne{i}"]) for i in range(4)]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return f"{row['dtype']} {' × '.join(map(str, sizes))}"


def _title(row: Mapping[Any, Any], nodes: tuple[int, ...]) -> str:
    layer = "" if row["layer"] is None or pd.isna(row["layer"]) else f", layer {row['layer']}"
    more = f" and {len(nodes) - 1} like it" if len(nodes) > 1 else ""
    text = f"{row['op']} {row['name']} (node {nodes[0]}{layer}, {row['component']}, {_sizes(row)}){more}"
    return printable(text)


def standalone(svg: str) -> str:
    """The drawing as a file of its own: text styled inside, colours of the light scheme."""
    style = (
        "text{font:11px Arial,Liberation Sans,sans-serif;text-anchor:middle;fill:#22262c}"
        ".tg-sub{fill:#59616b}.tg-head,.tg-start{text-anchor:start}.tg-head{font-size:14px}"
        ".tg-edge{fill:none;stroke:#59616b;stroke-opacity:.7}"
    )
    fixed = re.sub(r"var\(--[\w-]+,(#[0-9a-f]{6})\)", r"\1", svg)
    fixed = re.sub(r'<a [^>]*href="[^"]*"[^>]*>|</a>', "", fixed)
    return str(Markup(fixed.replace("<defs>", f"<style>{style}</style><defs>", 1)))
