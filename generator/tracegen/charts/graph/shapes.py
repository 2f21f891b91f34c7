"""The boxes of a graph drawing as SVG: operations, with their weights and state beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from markupsafe import escape

from tracegen.charts import theme

LINE, PAD, GAP, SIDE = 14.0, 8.0, 16.0, 6.0  # px: line height, margin, gap beside an op, gap between side boxes
SUB = ' class="tg-sub"'


@dataclass
class Shape:
    """A box: lines of text, its look (op, noop, leaf, state, from, enter), the nodes that it represents.

    `left` and `right` are the boxes beside it.
    """

    lines: tuple[str, ...]
    look: str
    colour: str
    title: str
    nodes: tuple[int, ...] = ()
    link: str = ""
    left: list[Shape] = field(default_factory=list)
    right: list[Shape] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Width of the box itself."""
        return max(sum(_advance(c) for c in line) for line in self.lines) + 2 * PAD

    @property
    def height(self) -> float:
        """Height of the box, at least that of the boxes beside it."""
        beside = max((len(side) * (2 * LINE + 8 + SIDE) - SIDE for side in (self.left, self.right)), default=0)
        return max(len(self.lines) * LINE + 8, beside)

    def beside(self, side: list[Shape]) -> float:
        """The width of the boxes on one side, with the gap."""
        return max(shape.width for shape in side) + GAP if side else 0.0


def _advance(character: str) -> float:
    """An upper estimate of the width of a character at 11 px, in px."""
    return 7.7 if character.isupper() or character in "mwMW" else 5.9 if character.isascii() else 11.0


def group(graph: int, shape: Shape, x: float, y: float, key: str) -> str:
    """An op with the boxes beside it: operands enter from the left, state leaves to the right."""
    parts = [drawn(graph, shape, x, y)]
    for side, sign in ((shape.left, -1), (shape.right, 1)):
        step = 2 * LINE + 8 + SIDE
        for i, neighbour in enumerate(side):
            at = y + (i - (len(side) - 1) / 2) * step
            edge = x + sign * shape.width / 2
            near = edge + sign * GAP
            begin, end = (near, edge - 1) if sign < 0 else (edge, near - 1)
            parts.append(f'<path class="tg-edge" d="M{begin:.1f},{at:.1f}H{end:.1f}" marker-end="url(#{key}-arrow)"/>')
            parts.append(drawn(graph, neighbour, near + sign * neighbour.width / 2, at))
    return "".join(parts)


def drawn(graph: int, shape: Shape, x: float, y: float) -> str:
    """A rounded rectangle around (x, y) with its text, the ids of all its nodes, and its link."""
    width, height = shape.width, shape.height
    radius = {"op": 6, "noop": 6, "leaf": 2, "state": 2, "from": height / 2, "enter": height / 2}[shape.look]
    ids = [f"g{graph}-n{node}" for node in shape.nodes] if shape.look in ("op", "noop") else []
    paint, stroke = _paint(shape)
    first = y - (len(shape.lines) - 1) * LINE / 2 + 4
    words = "".join(
        f'<text{SUB if i else ""} x="{x:.1f}" y="{first + i * LINE:.1f}">{escape(line)}</text>'
        for i, line in enumerate(shape.lines)
    )
    box = rect(x - width / 2, y - height / 2, width, height, radius, f"{paint} {stroke}")
    bar = rect(x - width / 2, y - height / 2, 4, height, 2, fill(shape.colour))
    inner = f"<title>{escape(shape.title)}</title>{box}{bar if shape.look not in ('from', 'enter') else ''}{words}"
    inner += "".join(f'<g id="{further}"/>' for further in ids[1:])
    if shape.link:
        inner = f'<a href="{escape(shape.link)}">{inner}</a>'
    name = f' id="{ids[0]}"' if ids else f' data-node="{shape.nodes[0]}"' if shape.nodes else ""
    return f'<g class="tg-node tg-{shape.look}"{name}>{inner}</g>'


def rect(x: float, y: float, width: float, height: float, radius: float, paint: str) -> str:
    """An SVG rectangle, rounded to tenths of a pixel."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" {paint}/>'


def _paint(shape: Shape) -> tuple[str, str]:
    dotted = ' stroke-dasharray="1 3"'
    line = {"noop": ' stroke-dasharray="3 2"', "from": dotted, "enter": dotted}.get(shape.look, "")
    tint = {"op": 0.14, "leaf": 0.05, "state": 0.05}.get(shape.look, 0.0)
    return f'{fill(shape.colour)} fill-opacity="{tint:g}"', f"{fill(shape.colour, 'stroke')}{line}"


def fill(colour: str, what: str = "fill") -> str:
    """A paint attribute: the theme's CSS variable with its light value as fallback."""
    names = {light: variable for variable, light, _ in (*theme.GROUPS.values(), *theme.INK.values())}
    return f'{what}="var({names[colour]},{colour})"'


def whole(key: str, width: float, height: float, body: str, label: str) -> str:
    """The complete SVG of a drawing: `body`, and the definition of arrow heads."""
    arrow = (
        f'<defs><marker id="{key}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto">'
        f'<path d="M0,1L7,4L0,7Z" {fill(theme.INK["muted"][1])}/></marker></defs>'
    )
    body = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(?<=[\d])\.0(?=[\s\",HVq])", "", tag[0]), body)
    return (
        f'<svg class="tg-graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="group" aria-label="{escape(label)}">{arrow}{body}</svg>'
    )
