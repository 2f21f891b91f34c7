"""What the scripts of the graph page know of every node: columns, in the page or in a script of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from tracegen.analysis.blocks import Block, fold
from tracegen.analysis.node_means import Costs, Population, bounds
from tracegen.charts import theme
from tracegen.figures import needs
from tracegen.figures.top_operations import TOP_OPERATIONS
from tracegen.pages.collector import Collector
from tracegen.pages.explorers.packing import script_json
from tracegen.words import quantities as q

IN_PAGE_BYTES = 60_000  # room for the facts of all topologies; longer ones stand in files of their own
LONGEST = 200  # characters of a name that the page finds and shows; the whole one is in the tables
TIME_FACTOR, BYTES_FACTOR = 2, 4  # of one step of a colour scale to the next
NEEDED = {"time": TOP_OPERATIONS.needs, "bytes": needs.BYTES}
KINDS = ("op", "noop", "leaf")


def node_facts(context: Collector, graphs: Sequence[int], key: str, cost: Costs, room: int) -> dict[str, Any]:
    """The facts of a topology, of which `graphs[0]` is drawn.

    They are the value itself, `facts`, where they take no more than `room` bytes, else the `path` of a script.
    """
    facts = {"key": key, "graphs": list(graphs), **_population(cost.over), **_columns(context, graphs, cost)}
    facts["instances"] = instances(fold(context.tables, graphs[0]))
    text = script_json(facts)
    if len(text.encode()) <= room:
        return {"key": key, "graphs": list(graphs), "facts": facts}
    path = context.files.add(f"data/graph/{key}.js", f"tracegenGraph({text});\n")
    return {"key": key, "graphs": list(graphs), "path": f"../{path}"}


def instances(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Every block of a graph in order of execution: the number of its drawing, its layer if it is one, its nodes."""
    drawn: dict[str, int] = {}
    made = []
    for block in blocks:
        number = drawn.setdefault(block.signature, len(drawn))
        for i, member in enumerate(block.members):
            layer = block.layers[i] if block.layers else None
            made.append({"block": number, "layer": layer, "title": block.kind, "nodes": list(member)})
    return made


def colour_scales(context: Collector, made: Iterable[Costs]) -> dict[str, Any]:
    """The upper ends of the steps of colour for time and for bytes: one scale each for all graphs of the run."""
    parts = [cost.means for cost in made]
    every = pd.concat(parts) if parts else pd.DataFrame({"duration_ns": [], "touched_bytes": []})
    scales = {}
    for name, column, factor in (("time", "duration_ns", TIME_FACTOR), ("bytes", "touched_bytes", BYTES_FACTOR)):
        reason = context.refusal(NEEDED[name])
        ends = [] if reason else bounds(every[column], theme.N_STEPS, factor)
        scales[name] = {"factor": factor, "ends": ends, "reason": reason}
    return scales


def _population(counted: Population) -> dict[str, Any]:
    """What the means are taken over, in words: `5 measured generate passes`."""
    number = len(counted.passes)
    if counted.generate:
        return {"n_passes": number, "mean": "per token", "over": q.counted(number, "measured generate pass")}
    over = q.counted(number, "measured pass") + ", none of which is known to generate" if number else ""
    return {"n_passes": number, "mean": "per pass", "over": over}


def _columns(context: Collector, graphs: Sequence[int], cost: Costs) -> dict[str, Any]:
    """The nodes of the drawn graph as columns, in order of their numbers; null is what was not recorded."""
    nodes = context.tables["graph_nodes"]
    own = nodes[(nodes["graph"] == graphs[0]).to_numpy()].sort_values("node", ignore_index=True)
    means = cost.means.set_index("node").reindex(own["node"])
    for name, column in (("time", "duration_ns"), ("bytes", "touched_bytes")):
        if context.refusal(NEEDED[name]):
            means[column] = pd.NA
    other = _other_graph(context, graphs, cost.over)
    columns: dict[str, Any] = {
        "node": [int(n) for n in own["node"]],
        "kind": [KINDS.index(str(k)) for k in own["kind"]],
        "name": [_name(n) for n in own["name"]],
        "layer": _numbers(own["layer"]),
        "sources": _sources(context, graphs[0], own["node"]),
        "time": _numbers(means["duration_ns"]),
        "n_timed": _numbers(means["n_timed"].fillna(0)),
        "bytes": _numbers(means["touched_bytes"]),
        "state": [None if pd.isna(s) else str(s) for s in means["state"]],
        "fused_into": _numbers(means["fused_into"]),
        "tensor": _tensors(context, graphs, own["node"]),
        "shape_graphs": [graphs[0]] if other is None else [graphs[0], other],
    }
    for name in ("op", "component", "dtype"):
        columns[name] = _coded(q.printable(value) for value in own[name])
    columns["shape"] = _coded(_shapes(own))
    if other is not None:
        twin = nodes[(nodes["graph"] == other).to_numpy()].set_index("node").reindex(own["node"])
        columns["other_shape"] = _coded(_shapes(twin))
    return columns


def _other_graph(context: Collector, graphs: Sequence[int], counted: Population) -> int | None:
    """The graph that the first pass of the mean ran, when it is not the one that is drawn."""
    passes = context.tables["passes"]
    ran = passes[passes["pass_id"].isin(counted.passes[:1])]["graph"]
    return int(ran.iloc[0]) if len(ran) and int(ran.iloc[0]) != graphs[0] else None


def _sources(context: Collector, graph: int, nodes: pd.Series) -> list[list[int]]:
    """What each node reads, in order of its operands."""
    edges = context.tables["graph_edges"]
    edges = edges[(edges["graph"] == graph).to_numpy()].sort_values(["target", "slot"])
    read: dict[int, list[int]] = {}
    for source, target in zip(edges["source"], edges["target"], strict=True):
        read.setdefault(int(target), []).append(int(source))
    return [read.get(int(node), []) for node in nodes]


def _tensors(context: Collector, graphs: Sequence[int], nodes: pd.Series) -> list[int | None]:
    """The tensor of the file that each leaf is; null where it is none."""
    placed = context.tables["placements"]
    placed = placed[placed["graph"].isin(list(graphs)).to_numpy(bool) & placed["tensor"].notna().to_numpy(bool)]
    known = placed.drop_duplicates("node").set_index("node")["tensor"]
    return _numbers(known.reindex(nodes))


def _shapes(rows: pd.DataFrame) -> list[str]:
    """`256 × 6`: sizes without the ones at the end."""
    made = []
    for sizes in zip(*(rows[f"ne{i}"] for i in range(4)), strict=True):
        last = max((i for i, n in enumerate(sizes) if i == 0 or pd.isna(n) or n != 1), default=0)
        made.append(" × ".join("?" if pd.isna(n) else str(int(n)) for n in sizes[: last + 1]))
    return made


def _coded(values: Iterable[str]) -> dict[str, list[Any]]:
    """A column of few different texts: the texts, and which one each row has."""
    codes, names = pd.factorize(pd.Series(list(values), dtype="object"))
    return {"names": [str(name) for name in names], "codes": [int(code) for code in codes]}


def _numbers(values: Iterable[Any]) -> list[int | None]:
    return [None if pd.isna(v) else round(float(v)) for v in values]


def _name(name: object) -> str:
    text = q.printable(name)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
