"""The tables `graphs` and `graph_nodes`: passes with the same sequence of operations share a graph."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable, repeated
from tracegen.contract.naming import places_of
from tracegen.foreign.op_numbers import NOOPS

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
    placed: dict[int, _Topology] = {}
    for (number, _), i in zip(graphs, firsts, strict=True):
        if number not in placed:
            placed[number] = _topology(nodes, *_range(nodes, i))
    topology_of = [placed[number] for number, _ in graphs]
    columns = {
        "graph": np.arange(len(firsts), dtype=np.int32),
        "topology": np.array([topology.hash for topology in topology_of], object),
        "n_nodes": np.array([len(topology.layer) for topology in topology_of], np.int32),
    }
    tables = {
        "graphs": contract.frame("graphs", columns),
        "graph_nodes": _graph_nodes(nodes, topology_of, firsts),
    }
    return tables, of_pass


def _digest(*columns: np.ndarray) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.digest()


def _range(nodes: Nodes, index: int) -> tuple[int, int]:
    return int(nodes.begin[index]), int(nodes.begin[index + 1])


@dataclass(frozen=True)
class _Topology:
    """A sequence of named operations: its hash, and layer (-1: none) and component (code) of each node."""

    hash: str
    layer: np.ndarray
    component: np.ndarray


def _topology(nodes: Nodes, begin: int, end: int) -> _Topology:
    """The topology whose nodes are these rows; no operands are recorded, so that name and operation alone tell."""
    ops = [nodes.op_names[code] for code in nodes.op[begin:end].tolist()]
    names = [nodes.labels[code] if code >= 0 else "" for code in nodes.label[begin:end].tolist()]
    digest = hashlib.sha256(str(len(ops)).encode())
    for texts in (ops, names):
        digest.update("\0".join(texts).encode())
    places = places_of(ops, names, [()] * len(ops), len(ops))
    layer = np.array([-1 if layer is None else layer for layer, _ in places], np.int32)
    component = np.array([_COMPONENT[component] for _, component in places], np.int8)
    return _Topology(digest.hexdigest()[:16], layer, component)


def _graph_nodes(nodes: Nodes, topologies: list[_Topology], firsts: list[int]) -> pd.DataFrame:
    if not firsts:
        return contract.frame("graph_nodes")
    ranges = [_range(nodes, first) for first in firsts]
    graph, node = repeated(np.array([end - begin for begin, end in ranges]))
    rows = np.concatenate([np.arange(begin, end) for begin, end in ranges])
    label, op = nodes.label[rows], nodes.op[rows].astype(np.int64)
    layer = np.concatenate([topology.layer for topology in topologies])
    component = np.concatenate([topology.component for topology in topologies])
    n = len(rows)
    columns: Mapping[str, object] = {
        "graph": graph.astype(np.int32),
        "node": node.astype(np.int32),
        "kind": contract.coded("graph_nodes", "kind", nodes.is_noop[op].astype(np.int8)),
        "op": _named(op, nodes.op_names),
        "name": np.array([*nodes.labels, ""], object)[label],
        "layer": nullable(layer),
        "component": contract.coded("graph_nodes", "component", component),
        "size_bytes": nodes.size[rows],
        "compute": np.ones(n, bool),
        "view_offset_bytes": np.zeros(n, np.int64),
    }
    return contract.frame("graph_nodes", columns)


def _named(op: np.ndarray, names: tuple[str, ...]) -> pd.Categorical:
    """The names of operations as a category of those that occur."""
    used, codes = np.unique(op, return_inverse=True)
    return pd.Categorical.from_codes(codes, pd.Index([names[number] for number in used.tolist()]))
