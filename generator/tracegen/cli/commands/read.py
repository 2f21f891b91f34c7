"""`tracegen read`: makes the tables and checks of a run again from its evidence."""

import click

from tracegen.cli.arguments import Verb, run_names


@click.command("read", cls=Verb)
@click.argument("run", metavar="RUN", shell_complete=run_names)
def command(run: str) -> int:
    """Read the evidence, and print the new verdict."""
    from tracegen.foreign import importing
    from tracegen.measure.runs import recording
    from tracegen.reading.folders import run_folder
    from tracegen.storing.store import read_run

    folder = run_folder(run)
    stored = (importing if read_run(folder).facts.imported else recording).read_again(folder)
    print(f"{stored.folder}: tables made again; {stored.verdict}")
    return 0
