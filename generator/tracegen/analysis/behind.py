"""How long threads wait for a thread that has a page fault."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables

KEY = ["pass_id", "node", "thread"]
LAST = 1 << 31  # the number of the barrier at the end of an operation: above those inside


def behind_ns(tables: Tables) -> np.ndarray:
    """How much longer each thread waited in and after each operation because of page faults: int64, ns.

    One number for each row of `tables["spans"]`. Threads wait for each other at the barriers inside an operation, and
    at its end. At each of them, a thread waits for the last one that comes. The number is how much later that one came
    for its page faults since the barrier before, less how much later the waiting thread itself came for its own; never
    below 0, and never above the time that the thread waited there. Where barriers were not recorded, or not alike for
    all threads of an operation, its page faults count as if they came after the last barrier inside it.
    """
    spans = tables["spans"]
    rows = np.flatnonzero(_with_faults(spans))
    spans = spans.iloc[rows].reset_index(drop=True)
    stops = _stops(spans, tables["barriers"])
    fault = _fault_ns(stops, spans, tables["faults"])
    op = spans.groupby(KEY[:2], sort=False).ngroup().to_numpy()
    behind = np.zeros(len(tables["spans"]), np.int64)
    if not len(stops):
        return behind
    came = stops["came_ns"].to_numpy()
    at = pd.DataFrame({"op": op[stops["row"]], "number": stops["number"], "came": came, "without": came - fault})
    last = at.groupby(["op", "number"], sort=False).transform("max")
    longer = (last["came"] - at["came"]) - (last["without"] - at["without"])
    waited = np.clip(longer.to_numpy(), 0, stops["waited_ns"].to_numpy())
    np.add.at(behind, rows[stops["row"]], waited)
    return behind


def _with_faults(spans: pd.DataFrame) -> np.ndarray:
    """The spans of operations in which some thread had a page fault, as a mask."""
    fault = spans["fault_ns"].fillna(0).to_numpy("int64")
    whole = pd.Series(fault).groupby([spans[name].to_numpy() for name in KEY[:2]]).transform("sum")
    mask: np.ndarray = whole.to_numpy() > 0
    return mask


def _stops(spans: pd.DataFrame, barriers: pd.DataFrame) -> pd.DataFrame:
    """Where the threads of `spans` wait for each other, by row of `spans` and time.

    Columns: row, number (of the barrier; that at the end of the operation has the largest), came_ns, waited_ns.
    """
    inside = barriers.merge(spans[KEY].assign(row=np.arange(len(spans))), on=KEY)
    n = np.bincount(inside["row"], minlength=len(spans))
    by_op = pd.Series(n).groupby([spans[name].to_numpy() for name in KEY[:2]])
    alike = (by_op.transform("min") == by_op.transform("max")).to_numpy()
    inside = inside[alike[inside["row"]]]
    ended = sum(spans[name].to_numpy("int64") for name in ("begin_ns", "work_ns", "barrier_ns"))
    inside = inside.rename(columns={"barrier": "number", "begin_ns": "came_ns", "duration_ns": "waited_ns"})
    at_end = pd.DataFrame(
        {"row": np.arange(len(spans)), "number": LAST, "came_ns": ended, "waited_ns": spans["wait_ns"]}
    )
    table = pd.concat([inside[at_end.columns], at_end]).astype("int64")
    return table.sort_values(["row", "number"], ignore_index=True)


def _fault_ns(stops: pd.DataFrame, spans: pd.DataFrame, faults: pd.DataFrame) -> np.ndarray:
    """The time of page faults of each stop's thread since its stop before, ns: each by the middle of its time."""
    faults = faults[faults["node"].notna().to_numpy(bool) & faults["duration_ns"].notna().to_numpy(bool)]
    faults = faults[[*KEY, "begin_ns", "duration_ns"]].astype("int64")
    faults = faults.merge(spans[KEY].assign(row=np.arange(len(spans))), on=KEY)
    took, row = faults["duration_ns"].to_numpy(), faults["row"].to_numpy()
    final = stops["came_ns"].to_numpy()[np.searchsorted(stops["row"], row, "right") - 1]
    # Twice the times, as the middle of an odd one is not a whole number.
    middle = np.minimum(2 * faults["begin_ns"].to_numpy() + took, 2 * final)
    # In the order of rows and times, the stop of a fault is the next one.
    is_stop = np.repeat([False, True], [len(faults), len(stops)])
    time = np.concatenate([middle, 2 * stops["came_ns"].to_numpy()])
    order = np.lexsort((is_stop, time, np.concatenate([row, stops["row"].to_numpy()])))
    before = np.cumsum(is_stop[order])
    of_fault = ~is_stop[order]
    summed = np.zeros(len(stops), np.int64)
    np.add.at(summed, before[of_fault], took[order[of_fault]])
    return summed
