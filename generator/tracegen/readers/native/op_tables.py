"""The tables `spans` (one row per op and thread) and `ops` (one row per node of each pass)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.readers.native.events import Spans
from tracegen.readers.native.recorded import Pass, Records
from tracegen.readers.native.split_tables import CPU, elsewhere

_STATE: Mapping[str | None, int] = {None: -1, **{state: code for code, state in enumerate(contract.OP_STATES)}}


def span_table(spans: Spans, fault_ns: np.ndarray | None, preempted_ns: np.ndarray | None) -> pd.DataFrame:
    """The table `spans`; it shares the memory of `spans`. The others of each span; None: they were not recorded."""
    names = ("pass_id", "node", "thread", "begin_ns", "work_ns", "barrier_ns", "wait_ns")
    columns = {name: getattr(spans, name) for name in names}
    for name, values in (("fault_ns", fault_ns), ("preempted_ns", preempted_ns)):
        if values is not None:
            columns[name] = pd.arrays.IntegerArray(values, np.zeros(len(values), bool))
    return contract.frame("spans", columns)


def op_table(records: Records, spans: Spans, ordered: Sequence[Pass]) -> tuple[pd.DataFrame, int]:
    """The table `ops`, and how many ops lack the span of a thread.

    `ordered`: loads and passes by pass_id. Each column is built alone, in the type that is
    stored: an extra column of 64 bits takes as much memory as a fifth of the table.
    """
    rows, first_row = _op_rows(records, ordered)
    n = len(rows["node"])
    new_node = np.ones(len(spans.node), bool)
    new_node[1:] = (spans.pass_id[1:] != spans.pass_id[:-1]) | (spans.node[1:] != spans.node[:-1])
    first = np.flatnonzero(new_node)  # first span of each op that ran
    at = first_row[spans.pass_id[first]] + spans.node[first]
    n_threads = np.diff(first, append=len(new_node))
    ran = np.zeros(n, bool)
    ran[at] = True
    fused_into = _fused(spans, first_row, n)
    is_fused = fused_into >= 0
    state = np.full(n, _STATE[None], np.int8)
    computes, empty = rows.pop("computes"), rows.pop("empty")
    state[computes == 0] = _STATE["noop"]
    state[computes == 2] = _STATE["off"]
    off_cpu = elsewhere(records, first_row, computes)
    done = ran.copy()
    done[off_cpu.at] = True
    state[done] = np.where(empty[done], _STATE["empty"], _STATE["executed"])
    state[is_fused] = _STATE["fused"]
    begin_ns = end_ns = np.zeros(0, np.int64)
    if len(first):
        begin_ns = np.minimum.reduceat(spans.begin_ns, first)
        end_ns = spans.begin_ns + spans.work_ns
        end_ns += spans.barrier_ns
        end_ns = np.maximum.reduceat(end_ns, first)
    backend = np.where(ran | is_fused, np.int8(0), np.int8(-1))
    split, basis = np.zeros(n, np.int32), np.where(ran, np.int8(0), np.int8(2))
    split[at] = spans.split[first]
    untimed = np.flatnonzero(~ran[off_cpu.at])  # those without a span
    backend[off_cpu.at[untimed]], split[off_cpu.at[untimed]] = off_cpu.backend[untimed] + 1, off_cpu.split[untimed]
    basis[off_cpu.at[untimed]] = 3
    columns = {
        **rows,
        "state": contract.coded("ops", "state", state),
        "fused_into": pd.arrays.IntegerArray(np.where(is_fused, fused_into, 0), ~is_fused),
        "backend": pd.Categorical.from_codes(backend, pd.Index([CPU, *off_cpu.names])),
        "split": pd.arrays.IntegerArray(split, ~done),
        "n_threads": _column_at(at, n_threads.astype(np.int32), ran),
        "begin_ns": _column_at(at, begin_ns, ran),
        "end_ns": _column_at(at, end_ns, ran),
        "time_basis": contract.coded("ops", "time_basis", basis),
    }
    return contract.frame("ops", columns), int((n_threads != spans.pool[first]).sum())


def _op_rows(records: Records, ordered: Sequence[Pass]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns that passes and graphs give, one row per node of each pass; and the first row of each pass.

    Columns: pass_id and node (int32), computes (uint8), empty (bool).
    """
    static = {
        graph: (
            np.arange(n_nodes, dtype=np.int32),
            raw["computes"][:n_nodes].astype(np.uint8),
            (raw["ne"][:n_nodes] == 0).any(axis=1),
        )
        for graph, (n_nodes, raw) in records.graphs.items()
    }
    none = np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, bool)
    parts = [none if p.graph is None else static[p.graph] for p in ordered]
    sizes = np.array([len(node) for node, _, _ in parts], np.int64)
    node, computes, empty = (np.concatenate(column) for column in zip(*[none, *parts], strict=True))
    pass_id = np.repeat(np.arange(len(ordered), dtype=np.int32), sizes)
    rows = {"pass_id": pass_id, "node": node, "computes": computes, "empty": empty}
    return rows, np.cumsum(sizes) - sizes


def _fused(spans: Spans, first_row: np.ndarray, n: int) -> np.ndarray:
    """For each row of the ops table the node into which the op was fused, or -1; int32."""
    fused_into = np.full(n, -1, np.int32)
    fusing = np.flatnonzero(spans.n_fused)
    node, n_fused = spans.node[fusing], spans.n_fused[fusing]
    at = first_row[spans.pass_id[fusing]] + node
    for step in range(1, int(n_fused.max(initial=0)) + 1):
        chosen = n_fused >= step
        fused_into[at[chosen] + step] = node[chosen]
    return fused_into


def _column_at(at: np.ndarray, values: np.ndarray, known: np.ndarray) -> pd.arrays.IntegerArray:
    """A column with `values` in the rows `at` and null elsewhere; `known` is true exactly in those rows."""
    column = np.zeros(len(known), values.dtype)
    column[at] = values
    return pd.arrays.IntegerArray(column, ~known)
