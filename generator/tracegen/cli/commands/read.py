"""`tracegen read`: makes the tables and checks of a run anew from its evidence."""

import click

from tracegen.cli.arguments import Verb, run_names


@click.command("read", cls=Verb)
@click.argument("run", metavar="RUN", shell_complete=run_names)
def command(run: str) -> int:
    """Read the evidence, and print the new verdict."""
    from tracegen.measure.runs.recording import read_again
    from tracegen.reading.folders import run_folder

    stored = read_again(run_folder(run))
    print(f"{stored.folder}: tables made anew; {stored.verdict}")
    return 0
