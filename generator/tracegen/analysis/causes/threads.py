"""Threads that wait for a processor, or for each other, other backends, and time of passes outside operations."""

from collections.abc import Iterator

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.pass_parts import OUTSIDE_OPS


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
    """Time outside operations; copying_ns of it: copying between backends."""
    ns = phase.parts["outside_ns"]
    if ns:
        rows = of.outside_ops[of.outside_ops["phase"].eq(phase.name).to_numpy(bool)]
        copied = float(rows[rows["part"].eq(OUTSIDE_OPS["copying_ns"]).to_numpy(bool)]["duration_ns"].sum())
        yield phase.cause("outside", ns, {"copying_ns": min(copied, ns)} if copied else None)
