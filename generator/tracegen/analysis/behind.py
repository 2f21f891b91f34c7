"""How long threads wait for a thread that has a page fault."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables

KEY = ["pass_id", "node", "thread"]
LAST = 1 << 31  # the number of the barrier at the end of an operation: above those inside


@dataclass(frozen=True)
class Behind:
    """How much longer threads waited because another one had a page fault.

    `ns`: one number for each row of `tables["spans"]`, int64. `for_fault_ns`: one for each row of `tables["faults"]`,
    float64, how much of that others waited behind it: the waiting at a barrier is shared among the page faults of the
    thread that came last since its barrier before, by their time. The sums of both are equal.
    """

    ns: np.ndarray
    for_fault_ns: np.ndarray


def behind(tables: Tables) -> Behind:
    """How much longer each thread waited in and after each operation because of page faults, and behind which.

    Threads wait for each other at the barriers inside an operation, and at its end. At each of them, a thread waits for
    the last one that comes. The number is how much later that one came for its page faults since the barrier before,
    less how much later the waiting thread itself came for its own; never below 0, and never above the time that the
    thread waited there. Where barriers were not recorded, or not alike for all threads of an operation, its page faults
    count as if they came after the last barrier inside it.
    """
    spans = tables["spans"]
    rows = np.flatnonzero(_with_faults(spans))
    found = Behind(np.zeros(len(spans), np.int64), np.zeros(len(tables["faults"])))
    spans = spans.iloc[rows].reset_index(drop=True)
    stops = _stops(spans, tables["barriers"])
    if not len(stops):
        return found
    faults = _at_stops(stops, spans, tables["faults"])
    fault = np.bincount(faults["stop"], faults["took"], minlength=len(stops)).astype("int64")
    came = stops["came_ns"].to_numpy()
    op = spans.groupby(KEY[:2], sort=False).ngroup().to_numpy()
    at = pd.DataFrame({"op": op[stops["row"]], "number": stops["number"], "came": came, "without": came - fault})
    barriers = at.groupby(["op", "number"], sort=False)
    last = barriers.transform("max")
    longer = (last["came"] - at["came"]) - (last["without"] - at["without"])
    waited = np.clip(longer.to_numpy(), 0, stops["waited_ns"].to_numpy())
    np.add.at(found.ns, rows[stops["row"]], waited)
    # The stop of the thread that came last to the same barrier, the first one if several came at once.
    came_last = at.index.to_series().where(at["came"] == last["came"]).groupby(barriers.ngroup()).transform("min")
    behind_stop = np.bincount(came_last.astype("int64"), waited, minlength=len(stops))
    share = faults["took"] / fault[faults["stop"]]
    np.add.at(found.for_fault_ns, faults["at"], behind_stop[faults["stop"]] * share)
    return found


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


def _at_stops(stops: pd.DataFrame, spans: pd.DataFrame, faults: pd.DataFrame) -> pd.DataFrame:
    """The page faults that ended in operations: at (row of `faults`), stop (the next of its thread), took (ns, > 0).

    A page fault belongs to the stop after the middle of its time.
    """
    faults = faults.assign(at=np.arange(len(faults)))
    faults = faults[faults["node"].notna().to_numpy(bool) & (faults["duration_ns"].fillna(0) > 0).to_numpy(bool)]
    faults = faults[[*KEY, "begin_ns", "duration_ns", "at"]].astype("int64")
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
    stop = np.zeros(len(faults), np.int64)
    stop[order[of_fault]] = before[of_fault]
    return pd.DataFrame({"at": faults["at"], "stop": stop, "took": took})
