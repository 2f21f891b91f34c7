"""Prints pairs and tables on a terminal. Output into a file or a pipe is plain text, and made elsewhere."""

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

STYLES = {
    "complete": "green",
    "complete with warnings": "yellow",
    "not usable": "bold red",
    "not recorded": "dim",
}
_STATES = {"failed:": "bold red", "warning:": "yellow"}  # by the start of the name of a pair


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print one line per pair: name, value. A long value is wrapped within its column."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        style = next((style for begin, style in _STATES.items() if name.startswith(begin)), "bold")
        table.add_row(Text(name, style), Text(value, STYLES.get(value, "")))
    Console(highlight=False).print(table)


def print_table(columns: Mapping[str, Sequence[str]], numbers: Sequence[str]) -> bool:
    """Print a table of texts; the columns in `numbers` are aligned to the right.

    Returns False, and prints nothing, when the table is wider than the terminal.
    """
    console = Console(highlight=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(Text(name), justify="right" if name in numbers else "left", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    if console.measure(table, options=console.options.update(width=1 << 16)).maximum > console.width:
        return False
    console.print(table)
    return True
