"""Threads that wait for each other, and time of passes outside operations."""

from collections.abc import Iterator

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase


def counts(of: Analyses, phase: Phase) -> tuple[int, int]:
    """The threads that compute in a phase, and the processors that the program may use; 0 where that is not known."""
    rows = of.of_kind(of.time_split, phase.name)
    chosen = of.facts.settings.get("processors")
    n_processors = len(chosen) if isinstance(chosen, list | tuple) else of.facts.host.cores or 0
    return int(rows["n_threads"].max()) if len(rows) else 0, n_processors


def barriers(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Waiting at barriers, but for page faults. Numbers: n_threads, n_processors, delayed_share.

    delayed_share is how long threads waited for a processor, of the time of the phase, in the mean over threads: part
    of the waiting at barriers, or of computing. Absent where it was not recorded.
    """
    ns = phase.parts["barrier_ns"]
    if not ns:
        return
    passes = of.of_kind(of.measured, phase.name)
    threads, processors = counts(of, phase)
    numbers = {"n_threads": float(threads)} | ({"n_processors": float(processors)} if processors else {})
    delay = passes["run_delay_ns"]
    if delay.notna().all() and threads:
        numbers["delayed_share"] = float(delay.sum()) / threads / phase.whole_ns
    yield phase.cause("barriers", ns, numbers)


def outside(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Time outside operations."""
    ns = phase.parts["outside_ns"]
    if ns:
        yield phase.cause("outside", ns)
