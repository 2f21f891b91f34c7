"""What the figures of memory share."""

from tracegen.report.figures.context import OUTSIDE, Context

USE = "use = coverage.measured_use(run.tables)\n"


def bounds(context: Context) -> str:
    """What a table of touched bytes leaves out."""
    return f"{OUTSIDE} {context.gaps}".strip()
