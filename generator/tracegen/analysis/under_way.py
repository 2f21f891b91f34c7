"""When at least one read of the model's devices was under way."""

import numpy as np

from tracegen.analysis.accesses import Tables
from tracegen.contract.arrays import covered


class UnderWay:
    """The times in which a request of the table `requests` was under way, joined."""

    def __init__(self, tables: Tables) -> None:
        """Join the times of all requests that were completed."""
        requests = tables["requests"]
        requests = requests[(requests["duration_ns"] > 0).fillna(False).to_numpy(bool)]
        requests = requests.sort_values("issue_ns", kind="stable")
        first = requests["issue_ns"].to_numpy("int64")
        last = np.maximum.accumulate(first + requests["duration_ns"].to_numpy("int64"))
        opens = np.flatnonzero(np.append(True, first[1:] > last[:-1])) if len(first) else np.array([], np.int64)
        ends = np.append(opens[1:], len(last))[: len(opens)] - 1
        self._first, self._last = first[opens], last[ends]  # times with reads, apart from each other

    @property
    def recorded(self) -> bool:
        """Whether any request was recorded to its end."""
        return len(self._first) > 0

    def ns(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """How long, between each `begin` and `end`, at least one read was under way: int64, ns."""
        if not self.recorded:
            return np.zeros(len(begin), np.int64)
        under_way: np.ndarray = covered(self._first, self._last, end) - covered(self._first, self._last, begin)
        return under_way

    def hull(self, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From the first to the last moment between each `begin` and `end` with a read under way; none: begin twice."""
        if not self.recorded:
            return begin.copy(), begin.copy()
        at = np.searchsorted(self._last, begin, "right")
        until = np.searchsorted(self._first, end, "left") - 1
        any_ = at <= until
        first = np.maximum(begin, self._first[np.minimum(at, len(self._first) - 1)])
        last = np.minimum(end, self._last[np.maximum(until, 0)])
        return np.where(any_, first, begin), np.where(any_, last, begin)
