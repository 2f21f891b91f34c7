"""`tracegen read`: make a run's tables and checks anew from its evidence."""

from __future__ import annotations

import argparse

from tracegen.notebook.loaded import run_folder
from tracegen.runs.recording import read_again

NAME = "read"
HELP = "Make the tables and checks of a run anew from its evidence (after an upgrade of tracegen)."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen read`."""
    parser.add_argument("run", metavar="RUN", help="a run's folder, or NAME/run-003, or NAME for its newest run")


def run(args: argparse.Namespace) -> int:
    """Read, and say what the checks now are."""
    made = read_again(run_folder(args.run))
    print(f"{made.folder}: tables made anew; {made.verdict}")
    return 0
