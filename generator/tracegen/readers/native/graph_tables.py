"""The tables `graphs`, `graph_nodes` and `graph_edges` from the graphs of a native trace."""

import hashlib

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.naming import places_of
from tracegen.readers.native.recorded import NONE, Records

_KINDS = np.array(["noop", "op", "op"], object)  # by `computes`: 0 noop, 1 op, 2 op that is off


def graph_tables(records: Records) -> dict[str, pd.DataFrame]:
    """The three tables of all graphs, in the order in which they first ran."""
    graphs, nodes, edges = [], [], []
    for graph, (n_nodes, raw) in sorted(records.graphs.items()):
        graphs.append(
            dict(graph=graph, topology=_topology(n_nodes, raw, records), n_nodes=n_nodes, n_leafs=len(raw) - n_nodes)
        )
        nodes.append(_nodes(graph, n_nodes, raw, records))
        edges.append(_edges(graph, n_nodes, raw))
    return {
        "graphs": contract.frame("graphs", graphs),
        "graph_nodes": contract.frame("graph_nodes", _joined(nodes)),
        "graph_edges": contract.frame("graph_edges", _joined(edges)),
    }


def _joined(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """One array per column: joining pandas columns would take minutes for thousands of graphs."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def _topology(n_nodes: int, raw: np.ndarray, records: Records) -> str:
    """Hash of the operations, types, operands and names of a graph, without its sizes."""
    digest = hashlib.sha256(str(n_nodes).encode())
    for column in ("op", "name", "dtype"):
        texts = [records.strings[int(number)] for number in raw[column]]
        digest.update("\0".join(texts).encode())
    for column in ("src", "view_of", "computes"):
        digest.update(np.ascontiguousarray(raw[column]).tobytes())
    return digest.hexdigest()[:16]


def _nodes(graph: int, n_nodes: int, raw: np.ndarray, records: Records) -> dict[str, np.ndarray]:
    n = len(raw)
    names = [records.strings[int(number)] for number in raw["name"]]
    is_leaf = np.arange(n) >= n_nodes
    op = [records.strings[int(number)] for number in raw["op"]]
    operands = [[source for source in row if source != NONE] for row in raw["src"].tolist()]
    places = places_of(op, names, operands, n_nodes)
    view_of = raw["view_of"].astype(object)
    view_of[raw["view_of"] == NONE] = None
    return {
        "graph": np.full(n, graph),
        "node": np.arange(n),
        "kind": np.where(is_leaf, "leaf", _KINDS[np.minimum(raw["computes"], 2)]),
        "op": np.array(op, object),
        "name": np.array(names, object),
        "layer": np.array([layer for layer, _ in places], object),
        "component": np.array([component for _, component in places], object),
        "dtype": np.array([records.strings[int(number)].upper() for number in raw["dtype"]], object),
        **{f"ne{i}": raw["ne"][:, i].astype(np.int64) for i in range(4)},
        **{f"nb{i}": raw["nb"][:, i].astype(np.int64) for i in range(4)},
        "size_bytes": raw["size_bytes"].astype(np.int64),
        "op_params": np.array([_params(row) for row in raw["op_params"]], object),
        "compute": raw["computes"] != 2,
        "view_of": view_of,
        "view_offset_bytes": raw["view_offset"].astype(np.int64),
    }


def _params(row: np.ndarray) -> str:
    return bytes(row.astype("<u4").tobytes()).rstrip(b"\0").hex()


def _edges(graph: int, n_nodes: int, raw: np.ndarray) -> dict[str, np.ndarray]:
    target, slot = np.nonzero(raw["src"] != NONE)
    source = raw["src"][target, slot].astype(np.int64)
    return {
        "graph": np.full(len(target), graph),
        "source": source,
        "target": target,
        "slot": np.array([f"src{i}" for i in range(10)], object)[slot],
    }
