"""Fold a graph into blocks: input, layers (neighbouring equal layers are one block), output."""

import re
from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables


@dataclass(frozen=True)
class Block:
    """Neighbouring layers with the same operations, or the nodes before or after all layers.

    `kind` is layer, input, output or graph. `members` holds one tuple of nodes per layer: the i-th node of every
    tuple does the same. Leaves (weights and inputs) are no members. `signature` describes the operations of one layer
    and what they read; equal signatures mean equal layers.
    """

    kind: str
    layers: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    signature: str

    @property
    def title(self) -> str:
        """`layer 3`, `layers 1–21`, `input`, `output`, `graph`."""
        if self.kind != "layer":
            return self.kind
        if len(self.layers) == 1:
            return f"layer {self.layers[0]}"
        return f"layers {self.layers[0]}–{self.layers[-1]}"


def fold(tables: Tables, graph: int) -> tuple[Block, ...]:
    """The graph's blocks in order of execution; neighbouring layers with equal signature are one block.

    A node whose name contains no layer (such as `node_12`) belongs to the input when it reads no result of a layer,
    to the output when it follows the last layer, else to the last layer before it.
    A graph in which no node names a layer is one block of kind `graph`.
    """
    nodes = tables["graph_nodes"]
    nodes = nodes[(nodes["graph"] == graph).to_numpy()].sort_values("node", kind="stable")
    sources = sources_of(tables, graph)
    place = _places(nodes, sources)
    members: dict[int | str, list[int]] = {}
    for node, where in place.items():
        members.setdefault(where, []).append(node)
    text = _texts(nodes)
    numbers = sorted(where for where in members if isinstance(where, int))
    order: list[int | str] = ["graph", "input", *numbers, "output"]
    return _joined([(where, members[where]) for where in order if where in members], sources, place, text)


def sources_of(tables: Tables, graph: int) -> dict[int, list[int]]:
    """The nodes that each node of the graph reads, in order of its operands; nodes that read none are left out."""
    edges = tables["graph_edges"]
    edges = edges[(edges["graph"] == graph).to_numpy(bool)].sort_values(["target", "slot"])
    read = edges.groupby("target")["source"].agg(list)
    return dict(zip(read.index.tolist(), read, strict=True))


def _places(nodes: pd.DataFrame, sources: dict[int, list[int]]) -> dict[int, int | str]:
    """The block of each node that is not a leaf: a layer's number, `input`, `output` or `graph`."""
    ops = nodes[(nodes["kind"] != "leaf").to_numpy()]
    unnamed = ops["name"].str.fullmatch(r"node_\d+").to_numpy(bool)
    named = {
        int(n): None if pd.isna(x) else int(x) for n, x in zip(ops["node"], ops["layer"].mask(unnamed), strict=True)
    }
    layered = [node for node, layer in named.items() if layer is not None]
    last = max(layered, default=-1)
    below: set[int] = set()
    place: dict[int, int | str] = {}
    current: int | None = None
    for node, layer in named.items():
        leads = layer is not None or any(source in below for source in sources.get(node, ()))
        if leads:
            below.add(node)
        if layer is not None:
            current = layer
        if last < 0:
            place[node] = "graph"
        elif not leads:
            place[node] = "input"
        elif layer is None and (node > last or current is None):
            place[node] = "output"
        else:
            place[node] = layer if layer is not None else int(current or 0)
    return place


def _texts(nodes: pd.DataFrame) -> dict[int, str]:
    """What a node does, without sizes, dtypes and its layer's number."""
    texts = {}
    columns = (nodes[column] for column in ("node", "kind", "op", "component", "name"))
    for node, kind, op, component, name in zip(*columns, strict=True):
        plain = re.sub(r"(?<=blk\.)\d+|(?<=_l)\d+|-\d+|(?<=node_)\d+|(?<=leaf_)\d+", "#", str(name))
        texts[int(node)] = f"{kind}|{op}|{component}|{plain}"
    return texts


def _joined(
    parts: list[tuple[int | str, list[int]]],
    sources: dict[int, list[int]],
    place: dict[int, int | str],
    text: dict[int, str],
) -> tuple[Block, ...]:
    """The blocks, with neighbouring equal layers joined.

    In a signature a source outside the layer stands as its text if it is a leaf or other blocks read it too, else as
    `before`.
    """
    readers: dict[int, set[int | str]] = {}
    for target, where in place.items():
        for source in sources.get(target, ()):
            readers.setdefault(source, set()).add(where)
    blocks: list[Block] = []
    for where, nodes in parts:
        positions = {node: position for position, node in enumerate(nodes)}
        lines = []
        for node in nodes:
            reads = [
                f"@{positions[s]}" if s in positions else text[s] if s not in place or len(readers[s]) > 1 else "before"
                for s in sources.get(node, ())
            ]
            lines.append(f"{text[node]} <- {'; '.join(reads)}")
        signature = "\n".join(lines)
        kind = "layer" if isinstance(where, int) else where
        layers = (where,) if isinstance(where, int) else ()
        before = blocks[-1] if blocks else None
        if before and before.kind == kind == "layer" and before.signature == signature:
            blocks[-1] = Block(kind, before.layers + layers, (*before.members, tuple(nodes)), signature)
        else:
            blocks.append(Block(kind, layers, (tuple(nodes),), signature))
    return tuple(blocks)
