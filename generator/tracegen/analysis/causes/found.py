"""All causes of a phase."""

from collections.abc import Callable, Iterator

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes import computing, disk, threads
from tracegen.analysis.causes.cause import Cause, Phase, phase_of

# Each takes what it claims from parts of the attribution that no other takes from.
_FIND: tuple[Callable[[Analyses, Phase], Iterator[Cause]], ...] = (
    disk.causes,
    disk.paging,
    computing.causes,
    threads.processor,
    threads.barriers,
    threads.elsewhere,
    threads.outside,
)


def causes(of: Analyses, phase: str) -> list[Cause]:
    """The causes of a phase, the most expensive first; their costs add up to the time of the phase at most."""
    time = phase_of(of, phase)
    found = [] if time is None else [cause for find in _FIND for cause in find(of, time)]
    return sorted(found, key=lambda cause: -cause.ns)
