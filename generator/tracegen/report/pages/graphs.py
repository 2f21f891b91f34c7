"""The graph page: each topology drawn once, first its blocks, then one block of each kind in detail."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.analysis.node_means import costs
from tracegen.charts import theme
from tracegen.charts.graph.svg import BlockDrawing, draw_graph, standalone
from tracegen.charts.svg import Drawing
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.document.blocks import FigureBlock
from tracegen.report.figures.context import Context
from tracegen.report.figures.explorers import GRAPH
from tracegen.report.pages.chosen import graph_runs
from tracegen.report.pages.explorers.graph_facts import IN_PAGE_BYTES, colour_scales, node_facts


@dataclass(frozen=True)
class Topology:
    """One topology: its drawings, and the passes that ran it (`used_by`); `main`: the block that most layers are."""

    key: str
    title: str
    used_by: str
    graphs: tuple[int, ...]
    pass_id: int | None
    n_nodes: int
    overview: FigureBlock
    blocks: tuple[tuple[BlockDrawing, FigureBlock], ...]
    main: BlockDrawing


def graphs(context: Context, assets: Assets) -> dict[str, Any]:
    """Everything the template of the graph page prints."""
    topologies: list[Topology] = []
    several = context.tables["graphs"]["topology"].nunique() > 1
    for topology, part in context.tables["graphs"].groupby("topology", sort=False):
        topologies.append(
            _topology(context, assets, len(topologies), str(topology), [int(g) for g in part["graph"]], several)
        )
    evaluated = context.tables["passes"].dropna(subset=["graph"]).sort_values("pass_id", kind="stable")
    drawn = [t for t in topologies if t.overview.drawing is not None]
    cost_of = [costs(context.tables, context.ops, t.graphs) for t in drawn]
    room = IN_PAGE_BYTES // max(len(drawn), 1)
    state = {
        "passes": graph_runs(evaluated[["pass_id", "graph"]].astype("int64").itertuples(index=False, name=None)),
        "lead": {str(g): t.graphs[0] for t in topologies for g in t.graphs},
        "topologies": [
            node_facts(context, assets, t.graphs, t.key, cost, room) | {"pass": t.pass_id}
            for t, cost in zip(drawn, cost_of, strict=True)
        ],
        "scales": colour_scales(context, cost_of),
        "groups": dict(theme.GROUP_OF),
    }
    return {"topologies": topologies, "drawn": bool(drawn), "state": state}


def _topology(
    context: Context, assets: Assets, number: int, topology: str, members: list[int], several: bool
) -> Topology:
    passes = context.tables["passes"]
    users = passes[passes["graph"].isin(members).to_numpy(bool)].sort_values("pass_id", kind="stable")
    counted = users[users["pass_id"].isin(context.measured["pass_id"])]
    link = counted if len(counted) else users
    pass_id = int(link["pass_id"].iloc[0]) if len(link) else None
    drawing = draw_graph(context.tables, members[0], pass_id=pass_id, operations="../operations/index.html")
    nodes = dict(zip(context.tables["graphs"]["graph"], context.tables["graphs"]["n_nodes"], strict=True))[members[0]]
    key = f"graph-{number}"
    title = f"{q.counted(nodes, 'node')} in {q.counted(len(drawing.blocks), 'kind')} of block"
    shapes = f"{len(members)} graphs that differ only in sizes share this drawing" if len(members) > 1 else "One graph"
    caption = (
        f"Blocks in order of execution; layers with the same operations and connections are folded into one block. "
        f"The strip shows the share of operations by component group; the boxes lead to the details below. {shapes}, "
        f"topology {topology[:12]}."
    )
    overview = _figure(context, assets, key, title, caption, drawing.overview, members[:1])
    blocks = []
    for i, block in enumerate(drawing.blocks):
        stands = (
            f" Drawn once for {len(block.layers)} layers; sizes and names are those of layer {block.layers[0]}."
            if len(block.layers) > 1
            else ""
        )
        text = (
            f"{q.counted(block.n_nodes, 'node')}, top to bottom. Solid boxes compute, dashed boxes only view. Operands "
            "enter from the left, the KV cache leaves to the right; a tensor that other blocks read too is drawn "
            f"beside each of its readers.{stands}{block.difference and ' ' + block.difference} A solid box leads to "
            f"its facts; without scripts, to its row in the operation table."
        )
        block_title = block.title[:1].upper() + block.title[1:]
        blocks.append(
            (block, _figure(context, assets, f"{key}-block-{i}", block_title, text, block.svg, members[:1], key))
        )
    main = max(drawing.blocks, key=lambda block: (len(block.layers), block.n_nodes))
    heading = f"Graph {number + 1}" if several else "All passes run graphs of one topology"
    return Topology(key, heading, _used_by(users), tuple(members), pass_id, int(nodes), overview, tuple(blocks), main)


def _figure(
    context: Context,
    assets: Assets,
    key: str,
    title: str,
    caption: str,
    inline: str,
    members: list[int],
    file: str = "",
) -> FigureBlock:
    reason = context.refusal(GRAPH.needs)
    if reason:
        return FigureBlock(key, title, caption, title, None, reason)
    nodes = context.tables["graph_nodes"]
    data = nodes[nodes["graph"].isin(members)][["graph", "node", "kind", "op", "name", "layer", "component", "dtype"]]
    drawing = Drawing(lambda: (standalone(inline), inline))
    return assets.figure(
        key, "graph", title, caption, f"{title}. {caption}", drawing, data, numbers={"graphs": members}, file=file
    )


def _used_by(users: pd.DataFrame) -> str:
    """Which passes ran a topology, by kind."""
    if users.empty:
        return "No recorded pass ran it."
    kinds = users["kind"].astype("object").fillna("kind not recorded")
    names = {"warmup": "warm-up"}
    parts = []
    for kind, part in users.groupby(kinds, sort=False):
        ids = [int(i) for i in part["pass_id"]]
        span = f"pass {ids[0]}" if len(ids) == 1 else f"{len(ids)} passes from {ids[0]} to {ids[-1]}"
        parts.append(f"{names.get(str(kind), str(kind))} ({span})")
    return "Run by " + ", ".join(parts) + "."
