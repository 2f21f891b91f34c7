"""The table `buffers`: live memory is the set of live pointers, and a pointer that is allocated again is replaced."""

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.contract.model import Check
from tracegen.contract.naming import layer_of
from tracegen.foreign.faults import checks_of
from tracegen.foreign.ggmlviz.events import BUFFER_ALLOC, BUFFER_FREE, MEMORY, TENSOR_ALLOC, TENSOR_FREE, VizEvents


def buffers_of(events: VizEvents, dialect: str) -> tuple[pd.DataFrame, tuple[Check, ...]]:
    """The table and its checks, none where no allocation was recorded.

    Buffers are those of backends where they are recorded, otherwise the tensors that were allocated: tensors lie in
    backend buffers, so that their bytes would count twice.
    """
    of_tensors = np.flatnonzero((events.type == TENSOR_ALLOC) | (events.type == TENSOR_FREE))
    of_backends = of_tensors[:0]
    if dialect == MEMORY:
        of_backends = np.flatnonzero((events.type == BUFFER_ALLOC) | (events.type == BUFFER_FREE))
    at = of_backends if len(of_backends) else of_tensors
    at = at[np.argsort(events.pointer[at], kind="stable")]
    is_alloc = (events.type[at] == TENSOR_ALLOC) | (events.type[at] == BUFFER_ALLOC)
    pointer = events.pointer[at]
    same = np.zeros(len(at) + 1, bool)  # whether an event is about the same pointer as the one before
    same[1:-1] = pointer[1:] == pointer[:-1]
    follows_alloc = same[:-1] & np.concatenate([[False], is_alloc[:-1]])
    allocs = np.flatnonzero(is_alloc)
    ended = same[allocs + 1]
    ends = np.where(ended, at[np.where(ended, allocs + 1, 0)], -1)
    table = _table(events, at[allocs], ends)
    if not len(at):
        return table, ()
    balance = {
        "allocated": len(allocs),
        "freed": len(at) - len(allocs),
        "uneven": 2 * len(allocs) != len(at),
        "unknown_frees": int((~is_alloc & ~follows_alloc).sum()),
        "replaced": int((is_alloc & follows_alloc).sum()),
        "never_freed": int((~ended).sum()),
    }
    whole = {"tensors_too": len(of_tensors) if len(of_backends) else 0, "partial": 0, "only_cache": 0, "is_log": 0}
    return table, checks_of("buffers", balance | whole)


def _table(events: VizEvents, begins: np.ndarray, ends: np.ndarray) -> pd.DataFrame:
    """The table of buffers that begin and end (-1: never) with these events, numbered in the order of their records.

    A pointer tells buffers apart, but not where the bytes lie: of a tensor it is the address of its description.
    """
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], ends[order]
    number = np.arange(len(begins), dtype=np.int32)
    freed = np.flatnonzero(ends >= 0)
    at = np.concatenate([begins, ends[freed]])
    buffer = np.concatenate([number, number[freed]])
    is_free = np.arange(len(at)) >= len(begins)
    rows = np.lexsort((~is_free, at, events.time_ns[at]))
    label = events.label[begins[buffer]][rows]
    layers = [layer_of(text) for text in events.labels] if len(at) else []
    layer = np.array([-1 if known is None else known for known in [*layers, None]], np.int32)[label]
    return contract.frame(
        "buffers",
        {
            "time_ns": events.time_ns[at][rows],
            "event": contract.coded("buffers", "event", is_free[rows].astype(np.int8)),
            "buffer_id": buffer[rows],
            "name": np.array([*events.labels, None], object)[label],
            "layer": nullable(layer),
            "size_bytes": events.size[begins[buffer]][rows],
        },
    )
