"""What is found in the events of a trace before tables are made of it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract.model import Check
from tracegen.foreign.ggmlviz.buffer_table import buffers_of
from tracegen.foreign.ggmlviz.dialects import dialect_of
from tracegen.foreign.ggmlviz.events import OP_BEGIN, OP_END, VizEvents
from tracegen.foreign.ggmlviz.graphs import GraphRecords, graph_records, kept_operations
from tracegen.foreign.ggmlviz.operations import VizOperations, operations_of
from tracegen.foreign.op_names import OpTable, table_of


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
