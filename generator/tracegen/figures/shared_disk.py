"""What the figures of waiting for the disk share: which runs have them, and what a page fault is."""

from __future__ import annotations

from tracegen.figures.figure import When

RECORDED = When("a run that recorded page faults (faults = true)", lambda context: context.run.has_faults)
FAULTS = (
    "A thread that touches a byte of the mapped model file whose page is not in its page table has a page fault. The "
    "time of a fault is waiting for the disk if the page is read (a major fault) or is being read already, by "
    "read-ahead or for another thread (a minor fault); a page that is in memory is mapped within microseconds, which "
    "counts as well."
)
