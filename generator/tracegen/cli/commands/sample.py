"""`tracegen sample`: builds the site of the published sample run; needs no compiler and no llama.cpp."""

import shutil
from pathlib import Path

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.cli.commands.build import build_site
from tracegen.contract.errors import EnvironmentFailure, SettingsError, os_errors
from tracegen.storing.parts import remove_left
from tracegen.storing.store import part_folder

FOLDER = Path("tracegen-sample")


@click.command("sample", cls=Verb)
@click.argument(
    "folder",
    metavar="[FOLDER]",
    default=FOLDER,
    type=PATH,
    help=f"The folder to make (default {FOLDER}).",
)
def command(folder: Path) -> int:
    """Copy the sample project, build its site, and print the file to open."""
    remove_left(folder)
    _refuse_taken(folder)
    with part_folder(folder if folder.exists() else folder.parent) as part:
        _copy_project(part)
        front = build_site(part / "mkdocs.yml").resolve().relative_to(part.resolve())
        _refuse_taken(folder, part)
        with os_errors(f"{folder}: cannot be written"):
            if folder.exists():
                for path in sorted(part.iterdir()):
                    path.rename(folder / path.name)
            else:
                part.rename(folder)
    print(folder / front)
    return 0


def _refuse_taken(folder: Path, part: Path | None = None) -> None:
    """Raise SettingsError when the folder holds anything but `part`."""
    if folder.exists() and (not folder.is_dir() or any(path != part for path in folder.iterdir())):
        raise SettingsError(f"{folder}: is not an empty folder; name a new one")


def _copy_project(folder: Path) -> None:
    from tracegen.storing.resources import sample_project

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
