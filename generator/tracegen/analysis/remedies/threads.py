"""What another number of threads would change, and processors of their own."""

from collections.abc import Iterator, Sequence

from tracegen.analysis import bandwidth
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.remedies.reading import FASTER
from tracegen.analysis.remedies.remedy import LEAST, WIDEST, Remedy, narrowed, remedy


def remedies(of: Analyses, phase: Phase, causes: Sequence[Cause]) -> Iterator[Remedy]:
    """As many threads as processors, where they are more or fewer; where they share some, one for each (`_strict`).

    At best what threads computed is shared by as many as there are processors, without waiting for each other or for a
    processor; memory bandwidth may allow less. At worst a token takes `WIDEST` times as long, but not longer than now.
    Where it is known how long threads had no processor, the interval starts at the fast end (see `reading.FASTER`).
    """
    n_threads, n_processors = phase.n_threads, phase.n_processors
    if phase.shared_ns >= LEAST * phase.whole_ns and not of.facts.settings.get("cpu_strict"):
        yield _strict(phase)
    if not n_threads or not n_processors or n_threads == n_processors:
        return
    whole, computing = phase.whole_ns, phase.parts["computing_ns"]
    scaled = computing * n_threads / n_processors
    if n_threads > n_processors and not phase.is_apart:  # then time without a processor counts as computing
        scaled *= max(0.0, 1 - (phase.delayed_share or 0.0))
    if n_threads < n_processors:
        rate = of.facts.host.memory_rate
        now, then = (bandwidth.rate_of(rate, of_threads) for of_threads in (n_threads, n_processors))
        bound = sum(cause.ns for cause in causes if cause.key == "memory-bandwidth")
        if now and then:
            scaled = (computing - bound) * n_threads / n_processors + bound * now / then
    low = whole - computing - phase.parts["barrier_ns"] - phase.parts["processor_ns"] + scaled
    ends = min(low, whole), min(WIDEST * low, whole)
    if n_threads > n_processors and phase.is_apart:
        ends = _fast(phase, *ends)
    yield remedy(
        phase,
        "fewer-threads" if n_threads > n_processors else "more-threads",
        ends,
        ({"threads": n_processors},),
        {"n_threads": float(n_threads), "n_processors": float(n_processors)},
    )


def _strict(phase: Phase) -> Remedy:
    """A processor for each thread: at best no thread waits for that of another, at worst half as long as now."""
    left = phase.whole_ns - phase.shared_ns
    ends = _fast(phase, left, left + phase.shared_ns / 2)
    numbers = {"n_threads": float(phase.n_threads), "shared_ns": phase.shared_ns / phase.n_said}
    return remedy(phase, "cpu-strict", ends, ({"cpu_strict": True},), numbers)


def _fast(phase: Phase, low: float, high: float) -> tuple[float, float]:
    """An interval from below its low end on (see `reading.FASTER`), but for what other backends compute."""
    others = phase.parts["elsewhere_ns"]
    return narrowed((low - others) / FASTER + others, high, fast=True)
