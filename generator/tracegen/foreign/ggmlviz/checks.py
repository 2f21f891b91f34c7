"""The known faults of a `.ggmlviz` trace, each looked for."""

import numpy as np

from tracegen.contract.model import Check
from tracegen.foreign.faults import found
from tracegen.foreign.ggmlviz.events import LONGEST_LABEL
from tracegen.foreign.ggmlviz.findings import Found
from tracegen.foreign.ggmlviz.operations import VizOperations
from tracegen.foreign.op_numbers import NOOPS


def checks_of(of: Found) -> tuple[Check, ...]:
    """What was found for each known fault of this format."""
    checks = (
        _complete(of),
        _zero(of),
        _monotone(of),
        _once(of),
        _nodes(of),
        _op_times(of),
        _op_names(of),
        _first_op(of),
        _kinds(of),
        _names(of),
        *of.buffer_checks,
    )
    return tuple(check for check in checks if check is not None)


def _complete(of: Found) -> Check:
    events, unended = of.events, int((of.graphs.end < 0).sum())
    if events.truncated_at is not None:
        finding = f"cut at byte {events.truncated_at}: {events.n_left} bytes of a record are left over"
        return found("trace_complete", False, finding, _unended(unended))
    return found("trace_complete", not unended, _unended(unended) or "the last record is whole, and each graph ends")


def _unended(n: int) -> str:
    return f"{_counted(n, 'graph record')} without an end" if n else ""


def _zero(of: Found) -> Check:
    n = int((of.events.time_ns == 0).sum())
    return found("zero_records", n == 0, _counted(n, "record") + " with time 0" if n else "0")


def _monotone(of: Found) -> Check:
    order = np.argsort(of.events.thread, kind="stable")
    time, thread = of.events.time_ns[order], of.events.thread[order]
    n = int(((time[1:] < time[:-1]) & (thread[1:] == thread[:-1])).sum())
    return found("monotone_time", n == 0, f"{_counted(n, 'step')} back")


def _once(of: Found) -> Check:
    n, passes = len(of.graphs.begin), len(of.passes)
    if n == passes:
        return found("recorded_once", "passed" if n else "not checked", _counted(n, "graph record"))
    deepest = np.zeros(n, np.int64)
    np.maximum.at(deepest, of.graphs.root, of.graphs.depth + 1)
    levels = deepest[of.passes]
    low, high = int(levels.min()), int(levels.max())
    at = f"{high} nested levels" if low == high else f"{low} to {high} nested levels"
    return found(
        "recorded_once",
        "warning",
        f"{_counted(n, 'graph record')} are {_counted(passes, 'pass', 'passes')}, each recorded at {at}; counted once",
        "the outermost record counts, as it holds the whole graph and all that the others hold; operations are those "
        "of the outermost level that has any",
    )


def _nodes(of: Found) -> Check:
    """The graphs say how many nodes they have: each is recorded, with an end unless it computes nothing."""
    begins = of.graphs.begin[of.passes]
    claimed = of.events.n_nodes[begins].astype(np.int64)
    recorded = np.bincount(of.operations.pass_id, minlength=len(claimed))
    op = of.events.op[of.operations.begin]
    noop = [number for number, name in enumerate(of.op_table.names) if name in NOOPS] if of.op_table else []
    unended = int(((of.operations.end < 0) & ~np.isin(op, noop)).sum())
    total, known = int(claimed.sum()), int(recorded.sum()) - unended
    problems = [
        (
            int((recorded != claimed).sum()),
            "pass with another number of operations than nodes",
            "passes with another number of operations than nodes",
        ),
        (unended, "operation without an end", ""),
        (of.operations.n_unopened, "end of an operation without a begin", "ends of operations without a begin"),
        (of.graphs.n_unopened, "end of a graph without a begin", "ends of graphs without a begin"),
        (of.n_outside, "record of an operation outside all graphs", "records of operations outside all graphs"),
    ]
    detail = "; ".join(_counted(n, *noun) for n, *noun in problems if n)
    return found("nodes_accounted", bool(total) and not detail, f"{known:,} of {total:,}", detail)


def _op_times(of: Found) -> Check:
    operations, times = of.operations, of.events.time_ns
    n, n_measured = len(operations.begin), int(operations.measured.sum())
    if n == 0:
        return found("op_times", "not checked", "no operation was recorded")
    if operations.n_overlapping:
        finding = f"{n_measured:,} of {n:,} operations have times of their own"
        return found("op_times", False, finding, _why_overlapping(operations))
    graph_end = of.graphs.end[of.passes]
    ended = graph_end >= 0
    begin = of.graphs.begin[of.passes]
    graph_ns = (times[graph_end[ended]] - times[begin[ended]]).sum(dtype=float)
    counted = operations.measured & ended[operations.pass_id]
    op_ns = (times[operations.end[counted]] - times[operations.begin[counted]]).sum(dtype=float)
    finding = f"{n_measured:,} operations, {op_ns / 1e6:.2f} of {graph_ns / 1e6:.2f} ms of their graphs"
    missing = n - n_measured
    detail = f"{_counted(missing, 'operation')} without a time of its own" if missing else ""
    return found("op_times", "warning" if missing else "passed", finding, detail)


def _why_overlapping(operations: VizOperations) -> str:
    if operations.n_batched == operations.n_passes:
        return (
            "all operations of a graph begin before the first one ends: the recorder saw the graph's begin and end only"
        )
    return f"in {operations.n_overlapping:,} of {operations.n_passes:,} passes operations begin before others end"


def _op_names(of: Found) -> Check | None:
    table = of.op_table
    if table is None:
        return None
    finding = f"table {table.found}"
    if not of.wanted:
        return found("op_names", True, finding)
    detail = "the table was chosen with --op-table"
    if table.deciding == 0:
        return found("op_names", "warning", finding, detail)
    return found("op_names", table.agreeing == table.deciding, finding, detail)


def _first_op(of: Found) -> Check | None:
    """A pass of a language model begins with GET_ROWS; another graph may not, so this only warns."""
    if of.op_table is None or not len(of.operations.begin):
        return None
    first = np.unique(of.operations.pass_id, return_index=True)[1]
    numbers = np.unique(of.events.op[of.operations.begin[first]]).tolist()
    names = sorted(of.op_table.names[number] for number in numbers)
    wrong = names != ["GET_ROWS"]
    detail = "a graph that is no whole pass of a language model may begin otherwise" if wrong else ""
    return found("first_op", "warning" if wrong else "passed", ", ".join(names), detail)


def _kinds(of: Found) -> Check:
    n = len(of.passes)
    finding, detail = f"0 load, 0 warm-up, {n:,} unknown", "the format does not say what a graph was computed for"
    return found("pass_kinds", "warning" if n else "not checked", finding, detail)


def _names(of: Found) -> Check:
    n = of.events.n_full
    detail = f"a name of {LONGEST_LABEL} bytes may have been cut by ggml" if n else ""
    return found(
        "names_whole", "warning" if n else "passed", _counted(n, "name") + f" of {LONGEST_LABEL} bytes", detail
    )


def _counted(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
