"""The tables `graphs` and `graph_nodes`: passes with the same sequence of operations share a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.naming import Place, place_of, settle_layers
from tracegen.readers.foreign.op_numbers import NOOPS

_COMPONENT = {component: code for code, component in enumerate(contract.COMPONENTS)}


@dataclass(frozen=True)
class Nodes:
    """What is static about the operations of all passes, by pass: number of the operation, label (-1: none), size.

    `begin` is the first row of each pass, with the number of rows at the end. `op_names` and `labels` are what numbers
    of operations and labels mean.
    """

    op: np.ndarray
    label: np.ndarray
    size: np.ndarray
    begin: np.ndarray
    op_names: tuple[str, ...]
    labels: tuple[str, ...]

    @cached_property
    def is_noop(self) -> np.ndarray:
        """By number of an operation: whether it computes nothing."""
        return np.array([name in NOOPS for name in self.op_names], bool)


def graph_tables(nodes: Nodes) -> tuple[dict[str, pd.DataFrame], np.ndarray]:
    """The tables, with graphs in the order in which they first ran, and the graph of each pass (-1: none)."""
    topologies: dict[bytes, int] = {}
    graphs: dict[tuple[int, bytes], int] = {}
    firsts: list[int] = []  # the first pass of each graph
    of_pass = np.full(len(nodes.begin) - 1, -1, np.int32)
    for i, (begin, end) in enumerate(zip(nodes.begin[:-1].tolist(), nodes.begin[1:].tolist(), strict=True)):
        if begin == end:
            continue
        topology = topologies.setdefault(_digest(nodes.op[begin:end], nodes.label[begin:end]), len(topologies))
        of_pass[i] = graphs.setdefault((topology, _digest(nodes.size[begin:end])), len(graphs))
        if of_pass[i] == len(firsts):
            firsts.append(i)
    placed = _Places(nodes)
    topology_of = [topology for topology, _ in graphs]
    hashes = [placed.topology(topology, *_range(nodes, i)) for topology, i in zip(topology_of, firsts, strict=True)]
    columns = {
        "graph": np.arange(len(firsts), dtype=np.int32),
        "topology": np.array(hashes, object),
        "n_nodes": np.array([placed.n[topology] for topology in topology_of], np.int32),
    }
    tables = {
        "graphs": contract.frame("graphs", columns),
        "graph_nodes": _graph_nodes(nodes, placed, topology_of, firsts),
    }
    return tables, of_pass


def _digest(*columns: np.ndarray) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.digest()


def _range(nodes: Nodes, index: int) -> tuple[int, int]:
    return int(nodes.begin[index]), int(nodes.begin[index + 1])


class _Places:
    """Layer (-1: none) and component of the nodes of each topology, which are found once."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._of_node: dict[tuple[int, int], Place] = {}
        self._hash: dict[int, str] = {}
        self.n: dict[int, int] = {}
        self.layer: dict[int, np.ndarray] = {}
        self.component: dict[int, np.ndarray] = {}

    def topology(self, number: int, begin: int, end: int) -> str:
        """The hash of the topology whose nodes are these rows; their places are found with it."""
        if number not in self._hash:
            op, label = self._nodes.op[begin:end].tolist(), self._nodes.label[begin:end].tolist()
            ops = [self._nodes.op_names[code] for code in op]
            names = [self._nodes.labels[code] if code >= 0 else "" for code in label]
            digest = hashlib.sha256(str(len(ops)).encode())
            for texts in (ops, names):
                digest.update("\0".join(texts).encode())
            self._hash[number], self.n[number] = digest.hexdigest()[:16], len(ops)
            places = [self._place(*row) for row in zip(op, label, ops, names, strict=True)]
            layers = settle_layers(names, [layer for layer, _ in places])
            self.layer[number] = np.array([-1 if layer is None else layer for layer in layers], np.int32)
            self.component[number] = np.array([_COMPONENT[component] for _, component in places], np.int8)
        return self._hash[number]

    def _place(self, op: int, label: int, op_name: str, name: str) -> Place:
        """Layer and component of a node by name and operation alone, as no operands are recorded."""
        if (op, label) not in self._of_node:
            self._of_node[op, label] = place_of(op_name, name, ())
        return self._of_node[op, label]


def _graph_nodes(nodes: Nodes, placed: _Places, topologies: list[int], firsts: list[int]) -> pd.DataFrame:
    if not firsts:
        return contract.frame("graph_nodes")
    ranges = [_range(nodes, first) for first in firsts]
    sizes = np.array([end - begin for begin, end in ranges])
    rows = np.concatenate([np.arange(begin, end) for begin, end in ranges])
    label, op = nodes.label[rows], nodes.op[rows].astype(np.int64)
    layer = np.concatenate([placed.layer[topology] for topology in topologies])
    component = np.concatenate([placed.component[topology] for topology in topologies])
    n = len(rows)
    columns: Mapping[str, object] = {
        "graph": np.repeat(np.arange(len(firsts), dtype=np.int32), sizes),
        "node": (np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(np.int32),
        "kind": contract.coded("graph_nodes", "kind", nodes.is_noop[op].astype(np.int8)),
        "op": _named(op, nodes.op_names),
        "name": np.array([*nodes.labels, ""], object)[label],
        "layer": pd.arrays.IntegerArray(layer, layer < 0),
        "component": contract.coded("graph_nodes", "component", component),
        "size_bytes": pd.arrays.IntegerArray(nodes.size[rows], np.zeros(n, bool)),
        "compute": np.ones(n, bool),
        "view_offset_bytes": np.zeros(n, np.int64),
    }
    return contract.frame("graph_nodes", columns)


def _named(op: np.ndarray, names: tuple[str, ...]) -> pd.Categorical:
    """The names of operations as a category of those that occur."""
    used, codes = np.unique(op, return_inverse=True)
    return pd.Categorical.from_codes(codes, pd.Index([names[number] for number in used.tolist()]))
