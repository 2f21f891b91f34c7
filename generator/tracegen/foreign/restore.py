"""Restores the tables of a run from a trace of operations and what lies beside it."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.companions import Companions, Weights, weights_of
from tracegen.foreign.distinct import RestoredRun, distinct
from tracegen.foreign.experts import expert_tables
from tracegen.foreign.faults import checks_of
from tracegen.foreign.graphs import Graph, Node
from tracegen.foreign.op_figures import figures_of
from tracegen.foreign.ops import PHASES, OpTrace, fills
from tracegen.foreign.passes import restore_passes
from tracegen.foreign.trace import ForeignTrace


def restore(
    name: str, trace: OpTrace, companions: Companions, *, cut_at: int | None = None, n_later: int = 0
) -> ForeignTrace:
    """The tables and checks of a trace of operations. Raises TraceFormatError when it has no operation.

    `cut_at`: the byte where a record is cut, None: nowhere; `n_later`: records behind the end of the data.
    """
    if not len(trace):
        raise TraceFormatError(f"{name}: holds no operation")
    passes = restore_passes(trace)
    weights, shift = weights_of(companions, _recorded(trace, companions.names()))
    run = distinct(trace, passes, companions, tuple(weights.by_name))
    tables = {"files": weights.files, "tensors": weights.tensors}
    tables["passes"] = _passes(trace, run)
    tables["tensors"] = _typed(tables["tensors"], run.graphs)
    tables |= _graph_tables(run, weights)
    tables["ops"] = _ops(trace, run)
    tables["placements"] = _placements(trace, run, weights, companions)
    if companions.buffers is not None:
        tables["buffers"] = companions.buffers.table
    most = weights.tensors["n_experts"].max()
    tables["touches"], tables["routing"], experts = expert_tables(trace, run, None if pd.isna(most) else int(most))
    figures = figures_of(trace, run, tables, companions, shift, cut_at) | {"later": n_later}
    checks = (*checks_of("operations", figures), *experts, *(companions.buffers.checks if companions.buffers else ()))
    tables = contract.empty() | tables
    facts = {
        "n_records": len(trace),
        "partial_records": passes.partial,
        "n_passes": len(passes.begin),
        "graphs_from": [dump for dump in run.dump if dump is not None],
    }
    return ForeignTrace(trace.format, tables, checks, facts)


def _recorded(trace: OpTrace, listed: Collection[str]) -> dict[str, tuple[int, int]]:
    """Place and size of each weight that the trace says to lie in the file, by its whole name.

    A name that fills its room is whole if it is one of those `listed`.
    """
    known: dict[str, tuple[int, int]] = {}
    for each in trace.described:
        for operand in each.operands:
            whole = not fills(operand.name, trace.room[1]) or operand.name in listed
            if operand.memory == "disk" and operand.place is not None and whole and " (" not in operand.name:
                known[operand.name] = (operand.place, operand.size_bytes)
    return known


def _passes(trace: OpTrace, run: RestoredRun) -> pd.DataFrame:
    """The table `passes`. When a pass ended is not recorded: its last operation has a begin only."""
    passes = run.passes
    n = len(passes.begin)
    tokens, phases = (
        [_one(column[b:e]) for b, e in zip(passes.begin, passes.end, strict=True)]
        for column in (trace.token, trace.phase)
    )
    return contract.frame(
        "passes",
        {
            "pass_id": np.arange(n, dtype=np.int32),
            "kind": pd.Series(passes.kinds, dtype=object),
            "kind_basis": ["inferred" if kind else None for kind in passes.kinds],
            "n_tokens": pd.array(passes.n_tokens, "Int32"),
            "produced_token": pd.array(passes.produced, "Int32"),
            "graph": pd.array(run.graph, "Int32"),
            "placement": pd.array(run.placement, "Int32"),
            "begin_ns": trace.time_ns[passes.begin],
            "claimed_token_id": pd.array([None if token == -1 else token for token in tokens], "Int64"),
            "claimed_phase": [PHASES[phase] if phase is not None and 0 <= phase <= 1 else None for phase in phases],
        },
    )


def _typed(tensors: pd.DataFrame, graphs: Sequence[Graph]) -> pd.DataFrame:
    """The tensors with the types that dumps of graphs give, where their list has none."""
    known = {node.name: node.dtype for graph in graphs for node in graph.nodes if node.kind == "leaf" and node.dtype}
    if not known or not tensors["dtype"].isna().any():
        return tensors
    types = tensors["dtype"].astype(object).where(tensors["dtype"].notna(), tensors["name"].map(known))
    columns = {str(name): list(tensors[name]) for name in tensors.columns}
    return contract.frame("tensors", columns | {"dtype": [None if pd.isna(t) else t for t in types]})


def _one(values: np.ndarray) -> int | None:
    """The value that all have; None where they differ."""
    first = int(values[0])
    return first if (values == first).all() else None


def _graph_tables(run: RestoredRun, weights: Weights) -> dict[str, pd.DataFrame]:
    graphs, nodes, edges = [], [], []
    sizes_and_types = weights.tensors[["ne0", "ne1", "ne2", "ne3", "dtype"]].itertuples(index=False)
    shapes = dict(zip(weights.tensors["name"].astype(str), sizes_and_types, strict=True))
    for number, graph in enumerate(run.graphs):
        graphs.append(
            dict(graph=number, topology=graph.topology, n_nodes=graph.n_nodes, n_leafs=len(graph.nodes) - graph.n_nodes)
        )
        for i, (node, (layer, component)) in enumerate(zip(graph.nodes, graph.places(), strict=True)):
            shape, dtype = node.shape, node.dtype
            if node.kind == "leaf" and node.name in shapes:
                *known, kind = shapes[node.name]
                shape = None if pd.isna(known[0]) else tuple(int(n) for n in known)
                dtype = dtype or (None if pd.isna(kind) else str(kind))
            sizes = (*shape, 1, 1, 1)[:4] if shape is not None else (None,) * 4
            row = dict(graph=number, node=i, kind=node.kind, op=node.op, name=node.name, layer=layer, dtype=dtype)
            row |= dict(component=component, size_bytes=node.size_bytes, compute=True, view_offset_bytes=0)
            nodes.append(row | {f"ne{axis}": size for axis, size in enumerate(sizes)})
            edges += [
                dict(graph=number, source=source, target=i, slot=f"src{slot}")
                for slot, source in sorted(node.operands.items())
                if slot < 10
            ]
    tables = {"graphs": graphs, "graph_nodes": nodes, "graph_edges": edges}
    return {name: contract.frame(name, rows) for name, rows in tables.items()}


def _ops(trace: OpTrace, run: RestoredRun) -> pd.DataFrame:
    """The table `ops`: recorded operations end where the next one begins; views are noop; the others have no state."""
    parts, states, begins, ends = [], [], [], []
    per_graph = [_states(graph) for graph in run.graphs]
    for i, (begin, end) in enumerate(zip(run.passes.begin.tolist(), run.passes.end.tolist(), strict=True)):
        graph, (state, at) = run.graphs[run.graph[i]], per_graph[run.graph[i]]
        time_ns = trace.time_ns[begin:end]
        parts.append(np.full(graph.n_nodes, i, np.int32))
        states.append(state)
        own = np.full(graph.n_nodes, -1, np.int64)
        own[at] = time_ns
        begins.append(own)
        until = np.full(graph.n_nodes, -1, np.int64)
        until[at[:-1]] = time_ns[1:]
        ends.append(until)
    begin_ns, end_ns, state = (np.concatenate(each) for each in (begins, ends, states))
    wrong = (end_ns >= 0) & (end_ns < begin_ns)  # where time runs back no gap is known
    end_ns[wrong] = -1
    n_nodes = [run.graphs[number].n_nodes for number in run.graph]
    return contract.frame(
        "ops",
        {
            "pass_id": np.concatenate(parts),
            "node": np.concatenate([np.arange(n, dtype=np.int32) for n in n_nodes]),
            "state": contract.coded("ops", "state", state),
            "begin_ns": nullable(begin_ns, np.int64),
            "end_ns": nullable(end_ns, np.int64),
            "time_basis": contract.coded("ops", "time_basis", np.where(end_ns >= 0, 1, -1).astype(np.int8)),
        },
    )


def _states(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The code of the state of each node (−1: not recorded), and the nodes of the recorded operations."""
    state = np.full(graph.n_nodes, -1, np.int8)
    noops = [i for i, node in enumerate(graph.nodes[: graph.n_nodes]) if node.kind == "noop"]
    state[noops] = contract.OP_STATES.index("noop")
    at = np.array(graph.at, np.int64)
    state[at] = contract.OP_STATES.index("executed")
    return state, at


