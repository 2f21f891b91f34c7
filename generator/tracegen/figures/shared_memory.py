"""What the figures of memory share."""

from __future__ import annotations

from tracegen.figures.context import OUTSIDE, Context

TOUCHED = (
    "Touched is what an operation uses of a tensor by its shapes, and where it selects rows or experts only those; "
    "not what the processor’s caches or the kernel’s pages did."
)
MEASURED = "All measured passes: load and warm-up are left out."
USE = "from tracegen.analysis import coverage\nuse = coverage.measured_use(run.tables)\n"


def bounds(context: Context) -> str:
    """What a table of used bytes leaves out."""
    return f"{OUTSIDE} {context.gaps}".strip()
