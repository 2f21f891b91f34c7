"""`tracegen read`: make a run's tables and checks anew from its evidence."""

from __future__ import annotations

import click

from tracegen.arguments import Command, run_names
from tracegen.commands import VERBS


@click.command("read", cls=Command, help=VERBS["read"])
@click.argument(
    "run", metavar="RUN", shell_complete=run_names, help="Folder of a run, or NAME/run-003, or NAME for its newest run."
)
def command(run: str) -> int:
    """Read, and say what the checks now are."""
    from tracegen.folders import run_folder
    from tracegen.runs.recording import read_again

    made = read_again(run_folder(run))
    print(f"{made.folder}: tables made anew; {made.verdict}")
    return 0
