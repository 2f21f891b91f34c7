"""What is found in the events of a trace before tables are made of it, and the figures of its faults (`faults.txt`)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract.model import Check
from tracegen.foreign.faults import Figures
from tracegen.foreign.ggmlviz.buffer_table import buffers_of
from tracegen.foreign.ggmlviz.events import LONGEST_LABEL, OP_BEGIN, OP_END, VizEvents, dialect_of
from tracegen.foreign.ggmlviz.graphs import GraphRecords, graph_records, kept_operations
from tracegen.foreign.ggmlviz.operations import VizOperations, operations_of
from tracegen.foreign.op_names import OpTable, table_of
from tracegen.foreign.op_numbers import NOOPS


@dataclass(frozen=True)
class Found:
    """What was found in a trace, for its tables, checks and facts.

    `passes` holds the number of each pass's graph record, in the order of their begins in time. `n_outside` counts
    records of operations that lie in no graph.
    """

    events: VizEvents
    dialect: str
    graphs: GraphRecords
    passes: np.ndarray
    operations: VizOperations
    n_outside: int
    op_table: OpTable | None
    wanted: bool
    buffers: pd.DataFrame
    buffer_checks: tuple[Check, ...]


def find(name: str, events: VizEvents, op_table: str | None) -> Found:
    """Read the events of the file `name`. Raises TraceFormatError where dialect or table of operations is undecided."""
    dialect = dialect_of(name, events)
    table = _op_table(name, events, op_table)
    graphs = graph_records(events)
    roots = np.flatnonzero(graphs.depth == 0)
    passes = roots[np.argsort(events.time_ns[graphs.begin[roots]], kind="stable")]
    pass_of_root = np.full(len(graphs.begin), -1, np.int32)
    pass_of_root[passes] = np.arange(len(passes), dtype=np.int32)
    at, root, n_outside = kept_operations(events, graphs)
    operations = operations_of(events, at, pass_of_root[root])
    wanted = op_table is not None
    return Found(events, dialect, graphs, passes, operations, n_outside, table, wanted, *buffers_of(events, dialect))


def _op_table(name: str, events: VizEvents, wanted: str | None) -> OpTable | None:
    """The table that names the operations; None when there are none."""
    at = np.flatnonzero((events.type == OP_BEGIN) | (events.type == OP_END))
    if not len(at):
        return None
    numbers, first = np.unique(events.op[at], return_index=True)
    bytes_of = dict(zip(numbers.tolist(), events.offset[at[first]].tolist(), strict=True))
    at = at[events.label[at] >= 0]
    pairs = np.unique(events.label[at].astype(np.int64) << 32 | events.op[at]).tolist()
    labelled = [(events.labels[pair >> 32], pair & 0xFFFFFFFF) for pair in pairs]
    return table_of(name, labelled, bytes_of, wanted)


def figures_of(of: Found) -> Figures:
    """All figures of a trace."""
    events, graphs = of.events, of.graphs
    return {
        "cut_at": events.truncated_at or 0,
        "n_left": events.n_left,
        "unended": int((graphs.end < 0).sum()),
        "zero": int((events.time_ns == 0).sum()),
        "back": _steps_back(of),
        "n_graphs": len(graphs.begin),
        "n_passes": len(of.passes),
        "levels": _levels(of),
        **_nodes(of),
        **_op_times(of),
        **_names_of_operations(of),
        "full_names": events.n_full,
        "longest_name": LONGEST_LABEL,
    }


def _steps_back(of: Found) -> int:
    order = np.argsort(of.events.thread, kind="stable")
    time, thread = of.events.time_ns[order], of.events.thread[order]
    return int(((time[1:] < time[:-1]) & (thread[1:] == thread[:-1])).sum())


def _levels(of: Found) -> str:
    """At how many levels the graph of each pass was recorded; empty: at one."""
    if len(of.graphs.begin) == len(of.passes):
        return ""
    deepest = np.zeros(len(of.graphs.begin), np.int64)
    np.maximum.at(deepest, of.graphs.root, of.graphs.depth + 1)
    low, high = int(deepest[of.passes].min()), int(deepest[of.passes].max())
    return f"{high}" if low == high else f"{low} to {high}"


def _nodes(of: Found) -> Figures:
    """The graphs say how many nodes they have: each is recorded, with an end unless it computes nothing."""
    operations = of.operations
    claimed = of.events.n_nodes[of.graphs.begin[of.passes]].astype(np.int64)
    recorded = np.bincount(operations.pass_id, minlength=len(claimed))
    noop = [number for number, name in enumerate(of.op_table.names) if name in NOOPS] if of.op_table else []
    unended = int(((operations.end < 0) & ~np.isin(of.events.op[operations.begin], noop)).sum())
    wrong = {
        "uneven": int((recorded != claimed).sum()),
        "unended_ops": unended,
        "unopened_ops": operations.n_unopened,
        "unopened": of.graphs.n_unopened,
        "outside": of.n_outside,
    }
    n_nodes, n_ended = int(claimed.sum()), int(recorded.sum()) - unended
    return {**wrong, "unaccounted": not n_nodes or any(wrong.values()), "n_nodes": n_nodes, "n_ended": n_ended}


def _op_times(of: Found) -> Figures:
    """How many operations have a time of their own, and these times as a part of those of their graphs."""
    operations, times = of.operations, of.events.time_ns
    begin, end = of.graphs.begin[of.passes], of.graphs.end[of.passes]
    ended = end >= 0
    counted = operations.measured & ended[operations.pass_id]
    op_ns = (times[operations.end[counted]] - times[operations.begin[counted]]).sum(dtype=float)
    graph_ns = (times[end[ended]] - times[begin[ended]]).sum(dtype=float)
    n, n_measured, overlapping = len(operations.begin), int(operations.measured.sum()), operations.n_overlapping
    batched = operations.n_batched == operations.n_passes
    return {
        "n_ops": n,
        "no_op": n == 0,
        "measured": n_measured,
        "untimed": n - n_measured,
        "op_ms": f"{op_ns / 1e6:.2f}",
        "graph_ms": f"{graph_ns / 1e6:.2f}",
        "overlapping": overlapping,
        "batched": batched,
        "some_overlap": 0 if batched else overlapping,
        "n_passes_with_ops": operations.n_passes,
    }


def _names_of_operations(of: Found) -> Figures:
    """The table of operations and how it was chosen, and the names of the first operations of passes."""
    table = of.op_table
    first = np.unique(of.operations.pass_id, return_index=True)[1]
    numbers = np.unique(of.events.op[of.operations.begin[first]]).tolist() if table else []
    names = sorted(table.names[number] for number in numbers) if table else []
    return {
        "table": table.found if table else "",
        "inferred": table is not None and not of.wanted,
        "undecided": table is not None and not table.deciding,
        "contradicted": table is not None and table.agreeing != table.deciding,
        "first": ", ".join(names),
        "looks_up": names == ["GET_ROWS"],
    }
