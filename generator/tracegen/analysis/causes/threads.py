"""Threads that wait for a processor, or for each other, other backends, and time of passes outside operations."""

from collections.abc import Iterator

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase


def processor(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Waiting for a processor, and behind threads that do."""
    ns = phase.parts["processor_ns"]
    if ns:
        yield phase.cause("processor", ns)


def barriers(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Waiting at barriers, but for page faults."""
    ns = phase.parts["barrier_ns"]
    if ns:
        yield phase.cause("barriers", ns)


def elsewhere(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Time in which another backend computed."""
    ns = phase.parts["elsewhere_ns"]
    if ns:
        yield phase.cause("elsewhere", ns)


def outside(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Time outside operations."""
    ns = phase.parts["outside_ns"]
    if ns:
        yield phase.cause("outside", ns)
