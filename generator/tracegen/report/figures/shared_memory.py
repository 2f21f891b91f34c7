"""What the figures of memory share."""

from __future__ import annotations

from tracegen.report.figures.context import OUTSIDE, Context

TOUCHED = (
    "Touched are the bytes of a tensor that an operation reads or writes according to its shapes; if it selects rows "
    "or experts, only theirs. What the processor’s caches or the kernel’s pages did is not counted."
)
MEASURED = "All measured passes: load and warm-up are left out."
USE = "from tracegen.analysis import coverage\nuse = coverage.measured_use(run.tables)\n"


def bounds(context: Context) -> str:
    """What a table of touched bytes leaves out."""
    return f"{OUTSIDE} {context.gaps}".strip()
