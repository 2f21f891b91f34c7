"""Waits of threads at barriers inside operations: when each began, and how long it was."""

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.clock import Clock
from tracegen.readers.native.computes import Computes
from tracegen.readers.native.fault_records import StructRecords


def barrier_table(waits: StructRecords, computes: Computes, clock: Clock) -> pd.DataFrame:
    """The table `barriers`. Raises TraceFormatError for a wait in no compute, or in one that the main segment lacks."""
    if (waits.thread < 0).any():
        raise TraceFormatError("a wait belongs to no compute; the trace was changed")
    of_each = np.arange(len(waits.rows))
    pass_id, node, _ = computes.place("the trace tells of a wait", waits.compute, of_each, waits.rows["node"])
    begin = waits.rows["begin"].astype(np.int64)
    begin_ns, end_ns = clock.ns_of(begin), clock.ns_of(begin + waits.rows["took"].astype(np.int64))
    keys = {"pass_id": pass_id.astype(np.int32), "node": node, "thread": waits.thread.astype(np.int32)}
    table = pd.DataFrame({**keys, "begin_ns": begin_ns, "duration_ns": end_ns - begin_ns})
    table = table.sort_values([*keys, "begin_ns"], ignore_index=True)
    table["barrier"] = table.groupby(list(keys)).cumcount().astype(np.int32)
    return contract.frame("barriers", {name: table[name] for name in table.columns})
