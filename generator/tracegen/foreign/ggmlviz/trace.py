"""Reads a `.ggmlviz` trace: graphs that were computed, their operations, allocations of memory."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.foreign.faults import checks_of
from tracegen.foreign.ggmlviz.events import MAGIC, VERSION, counts_by_type, decode
from tracegen.foreign.ggmlviz.findings import Found, figures_of, find
from tracegen.foreign.sequences import Nodes, graph_tables
from tracegen.foreign.trace import ForeignTrace

_EXECUTED, _NOOP = (contract.OP_STATES.index(state) for state in ("executed", "noop"))


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a `.ggmlviz` trace."""
    return head[: len(MAGIC)] == MAGIC


def read(name: str, data: bytes, *, op_table: str | None = None) -> ForeignTrace:
    """Read a trace; `op_table` is the key of the table of operations to use (default: the one that the names decide).

    A file that was cut is read up to its last whole record, which the check `trace_complete` tells. Raises
    TraceFormatError naming file, offset, what was expected and what was found, SettingsError for an unknown table.
    """
    found = find(name, decode(name, data), op_table)
    checks = (*checks_of("ggmlviz", figures_of(found)), *found.buffer_checks)
    facts, buffers = _facts(found), found.buffers
    nodes, passes = _nodes(found), _passes(found)
    ops = _ops(found, nodes)
    del found  # the events are no longer needed: they are as large as the tables that follow
    graphs, graph = graph_tables(nodes)
    passes["graph"] = nullable(graph)
    tables = contract.empty() | graphs
    tables |= {"passes": contract.frame("passes", passes), "ops": ops, "buffers": buffers}
    return ForeignTrace("ggmlviz", tables, checks, facts)


def _passes(found: Found) -> dict[str, object]:
    """Number, start and end of each pass."""
    time_ns, end = found.events.time_ns, found.graphs.end[found.passes]
    return {
        "pass_id": np.arange(len(found.passes), dtype=np.int32),
        "begin_ns": time_ns[found.graphs.begin[found.passes]],
        "end_ns": nullable(np.where(end >= 0, time_ns[end], -1), np.int64),
    }


def _nodes(found: Found) -> Nodes:
    """What the start of each operation says of its node."""
    events, at = found.events, found.operations.begin
    names = found.op_table.names if found.op_table else ()
    begin = np.searchsorted(found.operations.pass_id, np.arange(len(found.passes) + 1))
    return Nodes(events.op[at], events.label[at], events.size[at], begin, names, events.labels)


def _ops(found: Found, nodes: Nodes) -> pd.DataFrame:
    """The table `ops`: times are null unless the records bracket the operation alone."""
    operations, times = found.operations, found.events.time_ns
    state = np.where(operations.end >= 0, np.int8(_EXECUTED), np.int8(-1))
    if len(state):
        state[nodes.is_noop[nodes.op.astype(np.int64)]] = _NOOP
    n = len(state)
    return contract.frame(
        "ops",
        {
            "pass_id": operations.pass_id.astype(np.int32),
            "node": (np.arange(n) - nodes.begin[operations.pass_id]).astype(np.int32),
            "state": contract.coded("ops", "state", state),
            "begin_ns": nullable(np.where(operations.measured, times[operations.begin], -1), np.int64),
            "end_ns": nullable(np.where(operations.measured, times[operations.end], -1), np.int64),
            "time_basis": contract.coded("ops", "time_basis", np.where(operations.measured, 0, -1)),
        },
    )


def _facts(found: Found) -> Mapping[str, object]:
    """What `run.json` says of the trace; times in ns, threads as ggml-viz hashes them."""
    events, table = found.events, found.op_table
    return {
        "format": "ggmlviz",
        "version": VERSION,
        "dialect": found.dialect,
        "n_events": len(events.type),
        "counts": counts_by_type(events, found.dialect),
        "n_graph_records": len(found.graphs.begin),
        "n_passes": len(found.passes),
        "op_table": None if table is None else table.key,
        "op_table_wanted": found.wanted,
        "thread_hashes": np.unique(events.thread).tolist(),
        "duration_ns": int(events.time_ns.max()) - int(events.time_ns.min()),
        "truncated_at": events.truncated_at,
    }
