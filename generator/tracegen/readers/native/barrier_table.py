"""Waits of threads at barriers inside operations: when each began, and how long it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.clock import Clock
from tracegen.readers.native.fault_table import BARRIER, read_parts
from tracegen.readers.native.recorded import UNKNOWN, Compute
from tracegen.readers.native.segments import Segment


def barrier_table(
    segments: Sequence[Segment], computes: Mapping[int, Compute], pass_ids: Mapping[int, int], clock: Clock
) -> pd.DataFrame:
    """The table `barriers`, from the segments of page faults; `pass_ids` maps the tracer's pass numbers.

    Raises TraceFormatError naming segment and record, or the compute that the main segment lacks.
    """
    raw, parts = read_parts(segments)
    chosen = raw["kind"] == BARRIER
    raw, parts = raw[chosen], parts[chosen]
    pass_id, node = _places(parts["address"], raw["address"], computes, pass_ids)
    begin = raw["begin_ns"].astype(np.int64)
    begin_ns, end_ns = clock.ns_of(begin), clock.ns_of(begin + raw["took_ns"].astype(np.int64))
    thread = np.minimum(parts["took_ns"], np.uint64(1 << 30)).astype(np.int64)
    order = np.lexsort((begin_ns, thread, node, pass_id))
    key = np.stack([pass_id, node, thread], axis=1)[order]
    opens = np.flatnonzero(np.any(np.diff(key, axis=0, prepend=-1) != 0, axis=1))
    number = np.arange(len(order)) - np.repeat(opens, np.diff(opens, append=len(order)))
    columns = {
        **{name: key[:, i].astype(np.int32) for i, name in enumerate(("pass_id", "node", "thread"))},
        "barrier": number.astype(np.int32),
        "begin_ns": begin_ns[order],
        "duration_ns": (end_ns - begin_ns)[order],
    }
    return contract.frame("barriers", columns)


def _places(
    compute: np.ndarray, node: np.ndarray, computes: Mapping[int, Compute], pass_ids: Mapping[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """pass_id and node in the graph of each wait, from its compute and its node within that."""
    numbers, at = np.unique(compute, return_inverse=True)
    at = at.reshape(-1)
    pass_id, placed = np.zeros(len(compute), np.int64), np.zeros(len(compute), np.int64)
    for i, number in enumerate(numbers.tolist()):
        rows = at == i
        if number == UNKNOWN:
            raise TraceFormatError("a wait belongs to no compute; the trace was changed")
        if number not in computes:
            raise TraceFormatError(f"a wait belongs to compute {number}, which the main segment does not know")
        nodes = computes[number].nodes
        if int(node[rows].max()) >= len(nodes):
            raise TraceFormatError(
                f"a wait belongs to node {node[rows].max()} of compute {number}, which has {len(nodes)} nodes"
            )
        pass_id[rows] = pass_ids[computes[number].pass_number]
        placed[rows] = nodes[node[rows].astype(np.int64)]
    if (placed < 0).any():
        raise TraceFormatError("a wait belongs to a node that its graph lacks; the trace was changed")
    return pass_id, placed
