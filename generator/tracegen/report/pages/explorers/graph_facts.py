"""The data of the graph page's scripts: columns with the facts of every node, in the page or in a separate script."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from tracegen.analysis.blocks import Block, fold
from tracegen.analysis.node_means import Costs, Population, bounds
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import script_json
from tracegen.report.figures.context import Context
from tracegen.report.figures.top_operations import TOP_OPERATIONS

IN_PAGE_BYTES = 60_000  # room in the page for the facts of all topologies; longer ones get separate files
LONGEST = 200  # characters of a name in the page; the tables have all of it
TIME_FACTOR, BYTES_FACTOR = 2, 4  # ratio of neighbouring steps of a colour scale
NEEDED = {"time": TOP_OPERATIONS.needs, "bytes": needs.BYTES}
KINDS = ("op", "noop", "leaf")


def node_facts(
    context: Context, assets: Assets, graphs: Sequence[int], key: str, cost: Costs, room: int
) -> dict[str, Any]:
    """The facts of the topology of `graphs`, of which the first is drawn.

    The result holds them as `facts` if they take no more than `room` bytes, else the `path` of a script with them.
    """
    facts = {"key": key, "graphs": list(graphs), **_population(cost.over), **_columns(context, graphs, cost)}
    facts["instances"] = instances(fold(context.tables, graphs[0]))
    text = script_json(facts)
    if len(text.encode()) <= room:
        return {"key": key, "graphs": list(graphs), "facts": facts}
    path = assets.script(f"data/graph/{key}.js", "tracegenGraph", text)
    return {"key": key, "graphs": list(graphs), "path": f"../{path}"}


def instances(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Every block of a graph in order of execution: the number of its drawing, its layer (or None), its nodes."""
    drawn: dict[str, int] = {}
    records = []
    for block in blocks:
        number = drawn.setdefault(block.signature, len(drawn))
        for i, member in enumerate(block.members):
            layer = block.layers[i] if block.layers else None
            records.append({"block": number, "layer": layer, "title": block.kind, "nodes": list(member)})
    return records


def colour_scales(context: Context, cost_of: Iterable[Costs]) -> dict[str, Any]:
    """The upper ends of the colour steps for time and for bytes, the same for all graphs of the run."""
    parts = [cost.means for cost in cost_of]
    every = pd.concat(parts) if parts else pd.DataFrame({"duration_ns": [], "touched_bytes": []})
    scales = {}
    for name, column, factor in (("time", "duration_ns", TIME_FACTOR), ("bytes", "touched_bytes", BYTES_FACTOR)):
        reason = context.refusal(NEEDED[name])
        ends = [] if reason else bounds(every[column], theme.N_STEPS, factor)
        scales[name] = {"factor": factor, "ends": ends, "reason": reason}
    return scales


def _population(counted: Population) -> dict[str, Any]:
    """The passes of the means in words: `5 measured generate passes`."""
    number = len(counted.passes)
    if counted.generate:
        return {"n_passes": number, "mean": "per token", "over": q.counted(number, "measured generate pass")}
    over = q.counted(number, "measured pass") + ", none of which is known to generate" if number else ""
    return {"n_passes": number, "mean": "per pass", "over": over}


def _columns(context: Context, graphs: Sequence[int], cost: Costs) -> dict[str, Any]:
    """The nodes of the drawn graph as columns, in order of their numbers; null: not recorded."""
    nodes = context.tables["graph_nodes"]
    rows = nodes[(nodes["graph"] == graphs[0]).to_numpy()].sort_values("node", ignore_index=True, kind="stable")
    means = cost.means.set_index("node").reindex(rows["node"])
    for name, column in (("time", "duration_ns"), ("bytes", "touched_bytes")):
        if context.refusal(NEEDED[name]):
            means[column] = pd.NA
    second = _other_graph(context, graphs, cost.over)
    columns: dict[str, Any] = {
        "node": [int(n) for n in rows["node"]],
        "kind": [KINDS.index(str(k)) for k in rows["kind"]],
        "name": [_name(n) for n in rows["name"]],
        "layer": _numbers(rows["layer"]),
        "sources": _sources(context, graphs[0], rows["node"]),
        "time": _numbers(means["duration_ns"]),
        "n_timed": _numbers(means["n_timed"].fillna(0)),
        "bytes": _numbers(means["touched_bytes"]),
        "state": [None if pd.isna(s) else str(s) for s in means["state"]],
        "fused_into": _numbers(means["fused_into"]),
        "tensor": _tensors(context, graphs, rows["node"]),
        "shape_graphs": [graphs[0]] if second is None else [graphs[0], second],
    }
    for name in ("op", "component", "dtype"):
        columns[name] = _coded(q.printable(value) for value in rows[name])
    columns["shape"] = _coded(_shapes(rows))
    if second is not None:
        twin = nodes[(nodes["graph"] == second).to_numpy()].set_index("node").reindex(rows["node"])
        columns["other_shape"] = _coded(_shapes(twin))
    return columns


def _other_graph(context: Context, graphs: Sequence[int], counted: Population) -> int | None:
    """The graph that the first pass of the means ran, if it is not the drawn one."""
    passes = context.tables["passes"]
    ran = passes[passes["pass_id"].isin(counted.passes[:1])]["graph"]
    return int(ran.iloc[0]) if len(ran) and int(ran.iloc[0]) != graphs[0] else None


def _sources(context: Context, graph: int, nodes: pd.Series) -> list[list[int]]:
    """The nodes that each node reads, in order of its operands."""
    edges = context.tables["graph_edges"]
    edges = edges[(edges["graph"] == graph).to_numpy()].sort_values(["target", "slot"])
    read: dict[int, list[int]] = {}
    for source, target in zip(edges["source"], edges["target"], strict=True):
        read.setdefault(int(target), []).append(int(source))
    return [read.get(int(node), []) for node in nodes]


def _tensors(context: Context, graphs: Sequence[int], nodes: pd.Series) -> list[int | None]:
    """The number of the file's tensor that each node is, None for other nodes."""
    placed = context.tables["placements"]
    placed = placed[placed["graph"].isin(list(graphs)).to_numpy(bool) & placed["tensor"].notna().to_numpy(bool)]
    known = placed.drop_duplicates("node").set_index("node")["tensor"]
    return _numbers(known.reindex(nodes))


def _shapes(rows: pd.DataFrame) -> list[str]:
    """Sizes as `256 × 6`, without trailing ones."""
    shapes = []
    for sizes in zip(*(rows[f"ne{i}"] for i in range(4)), strict=True):
        last = max((i for i, n in enumerate(sizes) if i == 0 or pd.isna(n) or n != 1), default=0)
        shapes.append(" × ".join("?" if pd.isna(n) else str(int(n)) for n in sizes[: last + 1]))
    return shapes


def _coded(values: Iterable[str]) -> dict[str, list[Any]]:
    """A column with few different texts: the texts, and the index of each row's text."""
    codes, names = pd.factorize(pd.Series(list(values), dtype="object"))
    return {"names": [str(name) for name in names], "codes": [int(code) for code in codes]}


def _numbers(values: Iterable[Any]) -> list[int | None]:
    return [None if pd.isna(v) else round(float(v)) for v in values]


def _name(name: object) -> str:
    text = q.printable(name)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
