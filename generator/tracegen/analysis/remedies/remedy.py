"""A remedy: what to set, and the time that a token, or the prompt, is predicted to take then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from tracegen.analysis.causes.cause import Phase

Key = Literal[
    "read-ahead",
    "memory",
    "pin",
    "prefault",
    "ubatch",
    "fewer-threads",
    "more-threads",
    "cpu-strict",
    "quantisation",
    "device-layers",
]
LEAST = 0.05  # gain: a remedy that promises less is not offered
WIDEST = 2.0  # times: an interval that is wider says nothing


def narrowed(low: float, high: float, *, fast: bool = False) -> tuple[float, float]:
    """An interval no wider than `WIDEST`, around the same geometric mean; `fast`: from the low end on."""
    if fast:
        return low, min(high, WIDEST * low)
    wide = max(1.0, sqrt(high / low / WIDEST))
    return low * wide, high / wide


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What acts on a cause. `settings`: values to try in an experiment, several of a sweep; none where none does it.

    A token takes `now_ns` in the mean, and between `low_ns` and `high_ns` with the remedy; where `phase` is the prompt,
    the prompt does. `numbers` and `names` are what the prediction rests on, by name.
    """

    key: Key
    phase: str
    settings: tuple[Mapping[str, object], ...] = ()
    now_ns: float
    low_ns: float
    high_ns: float
    numbers: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def gain(self) -> tuple[float, float]:
        """How many times as fast, at least and at most."""
        return self.now_ns / self.high_ns, self.now_ns / self.low_ns

    @property
    def likely(self) -> float:
        """The middle of the gain: the geometric mean of its ends."""
        low, high = self.gain
        return sqrt(low * high)


def remedy(
    phase: Phase,
    key: Key,
    ends: tuple[float, float],
    settings: tuple[Mapping[str, object], ...] = (),
    numbers: Mapping[str, float] | None = None,
    names: Mapping[str, str] | None = None,
) -> Remedy:
    """A remedy of a phase; `ends`: the least and the most time, ns, that the whole phase is predicted to take."""
    now, low, high = (ns / phase.n_said for ns in (phase.whole_ns, *ends))
    return Remedy(
        key=key,
        phase=phase.name,
        settings=settings,
        now_ns=now,
        low_ns=low,
        high_ns=high,
        numbers=numbers or {},
        names=names or {},
    )
