"""What another number of threads would change."""

from collections.abc import Iterator, Mapping

from tracegen.analysis import bandwidth
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.remedies.remedy import Remedy


def remedies(of: Analyses, phase: Phase, causes: Mapping[str, Cause]) -> Iterator[Remedy]:
    """Fewer threads where there are more than processors; more where processors are left.

    Fewer: at most the waiting at barriers goes. More: computing is shared among more, where the memory bandwidth that
    was measured with so many threads allows it; at least nothing changes.
    """
    barriers = causes.get("barriers")
    if barriers is None or "n_processors" not in barriers.numbers:
        return
    threads, processors = (int(barriers.numbers[name]) for name in ("n_threads", "n_processors"))
    n, whole = phase.n_passes, phase.whole_ns
    numbers = {"n_threads": float(threads), "n_processors": float(processors)}
    if threads > processors:
        yield Remedy(
            key="fewer-threads",
            settings=({"threads": processors},),
            now_ns=whole / n,
            low_ns=(whole - barriers.ns) / n,
            high_ns=whole / n,
            numbers={**numbers, "barrier_share": barriers.share},
        )
    elif threads < processors:
        rate = of.facts.host.memory_rate
        now, then = (bandwidth.rate_of(rate, of_threads) for of_threads in (threads, processors))
        faster = min(processors / threads, then / now) if now and then else processors / threads
        bound = sum(cause.ns for key, cause in causes.items() if key == "memory-bandwidth")
        computing = phase.parts["computing_ns"]
        left = whole - computing + bound / faster + (computing - bound) * threads / processors
        yield Remedy(
            key="more-threads",
            settings=({"threads": processors},),
            now_ns=whole / n,
            low_ns=left / n,
            high_ns=whole / n,
            numbers=numbers,
        )
