"""`tracegen sample`: builds the site of the published sample run; needs no compiler and no llama.cpp."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from tracegen.arguments import PATH, Command
from tracegen.commands import VERBS
from tracegen.commands.build import build_site
from tracegen.errors import EnvironmentFailure, SettingsError

FOLDER = Path("tracegen-sample")


@click.command("sample", cls=Command, help=VERBS["sample"])
@click.argument(
    "folder",
    metavar="[FOLDER]",
    default=FOLDER,
    type=PATH,
    help=f"The folder to make (default {FOLDER}).",
)
def command(folder: Path) -> int:
    """Copy the sample project, build its site, and print the file to open."""
    from tracegen.resources import sample_project

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder}: is not an empty folder; name a new one")
    for name, source in sample_project().items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            if source.is_dir():
                shutil.copytree(source, place)
            else:
                shutil.copyfile(source, place)
        except shutil.Error as error:  # from copytree, with a list of (source, target, reason)
            _, to, why = error.args[0][0]
            raise EnvironmentFailure(f"{to}: cannot be written: {why}") from error
    print(build_site(folder / "mkdocs.yml"))
    return 0
