"""Converts the ticks of events to nanoseconds of CLOCK_MONOTONIC."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.contract.errors import TraceFormatError

MONOTONIC, TSC = 0, 1
_SLACK_NS = 1_000_000  # two threads may write their moments in either order
LONGEST_NS = 1 << 55  # 417 days
_MOST_TICKS = 1 << 57  # 417 days at 4 GHz
_UNEVEN_NS = 10_000_000  # more than the delay between reading a moment's two clocks


@dataclass(frozen=True)
class Clock:
    """Moments recorded both in ticks and in ns, ascending int64; both None when a tick is a nanosecond."""

    ticks: np.ndarray | None
    ns: np.ndarray | None

    def ns_of(self, ticks: np.ndarray) -> np.ndarray:
        """The times of `ticks` in ns (both int64), interpolated linearly between moments and rounded down.

        Integer arithmetic keeps the result exact even after days; ascending ticks give ascending times. Before the
        first and after the last moment the average rate of the run applies. Raises TraceFormatError for a time that
        is impossibly far from every moment, or when fewer than two moments are known.
        """
        if self.ticks is None or self.ns is None or not len(ticks):
            return ticks
        if len(self.ticks) < 2 or self.ns[-1] <= self.ns[0]:
            raise TraceFormatError(
                f"the trace holds {len(self.ticks)} moments (TT_CLOCK), and ticks become nanoseconds only between two "
                "that differ; record it again with TENSOR_TRACE_CLOCK=monotonic"
            )
        whole_ticks, whole_ns = self.ticks[-1:] - self.ticks[0], self.ns[-1:] - self.ns[0]
        beyond = max(int(self.ticks[0]) - int(ticks.min()), int(ticks.max()) - int(self.ticks[-1]))
        if beyond * int(whole_ns[0]) >= LONGEST_NS * int(whole_ticks[0]):
            raise TraceFormatError(
                "an event lies further from every known moment than a run can last; the trace was changed"
            )
        # One stretch before the first moment and one after each; the outer two have the average rate of the run.
        of_ticks = np.concatenate([whole_ticks, np.diff(self.ticks), whole_ticks])
        of_ns = np.concatenate([whole_ns, np.diff(self.ns), whole_ns])
        stretch = np.searchsorted(self.ticks, ticks, "right")
        moment = np.maximum(stretch - 1, 0)
        ns: np.ndarray = scaled(ticks - self.ticks[moment], of_ns[stretch], of_ticks[stretch])
        ns += self.ns[moment]
        return ns

    def length_ns(self, ticks: float) -> float:
        """The duration of `ticks` in ns, by the average rate of the run; NaN when fewer than two moments are known."""
        if self.ticks is None or self.ns is None:
            return ticks
        if len(self.ticks) < 2:
            return float("nan")
        return ticks * (int(self.ns[-1] - self.ns[0]) / int(self.ticks[-1] - self.ticks[0]))

    @property
    def uneven_ns(self) -> int:
        """By how many ns the two clocks drifted apart where one stalled, as when the machine slept.

        Interpolated times are wrong in such a stretch. 0 when both clocks ran at one rate.
        """
        if self.ticks is None or self.ns is None or len(self.ticks) < 2:
            return 0
        ticks, ns = np.diff(self.ticks).astype(float), np.diff(self.ns).astype(float)
        order = np.argsort(
            ns / ticks, kind="stable"
        )  # median rate, weighted by time: the rate of a short stretch is imprecise
        usual = (ns / ticks)[order][np.searchsorted(np.cumsum(ns[order]), ns.sum() / 2)]
        apart = abs(ns - ticks * usual)
        return int(apart[apart > np.maximum(_UNEVEN_NS, ns / 100)].sum())


def scaled(amount: np.ndarray, numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """`amount * numerator / denominator`, rounded down, for int64 arrays whose product may need 128 bits.

    The result is exact where it lies within +-2**55 and the denominators are positive and below 2**57. A float64
    quotient is then wrong by less than 32, so the remainder is less than 32 denominators and fits 64 bits. Arithmetic
    modulo 2**64 gives that remainder, although both products overflow.
    """
    near = np.floor(amount * (numerator / denominator)).astype(np.int64)
    left = amount * numerator - near * denominator
    quotient: np.ndarray = near + left // denominator
    return quotient


def clock_of(kind: int, moments: Sequence[tuple[int, int]]) -> Clock:
    """The clock of a run from its (ticks, ns) moments.

    Raises TraceFormatError when the ticks or the ns run backwards, or last longer than a run can.
    """
    if kind == MONOTONIC:
        return Clock(None, None)
    ticks, first = np.unique(np.array([t for t, _ in moments], np.int64), return_index=True)
    ns = np.array([n for _, n in moments], np.int64)[first]
    if (np.diff(ns) < -_SLACK_NS).any():
        raise TraceFormatError(
            "the time stamp counter ran backwards while time ran on; record again with TENSOR_TRACE_CLOCK=monotonic"
        )
    ns = np.maximum.accumulate(ns)
    if len(ns) and (ticks[-1] - ticks[0] >= _MOST_TICKS or ns[-1] - ns[0] >= LONGEST_NS):
        raise TraceFormatError(
            f"the moments {ticks[0]} ticks, {ns[0]} ns and {ticks[-1]} ticks, {ns[-1]} ns lie further apart than a run "
            "can last; the trace was changed"
        )
    return Clock(ticks, ns)
