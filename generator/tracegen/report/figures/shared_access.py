"""What the figures of accesses to the mapped files share: their code, and why there is nothing to show."""

from functools import partial

from tracegen.contract import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure, Table

ACCESSES = """
used = accesses.ranges(run.tables)
touched = order.disk_accesses(run.tables, used)
"""
cache_figure = partial(Figure, section="cache", needs=needs.FILE_USE)
cache_table = partial(Table, section="cache", needs=needs.FILE_USE)
order_figure = partial(Figure, section="order", needs=needs.BYTES)
order_table = partial(Table, section="order", needs=needs.BYTES)


def nothing(context: Context) -> str:
    """Why no access is known; empty if one is."""
    if len(context.disk_accesses):
        return ""
    if context.tables["files"].empty:
        return "The trace names no model file."
    if (context.measured_used["memory"] == "copied").any():
        return (
            "No operation of a measured pass touched the mapped file: the weights that it read were copied into memory "
            "when the model was loaded."
        )
    return "No operation of a measured pass touched the mapped model file."


def left_out(context: Context) -> str:
    """The end of captions: what was not recorded; empty if all was."""
    return f" {context.gaps}" if context.gaps else ""
