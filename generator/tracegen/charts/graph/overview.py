"""The block diagram of a graph: from input to output, equal layers folded into one."""

from collections.abc import Mapping
from typing import Any

from markupsafe import escape

from tracegen.analysis.blocks import Block
from tracegen.charts import theme
from tracegen.charts.graph.shapes import fill, rect, whole


def draw_overview(
    graph: int,
    blocks: tuple[Block, ...],
    info: Mapping[int, Mapping[Any, Any]],
    sources: Mapping[int, list[int]],
    keys: Mapping[str, str],
) -> str:
    """A column of blocks with their operations by group, each linked to its details (`keys`: signature -> id)."""
    width, box, gap = 322.0, 58.0, 26.0
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
        note = f"{each}{_counted(len(ops), 'operation')}, {_counted(len(weights), 'weight')}"
        if len(block.layers) > 1:
            note = f"{len(block.layers)} of the same shape, {note}"
        if i:
            parts.append(
                f'<path class="tg-edge" d="M{width / 2:g},{y - gap:g}V{y - 1:g}" marker-end="url(#{key}-arrow)"/>'
            )
        stack = "".join(
            rect(14 + 4 * k, y + 4 * k, width - 28, box, 8, fill(band) + fill(line, " stroke"))
            for k in ((1, 0) if len(block.layers) > 1 else (0,))
        )
        strip, x = [], 28.0
        for name in theme.GROUPS:
            n = sum(theme.group(info[node]["component"]) == name for node in ops)
            if n:
                span = n / max(len(ops), 1) * (width - 56)
                strip.append(
                    f"<g><title>{n} {escape(name)}</title>"
                    f"{rect(x, y + box - 14, max(span - 1.5, 1), 6, 1, fill(theme.colour(name)))}</g>"
                )
                x += span
        parts.append(
            f'<a class="tg-node" href="#{escape(keys[block.signature])}"><g>{stack}'
            f'<text class="tg-head" x="28" y="{y + 20:g}">{escape(block.title)}</text>'
            f'<text class="tg-sub tg-start" x="28" y="{y + 36:g}">{escape(note)}</text>{"".join(strip)}</g></a>'
        )
    height = 6 + len(blocks) * (box + gap)
    return whole(key, width, height, "".join(parts), "Blocks of the graph, from input to output")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
