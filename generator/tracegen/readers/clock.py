"""From the ticks that events are timed by to nanoseconds of CLOCK_MONOTONIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.errors import TraceFormatError

MONOTONIC, TSC = 0, 1
_SLACK_NS = 1_000_000  # two threads may note their moments in either order
_END = float(1 << 62)
_UNEVEN_NS = 10_000_000  # what a moment that was noted late cannot explain


@dataclass(frozen=True)
class Clock:
    """Moments noted in ticks and in ns, ascending in both; `None`: a tick is a nanosecond."""

    ticks: np.ndarray | None
    ns: np.ndarray | None

    def ns_of(self, ticks: np.ndarray) -> np.ndarray:
        """The times of `ticks` in ns (both int64), a straight line between moments.

        Ascending ticks give ascending times. Beyond the first and the last moment the
        clock is taken to run as it did on the whole. Raises TraceFormatError for a time
        that cannot be, or when fewer than two moments are known.
        """
        if self.ticks is None or self.ns is None or not len(ticks):
            return ticks
        if len(self.ticks) < 2 or self.ns[-1] <= self.ns[0]:
            raise TraceFormatError(
                f"{len(self.ticks)} moments (TT_CLOCK) are noted; the ticks of events cannot be told in nanoseconds"
            )
        at = np.clip(np.searchsorted(self.ticks, ticks, "right") - 1, 0, len(self.ticks) - 1)
        whole = (self.ns[-1] - self.ns[0]) / (self.ticks[-1] - self.ticks[0])
        rate = np.append(np.diff(self.ns) / np.diff(self.ticks), whole)[at]
        rate[ticks < self.ticks[0]] = whole
        passed = np.floor((ticks - self.ticks[at]) * rate)
        if len(passed) and not (abs(passed) < _END).all():
            raise TraceFormatError("an event lies so far from every known moment that its time cannot be")
        made: np.ndarray = self.ns[at] + passed.astype(np.int64)
        return made

    def length_ns(self, ticks: float) -> float:
        """How long so many ticks are, by the rate of the whole run; NaN when fewer than two moments are known."""
        if self.ticks is None or self.ns is None:
            return ticks
        if len(self.ticks) < 2:
            return float("nan")
        return float(ticks * (self.ns[-1] - self.ns[0]) / (self.ticks[-1] - self.ticks[0]))

    @property
    def uneven_ns(self) -> int:
        """How far the two clocks went apart where one of them stood: a machine that slept while its counter ran on.

        In such a stretch the straight line is wrong. 0 where they went along together.
        """
        if self.ticks is None or self.ns is None or len(self.ticks) < 2:
            return 0
        ticks, ns = np.diff(self.ticks).astype(float), np.diff(self.ns).astype(float)
        order = np.argsort(ns / ticks)  # the usual rate is that of half of the time: short stretches are told badly
        usual = (ns / ticks)[order][np.searchsorted(np.cumsum(ns[order]), ns.sum() / 2)]
        apart = abs(ns - ticks * usual)
        return int(apart[apart > np.maximum(_UNEVEN_NS, ns / 100)].sum())


def clock_of(kind: int, moments: Sequence[tuple[int, int]]) -> Clock:
    """The clock of a run from its (ticks, ns) moments. Raises TraceFormatError when time ran both ways."""
    if kind == MONOTONIC:
        return Clock(None, None)
    ticks, first = np.unique(np.array([t for t, _ in moments], np.int64), return_index=True)
    ns = np.array([n for _, n in moments], np.int64)[first]
    if (np.diff(ns) < -_SLACK_NS).any():
        raise TraceFormatError(
            "the time stamp counter ran backwards while time ran on; record again with TENSOR_TRACE_CLOCK=monotonic"
        )
    return Clock(ticks, np.maximum.accumulate(ns))
