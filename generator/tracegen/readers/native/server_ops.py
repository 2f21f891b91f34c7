"""The table `device_ops` of splits that a server computed over RPC, from the trace of that server.

A server evaluates the nodes of a split as a graph, with the same names. Both traces are of one machine, whose clock
they share: a graph that began and ended within a split, and computes the nodes of it, is that split's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from tracegen.contract import tables as contract

Tables = Mapping[str, pd.DataFrame]
COMPUTED = ("executed", "fused")


def server_ops(tables: Tables, servers: Sequence[Tables]) -> pd.DataFrame:
    """The table for splits of a run, `tables`, by those of the traces of its servers."""
    splits = _splits(tables)
    for server in servers:
        for begin_ns, end_ns, nodes in _graphs(server):
            within = (s for s in splits if s.begin_ns <= begin_ns and end_ns <= s.end_ns and not s.ran)
            of = next((s for s in within if s.names() == _names(nodes)), None)
            if of:
                of.ran = nodes
    rows, parts = [], dict[int, int]()
    for split in sorted(splits, key=lambda s: (s.pass_id, s.split)):
        for row in split.rows():
            parts[split.pass_id] = part = parts.get(split.pass_id, -1) + 1
            rows.append({**row, "part": part})
    return contract.frame("device_ops", rows)


@dataclass
class _Node:
    """A node of a graph that was computed; `end_ns` None: it was fused into one before, or its times are not known."""

    node: int
    op: str
    name: str
    fused: bool
    begin_ns: int | None
    end_ns: int | None


@dataclass
class _Split:
    """A split of the run with its nodes, and the nodes that a server computed for it, if that is known."""

    pass_id: int
    split: int
    backend: str
    begin_ns: int
    end_ns: int
    nodes: Sequence[_Node]
    ran: Sequence[_Node] = field(default_factory=list)

    def names(self) -> list[tuple[str, str]]:
        return _names(self.nodes)

    def rows(self) -> list[dict[str, object]]:
        """What the server ran, as rows of the table but for `part`: a row is one kernel."""
        rows: list[dict[str, object]] = []
        label = ""
        of = dict(pass_id=self.pass_id, split=self.split, device=self.backend, exact=True)
        for own, ran in zip(self.nodes, self.ran, strict=False):
            if ran.fused and rows:
                ops, _, name = label.partition(" ")
                rows[-1]["label"] = label = f"{ops}+{ran.op} {name}"
            elif ran.end_ns is not None:
                label = f"{ran.op} {ran.name}"
                rows.append({**of, "node": own.node, "label": label, "begin_ns": ran.begin_ns, "end_ns": ran.end_ns})
        return rows


def _names(nodes: Sequence[_Node]) -> list[tuple[str, str]]:
    return [(node.op, node.name) for node in nodes]


def _splits(tables: Tables) -> list[_Split]:
    """The splits that other backends took, in order of time."""
    splits = tables["splits"]
    splits = splits[~splits["by_op"].to_numpy(bool)].sort_values("begin_ns")
    nodes = _nodes(tables, ["pass_id", "split"])
    key = ["pass_id", "split", "backend", "begin_ns", "end_ns"]
    return [
        _Split(int(pass_id), int(split), str(backend), int(begin), int(end), nodes.get((pass_id, split), []))
        for pass_id, split, backend, begin, end in splits[key].itertuples(index=False, name=None)
    ]


def _graphs(server: Tables) -> list[tuple[int, int, list[_Node]]]:
    """The begin, the end and the computed nodes of each graph that a server evaluated, in order of time."""
    passes = server["passes"].dropna(subset=["graph", "end_ns"]).sort_values("begin_ns")
    nodes = _nodes(server, ["pass_id"])
    rows = passes[["pass_id", "begin_ns", "end_ns"]].itertuples(index=False, name=None)
    return [(int(begin_ns), int(end_ns), nodes.get((pass_id,), [])) for pass_id, begin_ns, end_ns in rows]


def _nodes(tables: Tables, key: list[str]) -> dict[tuple[int, ...], list[_Node]]:
    """The nodes that were computed, in order, by these columns."""
    ops = tables["ops"][tables["ops"]["state"].isin(COMPUTED).to_numpy(bool)].dropna(subset=key)
    ops = ops.merge(tables["passes"][["pass_id", "graph"]], on="pass_id")
    ops = ops.merge(tables["graph_nodes"][["graph", "node", "op", "name"]], on=["graph", "node"])
    found: dict[tuple[int, ...], list[_Node]] = {}
    for row in ops.sort_values(["pass_id", "node"]).to_dict("records"):
        begin, end = (None if pd.isna(row[name]) else int(row[name]) for name in ("begin_ns", "end_ns"))
        node = _Node(int(row["node"]), str(row["op"]), str(row["name"]), row["state"] == "fused", begin, end)
        found.setdefault(tuple(int(row[name]) for name in key), []).append(node)
    return found