def _placements(trace: OpTrace, run: RestoredRun, weights: Weights, companions: Companions) -> pd.DataFrame:
    """The table `placements`: where the operands lay. The place of a result that nothing read is not recorded."""
    rows: list[dict[str, object]] = []
    numbers = companions.buffers.numbers if companions.buffers else {}
    begins = companions.buffers.begins if companions.buffers else {}
    for placement, (example, number) in enumerate(zip(run.example, run.graph_of, strict=True)):
        graph = run.graphs[number]
        ops = trace.description(int(run.passes.begin[example]), int(run.passes.end[example]))
        seen: dict[int, dict[str, object]] = {}
        for sources, each in zip(graph.sources, ops, strict=True):
            for node, operand in zip(sources, each.operands, strict=True):
                if node in seen:
                    continue
                row: dict[str, object] = dict(
                    placement=placement,
                    graph=number,
                    node=node,
                    memory=operand.memory,
                    address=operand.address or None,
                    size_bytes=operand.size_bytes,
                )
                if operand.memory == "disk":
                    row |= _in_file(graph.nodes[node].name, operand.place, weights)
                elif operand.place in numbers:
                    begin = begins.get(operand.place)
                    offset = operand.address - begin if begin is not None else -1
                    inside = 0 <= offset < 1 << 63
                    row |= dict(buffer_id=numbers[operand.place], buffer_offset=offset if inside else None)
                seen[node] = row
        for node, known in enumerate(graph.nodes):
            if node not in seen:
                seen |= _unread(placement, number, node, known, weights)
        rows += [seen[node] for node in sorted(seen)]
    columns = ("placement", "graph", "node", "tensor", "memory", "file", "origin_offset", "buffer_id", "buffer_offset")
    return contract.frame(
        "placements", {name: [row.get(name) for row in rows] for name in (*columns, "address", "size_bytes")}
    )


def _unread(placement: int, graph: int, node: int, known: Node, weights: Weights) -> dict[int, dict[str, object]]:
    """The place of a node that no recorded operand names: a result lies in some buffer, as nothing writes to the file.

    A weight that only a dump knows as an operand has a tensor and its place in the file; in which memory it lay then is
    not recorded.
    """
    about: dict[str, object] = dict(placement=placement, graph=graph, node=node, size_bytes=known.size_bytes)
    if known.kind == "op":
        return {node: about | dict(memory="buffer")}
    if known.kind == "leaf" and known.name in weights.by_name:
        size = weights.by_name[known.name].size_bytes
        return {node: about | dict(size_bytes=size) | _in_file(known.name, None, weights)}
    return {}


def _in_file(name: str, place: int | None, weights: Weights) -> dict[str, object]:
    """Tensor, file and offset of an operand in the file; the file is not known without a list of its tensors."""
    if name in weights.by_name:
        weight = weights.by_name[name]
        return dict(tensor=weight.tensor, file=weight.file, origin_offset=weight.offset)
    if len(weights.files) == 1 and place is not None:
        return dict(file=0, origin_offset=place, tensor=weights.holding(place))
    return dict(origin_offset=place)
