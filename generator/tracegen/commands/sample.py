"""`tracegen sample`: the site of the published sample run, without compiler or llama.cpp."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tracegen.commands.build import build_site
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.resources import sample_project

NAME = "sample"
HELP = "Make a folder with the published sample run and build its site: needs no compiler and no llama.cpp."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen sample`."""
    parser.add_argument("folder", nargs="?", default="tracegen-sample", help="where to (default tracegen-sample)")


def run(args: argparse.Namespace) -> int:
    """Copy the project, build it, print the file to open."""
    target = Path(args.folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SettingsError(f"{target}: is not an empty folder; give one that is new")
    for name, source in sample_project().items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            if source.is_dir():
                shutil.copytree(source, place)
            else:
                shutil.copyfile(source, place)
        except shutil.Error as error:  # of a whole tree: a list of (from, to, why)
            _, to, why = error.args[0][0]
            raise EnvironmentFailure(f"{to}: cannot be written: {why}") from error
    print(build_site(target / "mkdocs.yml"))
    return 0
