"""How long threads wait for a thread that has a page fault, or no processor."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.off_cpu import OffCpu

KEY = ["pass_id", "node", "thread"]
LAST = 1 << 31  # the number of the barrier at the end of an operation: above those inside


@dataclass(frozen=True)
class Behind:
    """How much longer threads waited because another one had a page fault, or no processor.

    One number for each row of `tables["spans"]`, float64: `ns` behind page faults, `processor_ns` behind a thread that
    had no processor; `late_ns`, int64: how long the thread itself had none while it waited at a barrier that had opened
    already, before the operation or in it. `for_fault_ns`, float64: one for each row of `tables["faults"]`, how much of
    `ns` was behind it. The sums of both are equal: the waiting at a barrier is shared among what delayed the thread
    that came last since its barrier before, by the time of each.
    """

    ns: np.ndarray
    processor_ns: np.ndarray
    late_ns: np.ndarray
    for_fault_ns: np.ndarray


def behind(tables: Tables) -> Behind:
    """How much longer each thread waited in and after each operation because others were delayed, and by what.

    Threads wait for each other at the barriers inside an operation, and at its end. At each of them, a thread waits for
    the last one that comes. The number is how much later that one came for what delayed it since the barrier before,
    less how much later the waiting thread itself came for what delayed it; never below 0, and never above the time that
    the thread waited there. A thread is delayed by its page faults; while it could run but has no processor; and while
    it has none at the barrier before, which has opened, whether or not it slept there. Where barriers were not
    recorded, or not alike for all threads of an operation, its page faults count as if they came after the last
    barrier inside it.
    """
    spans, off_cpu = tables["spans"], tables["off_cpu"]
    preempted, away = OffCpu(off_cpu[~off_cpu["slept"].to_numpy(bool)]), OffCpu(off_cpu)
    free = _free(spans)
    rows = np.flatnonzero(_delayed(spans, away, free))
    none = np.zeros(len(spans))
    found = Behind(none, none.copy(), none.astype("int64"), np.zeros(len(tables["faults"])))
    spans = spans.iloc[rows].reset_index(drop=True)
    stops = _stops(spans, tables["barriers"])
    if not len(stops):
        return found
    op = spans.groupby(KEY[:2], sort=False).ngroup().to_numpy()
    came, waited, row = (stops[name].to_numpy() for name in ("came_ns", "waited_ns", "row"))
    at = pd.DataFrame({"op": op[row], "number": stops["number"], "came": came})
    barriers = at.groupby(["op", "number"], sort=False)
    opened = barriers["came"].transform("max").to_numpy()
    faults = _at_stops(stops, spans, tables["faults"])
    fault = np.bincount(faults["stop"], faults["took"], minlength=len(stops)).astype("int64")
    no_processor, late = _without_processor(preempted, away, spans, stops, free[rows], opened, faults)
    delay = fault + no_processor
    at["without"] = came - delay
    longer = (opened - came) - (barriers["without"].transform("max").to_numpy() - at["without"].to_numpy())
    behind_ns = np.clip(longer, 0, waited)
    # The stop of the thread that came last to the same barrier, the first one if several came at once.
    first = at.index.to_series().where(came == opened).groupby(barriers.ngroup()).transform("min")
    came_last = first.to_numpy("int64")
    of_fault = fault / np.maximum(delay, 1)
    for_faults = behind_ns * of_fault[came_last]
    np.add.at(found.ns, rows[row], for_faults)
    np.add.at(found.processor_ns, rows[row], behind_ns - for_faults)
    np.add.at(found.late_ns, rows[row], late)
    behind_stop = np.bincount(came_last, for_faults, minlength=len(stops))
    share = faults["took"] / fault[faults["stop"]]
    np.add.at(found.for_fault_ns, faults["at"], behind_stop[faults["stop"]] * share)
    return found


def _ended(spans: pd.DataFrame) -> np.ndarray:
    ended: np.ndarray = spans[["begin_ns", "work_ns", "barrier_ns"]].to_numpy("int64").sum(axis=1)
    return ended


def _free(spans: pd.DataFrame) -> np.ndarray:
    """When each thread could begin its operation: when all had ended the one before; its own begin in the first one."""
    ended = _ended(spans)
    keys = [spans[name].to_numpy() for name in KEY[:2]]
    ops = pd.DataFrame({"begin": spans["begin_ns"].to_numpy("int64"), "ended": ended}).groupby(keys)
    order = ops.agg(begin=("begin", "min"), ended=("ended", "max")).reset_index().sort_values(["level_0", "begin"])
    before = order.groupby("level_0")["ended"].shift().set_axis(pd.MultiIndex.from_frame(order[["level_0", "level_1"]]))
    at = before.reindex(pd.MultiIndex.from_arrays(keys)).to_numpy()
    begin = spans["begin_ns"].to_numpy("int64")
    return np.where(np.isnan(at), begin, np.minimum(np.nan_to_num(at), begin)).astype("int64")


def _delayed(spans: pd.DataFrame, away: OffCpu, free: np.ndarray) -> np.ndarray:
    """The spans of operations in which some thread may have been delayed, as a mask."""
    delay = spans["fault_ns"].fillna(0).to_numpy("int64") + away.ns(spans, free, _ended(spans))
    whole = pd.Series(delay).groupby([spans[name].to_numpy() for name in KEY[:2]]).transform("sum")
    mask: np.ndarray = whole.to_numpy() > 0
    return mask


def _without_processor(
    preempted: OffCpu,
    away: OffCpu,
    spans: pd.DataFrame,
    stops: pd.DataFrame,
    free: np.ndarray,
    opened: np.ndarray,
    faults: pd.DataFrame,
) -> tuple[np.ndarray, np.ndarray]:
    """How long the thread of each stop had no processor since it could go on from the one before; int64, ns.

    First all of that but for its page faults, then the part in which it was still at the barrier before.
    """
    row, came = stops["row"].to_numpy(), stops["came_ns"].to_numpy()
    is_first = np.diff(row, prepend=-1) > 0
    goes_on = np.where(is_first, spans["begin_ns"].to_numpy("int64")[row], np.roll(came + stops["waited_ns"], 1))
    since = np.where(is_first, free[row], np.roll(opened, 1))
    keys = spans[["pass_id", "thread"]].iloc[row]
    of = keys.iloc[faults["stop"]]
    begin = faults["begin"].to_numpy()
    inside = np.bincount(faults["stop"], preempted.ns(of, begin, begin + faults["took"]), minlength=len(stops))
    alone = spans.groupby(KEY[:2], sort=False)["thread"].transform("size").to_numpy()[row] == 1  # it waits for no other
    late = np.where(alone, preempted.ns(keys, since, goes_on), away.ns(keys, since, goes_on))
    return late + np.clip(preempted.ns(keys, goes_on, came) - inside, 0, None).astype("int64"), late


def _stops(spans: pd.DataFrame, barriers: pd.DataFrame) -> pd.DataFrame:
    """Where the threads of `spans` wait for each other, by row of `spans` and time.

    Columns: row, number (of the barrier; that at the end of the operation has the largest), came_ns, waited_ns.
    """
    inside = barriers.merge(spans[KEY].assign(row=np.arange(len(spans))), on=KEY)
    n = np.bincount(inside["row"], minlength=len(spans))
    by_op = pd.Series(n).groupby([spans[name].to_numpy() for name in KEY[:2]])
    alike = (by_op.transform("min") == by_op.transform("max")).to_numpy()
    inside = inside[alike[inside["row"]]]
    ended = _ended(spans)
    inside = inside.rename(columns={"barrier": "number", "begin_ns": "came_ns", "duration_ns": "waited_ns"})
    at_end = pd.DataFrame(
        {"row": np.arange(len(spans)), "number": LAST, "came_ns": ended, "waited_ns": spans["wait_ns"]}
    )
    table = pd.concat([inside[at_end.columns], at_end]).astype("int64")
    return table.sort_values(["row", "number"], ignore_index=True)


def _at_stops(stops: pd.DataFrame, spans: pd.DataFrame, faults: pd.DataFrame) -> pd.DataFrame:
    """The page faults that ended in operations: at (row of `faults`), stop (the next of its thread), begin, took (> 0).

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
    return pd.DataFrame({"at": faults["at"], "stop": stop, "begin": faults["begin_ns"], "took": took})
