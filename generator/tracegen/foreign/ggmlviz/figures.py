"""The figures of the known faults of a `.ggmlviz` trace; `faults.txt` says what they mean."""

import numpy as np

from tracegen.foreign.faults import Figures
from tracegen.foreign.ggmlviz.events import LONGEST_LABEL
from tracegen.foreign.ggmlviz.findings import Found
from tracegen.foreign.op_numbers import NOOPS


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
