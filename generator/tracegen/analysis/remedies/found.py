"""All remedies of a run: those that promise more than `remedy.LEAST`, the largest first."""

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, phase_of
from tracegen.analysis.causes.found import causes
from tracegen.analysis.remedies import device, disk, prompt, threads, weights
from tracegen.analysis.remedies.remedy import LEAST, Remedy


def remedies(of: Analyses, phase: str) -> list[Remedy]:
    """What would make a token, or the prompt, faster."""
    time = phase_of(of, phase)
    if time is None:
        return []
    found = causes(of, phase)
    by_key: dict[str, Cause] = {cause.key: cause for cause in found}
    every = [
        *disk.remedies(of, time, by_key),
        *prompt.remedies(of, time, found),
        *threads.remedies(of, time, found),
        *weights.remedies(of, time, found),
        *device.remedies(of, time),
    ]
    return sorted((remedy for remedy in every if remedy.likely >= 1 + LEAST), key=lambda remedy: -remedy.likely)
