"""One pass on its threads: what each was doing at each moment."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.axis import in_bins
from tracegen.analysis.coverage import union
from tracegen.analysis.device_ops import timed
from tracegen.contract.arrays import repeated

COLUMNS = ("thread", "device", "begin_ns", "end_ns", "state", "node", "component")
STATES = ("work", "waiting inside", "barrier wait")
DISK, DEVICE = "waiting for the disk", "device busy"
ALONE = "between operations"  # what follows an operation where one thread computes: it waits for nobody


def segments(tables: Tables, pass_id: int, n_bins: int = 600, max_segments: int = 1_200) -> tuple[pd.DataFrame, int]:
    """What each thread did during a pass, and the width of a bin in ns (0: not binned).

    Columns: thread, device, begin_ns, end_ns (since the pass began), state (work, waiting for the disk, waiting inside,
    barrier wait; `ALONE` instead of barrier wait where one thread computes), node (null in bins), component. Page
    faults are cut out of the work they lie in (state `DISK`), and waits at barriers inside an op out of the op, where
    they were recorded; else a span is work, then waiting inside, then barrier wait. In rows without a thread follow the
    operations of the backend `device`, where it timed them itself, and without that the time in which a disk had a
    request under way (state `DEVICE`, where requests were recorded). More than
    `max_segments` segments are cut into `n_bins` equal bins; each bin has the state and component that took most of
    its time.
    """
    record = tables["passes"][tables["passes"]["pass_id"] == pass_id].to_dict("records")[0]
    graph, begin = record["graph"], int(record["begin_ns"])
    spans = tables["spans"][tables["spans"]["pass_id"] == pass_id].sort_values(["thread", "begin_ns"])
    nodes = tables["graph_nodes"]
    component = nodes[nodes["graph"] == graph].set_index("node")["component"].astype("object")
    start = spans["begin_ns"].to_numpy("int64") - begin
    length = spans[["work_ns", "barrier_ns", "wait_ns"]].to_numpy("int64").T
    barriers = tables["barriers"][(tables["barriers"]["pass_id"] == pass_id).to_numpy(bool)]
    if len(barriers):
        length = np.stack([length[0] + length[1], np.zeros_like(length[1]), length[2]])
    stop = start + np.cumsum(length, axis=0)
    first = np.vstack([start, stop[:-1]])
    table = pd.DataFrame(
        {
            "thread": np.tile(spans["thread"].to_numpy(), 3),
            "device": None,
            "begin_ns": first.ravel(),
            "end_ns": stop.ravel(),
            "state": np.repeat((*STATES[:2], ALONE if spans["thread"].nunique() == 1 else STATES[2]), len(spans)),
            "node": np.tile(spans["node"].to_numpy(), 3),
            "component": np.tile(spans["node"].map(component).to_numpy(object), 3),
        }
    )
    table = table[table["end_ns"] > table["begin_ns"]].sort_values(["thread", "begin_ns"], ignore_index=True)
    table = _cut_out(table, barriers, begin, STATES[1])
    faults = tables["faults"][(tables["faults"]["pass_id"] == pass_id).fillna(False).to_numpy(bool)]
    table = _cut_out(table, faults.dropna(subset=["node", "thread", "duration_ns"]), begin, DISK)
    busy = _busy(tables["requests"], begin, int(table["end_ns"].max()) if len(table) else 0)
    more = [of for of in (_on_devices(tables["device_ops"], pass_id, begin, component), busy) if len(of)]
    if more:
        table = pd.concat([table, *more], ignore_index=True)
    return (table, 0) if len(table) <= max_segments else _binned(table, n_bins)


def _cut_out(rows: pd.DataFrame, events: pd.DataFrame, begin_ns: int, state: str) -> pd.DataFrame:
    """`rows` with `events` (thread, begin_ns, duration_ns) cut out of the work in which they lie, in state `state`."""
    if events.empty:
        return rows
    cut = []
    for thread, of_thread in events.sort_values("begin_ns", kind="stable").groupby("thread"):
        begin = of_thread["begin_ns"].to_numpy("int64") - begin_ns
        edges = np.unique(np.concatenate([begin, begin + of_thread["duration_ns"].to_numpy("int64")]))
        lane = rows[(rows["thread"] == thread).to_numpy(bool)]
        work = lane[(lane["state"] == STATES[0]).to_numpy(bool)]
        parts = _cut(work, edges)
        middle = (parts["begin_ns"].to_numpy() + parts["end_ns"].to_numpy()) / 2
        at = np.searchsorted(begin, middle, side="right") - 1
        last = np.maximum.accumulate(begin + of_thread["duration_ns"].to_numpy("int64"))
        parts["state"] = np.where((at >= 0) & (middle < last[at]), state, STATES[0])
        cut += [parts, lane[(lane["state"] != STATES[0]).to_numpy(bool)]]
    others = rows[~rows["thread"].isin(events["thread"].unique()).to_numpy(bool)]
    return pd.concat([*cut, others]).sort_values(["thread", "begin_ns"], ignore_index=True)


def _cut(rows: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """`rows` cut at each of the sorted `edges` that lies inside of one."""
    begin, end = rows["begin_ns"].to_numpy("int64"), rows["end_ns"].to_numpy("int64")
    first, last = np.searchsorted(edges, begin, side="right"), np.searchsorted(edges, end, side="left")
    n = last - first + 1
    row, place = repeated(n)
    parts = rows.iloc[row].copy()
    inner = np.append(edges, 0)  # not used where a part begins or ends with its row
    parts["begin_ns"] = np.where(place == 0, begin[row], inner[np.clip(first[row] + place - 1, 0, len(edges))])
    parts["end_ns"] = np.where(place == n[row] - 1, end[row], inner[np.clip(first[row] + place, 0, len(edges))])
    return parts


def _on_devices(device_ops: pd.DataFrame, pass_id: int, begin_ns: int, component: pd.Series) -> pd.DataFrame:
    """What devices computed in a pass, by their own record, as rows without a thread."""
    rows = timed(device_ops[(device_ops["pass_id"] == pass_id).to_numpy(bool)]).dropna(subset=["device"])
    return pd.DataFrame(
        {
            "thread": pd.array([None] * len(rows), "Int32"),
            "device": rows["device"].astype("object").to_numpy(),
            "begin_ns": rows["from_ns"].to_numpy("int64") - begin_ns,
            "end_ns": rows["end_ns"].to_numpy("int64") - begin_ns,
            "state": STATES[0],
            "node": rows["node"].array,
            "component": rows["node"].map(component).to_numpy(object),
        }
    )


def _busy(requests: pd.DataFrame, begin_ns: int, length_ns: int) -> pd.DataFrame:
    """The intervals of a pass in which a device had a request under way, as rows without a thread."""
    ended = requests.dropna(subset=["duration_ns"])
    begin = ended["issue_ns"].astype("int64") - begin_ns
    end = begin + ended["duration_ns"].astype("int64")
    inside = pd.DataFrame({"pass": 0, "begin": begin.clip(lower=0), "end": end.clip(upper=length_ns)})
    busy = union(inside, "pass").rename(columns={"begin": "begin_ns", "end": "end_ns"})
    none = pd.array([None] * len(busy), "Int32")
    busy = busy.assign(thread=none, device=None, state=DEVICE, node=none, component=None)
    return busy[[*COLUMNS]]


def _binned(rows: pd.DataFrame, n_bins: int) -> tuple[pd.DataFrame, int]:
    """Equal bins with the (state, component) that took most time in each, neighbours joined; and their width in ns."""
    width = -(-int(rows["end_ns"].max()) // n_bins)
    row, place, share = in_bins(rows["begin_ns"].to_numpy("int64"), rows["end_ns"].to_numpy("int64"), width)
    lane, same = ["thread", "device", "bin"], ["thread", "device", "state", "component"]
    parts = rows.iloc[row][same].assign(bin=place, share=share)
    sums = parts.groupby([*lane, "state", "component"], dropna=False)["share"].sum().reset_index()
    lanes = sums.sort_values([*lane, "share"], kind="stable").groupby(lane, dropna=False)
    best = lanes.tail(1).reset_index(drop=True)
    values = best[same].astype("object").fillna("")
    change = (values != values.shift()).any(axis=1) | (best["bin"] != best["bin"].shift() + 1)
    joined = best.groupby(change.cumsum()).agg(
        thread=("thread", "first"),
        device=("device", "first"),
        state=("state", "first"),
        component=("component", "first"),
        begin_ns=("bin", "min"),
        end_ns=("bin", "max"),
    )
    joined = joined.assign(begin_ns=joined["begin_ns"] * width, end_ns=(joined["end_ns"] + 1) * width, node=None)
    return joined.reset_index(drop=True)[[*COLUMNS]], width
