"""One pass on its threads: what each was doing at each moment."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables

STATES = ("work", "waiting inside", "waiting after")
ALONE = "between operations"  # what follows an operation where one thread computes: it waits for nobody


def segments(tables: Tables, pass_id: int, n_bins: int = 600, max_segments: int = 3_000) -> tuple[pd.DataFrame, int]:
    """What each thread did during a pass, and the width of a bin in ns (0: not binned).

    Columns: thread, begin_ns, end_ns (since the pass began), state (work, waiting inside,
    waiting after; `ALONE` instead of waiting after where one thread computes), node (null in bins), component. A span
    is work, then waiting inside, then waiting after: the trace does not say where inside the op a barrier lay. More
    than `max_segments` segments are cut into `n_bins` equal bins; each bin has the state and component that took most
    of its time.
    """
    record = tables["passes"][tables["passes"]["pass_id"] == pass_id].to_dict("records")[0]
    graph, begin = record["graph"], int(record["begin_ns"])
    spans = tables["spans"][tables["spans"]["pass_id"] == pass_id].sort_values(["thread", "begin_ns"])
    nodes = tables["graph_nodes"]
    component = nodes[nodes["graph"] == graph].set_index("node")["component"].astype("object")
    start = spans["begin_ns"].to_numpy("int64") - begin
    length = spans[["work_ns", "barrier_ns", "wait_ns"]].to_numpy("int64").T
    stop = start + np.cumsum(length, axis=0)
    first = np.vstack([start, stop[:-1]])
    table = pd.DataFrame(
        {
            "thread": np.tile(spans["thread"].to_numpy(), 3),
            "begin_ns": first.ravel(),
            "end_ns": stop.ravel(),
            "state": np.repeat((*STATES[:2], ALONE if spans["thread"].nunique() == 1 else STATES[2]), len(spans)),
            "node": np.tile(spans["node"].to_numpy(), 3),
            "component": np.tile(spans["node"].map(component).to_numpy(object), 3),
        }
    )
    table = table[table["end_ns"] > table["begin_ns"]].sort_values(["thread", "begin_ns"], ignore_index=True)
    if len(table) <= max_segments:
        return table, 0
    return _binned(table, n_bins)


def _binned(rows: pd.DataFrame, n_bins: int) -> tuple[pd.DataFrame, int]:
    """Equal bins with the (state, component) that took most time in each, neighbours joined; and their width in ns."""
    width = -(-int(rows["end_ns"].max()) // n_bins)
    begin, end = rows["begin_ns"].to_numpy("int64"), rows["end_ns"].to_numpy("int64")
    first, last = begin // width, (end - 1) // width
    count = last - first + 1
    row = np.repeat(np.arange(len(rows)), count)
    place = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    share = np.minimum(end[row], (place + 1) * width) - np.maximum(begin[row], place * width)
    parts = rows.iloc[row][["thread", "state", "component"]].assign(bin=place, share=share)
    sums = parts.groupby(["thread", "bin", "state", "component"], dropna=False)["share"].sum().reset_index()
    best = sums.sort_values(["thread", "bin", "share"], kind="stable").groupby(["thread", "bin"], as_index=False).last()
    same = ["thread", "state", "component"]
    values = best[same].astype("object").fillna("")
    change = (values != values.shift()).any(axis=1) | (best["bin"] != best["bin"].shift() + 1)
    joined = best.groupby(change.cumsum()).agg(
        thread=("thread", "first"), state=("state", "first"), component=("component", "first"),
        begin_ns=("bin", "min"), end_ns=("bin", "max"),
    )  # fmt: skip
    joined = joined.assign(begin_ns=joined["begin_ns"] * width, end_ns=(joined["end_ns"] + 1) * width, node=None)
    return joined.reset_index(drop=True)[["thread", "begin_ns", "end_ns", "state", "node", "component"]], width
