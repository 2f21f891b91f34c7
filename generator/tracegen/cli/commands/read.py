"""`tracegen read`: makes the tables and checks of a run anew from its evidence."""

import click

from tracegen.cli.arguments import Command, run_names
from tracegen.cli.commands import VERBS


@click.command("read", cls=Command, help=VERBS["read"])
@click.argument(
    "run", metavar="RUN", shell_complete=run_names, help="Folder of a run, or NAME/run-003, or NAME for its newest run."
)
def command(run: str) -> int:
    """Read the evidence, and print the new verdict."""
    from tracegen.measure.runs.recording import read_again
    from tracegen.reading.folders import run_folder

    stored = read_again(run_folder(run))
    print(f"{stored.folder}: tables made anew; {stored.verdict}")
    return 0
