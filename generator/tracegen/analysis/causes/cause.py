"""A cause: what a part of the time of a phase is due to, with the numbers that show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from tracegen.analysis import attribution, bandwidth, off_cpu
from tracegen.analysis.analyses import Analyses

Key = Literal[
    "unused-reads",
    "evicted",
    "first-reads",
    "reads",
    "paging",
    "processor",
    "memory-bandwidth",
    "kernel",
    "barriers",
    "elsewhere",
    "outside",
]


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why `ns` of the wall time of a phase are spent; what it claims, no other cause of the phase does.

    `share` is of the time of the phase. `numbers` are the evidence, by name: see the function that finds the cause.
    """

    key: Key
    phase: str
    ns: float
    share: float
    numbers: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Phase:
    """The measured passes of a phase: their time in the parts of `attribution.PARTS`, which add up to `whole_ns`.

    `n_threads` compute, on `n_processors` that the program may use; 0 where that is not known. `delayed_share`: how
    long threads waited for a processor, of the time of the phase, in the mean over them; None where it was not
    recorded. It is a part of the time (`is_apart`), or where only the kernel's sum is known, which has waits at
    barriers too that delayed nobody, a share of computing and of waiting at barriers. `shared_ns`: of the part, where
    threads had the processor of another one, although there are as many as threads (see `off_cpu.handed_over`).
    """

    name: str
    n_passes: int
    whole_ns: float
    parts: Mapping[str, float]
    n_threads: int
    n_processors: int
    delayed_share: float | None
    is_apart: bool = False
    shared_ns: float = 0.0

    @property
    def by_others(self) -> float:
        """How long threads waited for a processor that no thread of the run had, of the time of the phase."""
        return (self.delayed_share or 0.0) - self.shared_ns / self.whole_ns

    @property
    def n_said(self) -> int:
        """Of how many equal parts a time is said: of a token in the mean, or of the whole prompt."""
        return 1 if self.name == "prompt" else self.n_passes

    @property
    def waiting_ns(self) -> float:
        """Waiting for the disk: of threads that had page faults while a read was under way, and of those behind."""
        return self.parts["disk_ns"] + self.parts["behind_ns"]

    def cause(
        self,
        key: Key,
        ns: float,
        numbers: Mapping[str, float] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> Cause:
        """A cause that claims `ns` of this phase."""
        return Cause(
            key=key, phase=self.name, ns=ns, share=ns / self.whole_ns, numbers=numbers or {}, names=names or {}
        )


def phase_of(of: Analyses, name: str) -> Phase | None:
    """The time of a phase in its parts; None where it has no pass whose threads were timed."""
    rows: pd.DataFrame = of.of_kind(of.time_split, name)
    whole = float(rows["duration_ns"].sum())
    if not whole:
        return None
    parts = {part: float(rows[part].sum()) for part in attribution.PARTS}
    chosen = of.facts.settings.get("processors")
    n_processors = len(chosen) if isinstance(chosen, list | tuple) else of.facts.host.cores or 0
    n_threads = int(rows["n_threads"].max())
    is_apart = bool(of.tables["spans"]["preempted_ns"].notna().any())
    delayed = bandwidth.delayed_ns(of.of_kind(of.measured, name), n_threads)
    delayed = parts["processor_ns"] if is_apart else delayed
    share = None if delayed is None else delayed / whole
    shared = parts["processor_ns"] * _shared(of, name) if n_threads <= n_processors else 0.0
    return Phase(name, len(rows), whole, parts, n_threads, n_processors, share, is_apart, shared)


def _shared(of: Analyses, name: str) -> float:
    """Of the time in which threads of a phase could run but had no processor, the share in which another had theirs."""
    rows = of.of_kind(of.tables["off_cpu"], name)
    kept = ~rows["slept"].to_numpy(bool)
    took = rows["duration_ns"].to_numpy("int64")
    whole = took[kept].sum()
    return float(took[kept & off_cpu.handed_over(rows)].sum() / whole) if whole else 0.0
