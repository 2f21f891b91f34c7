"""What the figures of accesses to the mapped files share: their code, and why there is nothing to show."""

from functools import partial

from tracegen.contract import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure, Table
from tracegen.report.words import access_sentences as say

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
    copied = bool((context.measured_used["memory"] == "copied").any())
    return say.nothing(has_files=len(context.tables["files"]) > 0, copied=copied)


def left_out(context: Context) -> str:
    """The end of captions: what was not recorded; empty if all was."""
    return f" {context.gaps}" if context.gaps else ""
