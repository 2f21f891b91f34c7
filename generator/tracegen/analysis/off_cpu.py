"""How long a thread had no processor, between any two moments."""

import numpy as np
import pandas as pd

from tracegen.contract.arrays import covered

_KEY = ["pass_id", "thread"]
# In eight runs of two threads that shared a processor, 71 to 96 % of their time without one ended so near to the start
# of such a time of the other, mostly 4 µs; where each had a processor of its own, 2 to 22 % did.
HANDED_OVER_NS = 20_000


def handed_over(rows: pd.DataFrame) -> np.ndarray:
    """Of each row of the table `off_cpu`, whether the thread then got the processor of another one of its run: a mask.

    The kernel switches from one thread to the other, so that the time of the one ends where that of the other begins,
    within `HANDED_OVER_NS`.
    """
    thread, begin = rows["thread"].to_numpy("int64"), rows["begin_ns"].to_numpy("int64")
    end = begin + rows["duration_ns"].to_numpy("int64")
    found = np.zeros(len(rows), bool)
    for mine in np.unique(thread):
        own = thread == mine
        others = np.sort(begin[~own])
        if len(others):
            after = np.searchsorted(others, end[own])
            next_, before = others[np.minimum(after, len(others) - 1)], others[np.maximum(after - 1, 0)]
            found[own] = np.minimum(np.abs(next_ - end[own]), np.abs(end[own] - before)) <= HANDED_OVER_NS
    return found


class OffCpu:
    """The times in which threads that compute had no processor.

    Those of a thread in a pass do not overlap. They lie one after the other on one axis, thread by thread, so that one
    search finds the time before a moment.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        """`rows`: of the table `off_cpu`, which is empty where none was recorded."""
        rows = rows.sort_values([*_KEY, "begin_ns"])
        begin, took = (rows[name].to_numpy("int64") for name in ("begin_ns", "duration_ns"))
        self._keys = pd.MultiIndex.from_frame(rows[_KEY].astype("int64").drop_duplicates())
        group = rows.groupby(_KEY, sort=False).ngroup().to_numpy()
        first = np.flatnonzero(np.diff(group, prepend=-1))
        self._low, self._high = begin[first], (begin + took)[np.append(first[1:], len(rows))[: len(first)] - 1]
        length = self._high - self._low + 1
        self._at = np.cumsum(length) - length
        self._begin = begin + (self._at - self._low)[group]
        self._end = self._begin + took

    def ns(self, rows: pd.DataFrame, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Time without a processor from each `begin` to each `end`, int64, ns; `rows` has their pass_id and thread."""
        group = self._keys.get_indexer(pd.MultiIndex.from_frame(rows[_KEY].astype("int64")))
        known = group >= 0
        found = np.zeros(len(rows), np.int64)
        if known.any():
            of = group[known]
            found[known] = np.maximum(self._until(of, end[known]) - self._until(of, begin[known]), 0)
        return found

    def _until(self, group: np.ndarray, moment: np.ndarray) -> np.ndarray:
        place = np.clip(moment, self._low[group], self._high[group]) + (self._at - self._low)[group]
        return covered(self._begin, self._end, place)
