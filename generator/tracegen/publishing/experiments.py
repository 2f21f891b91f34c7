"""What the folder of an experiment is, and that no two of them have names that some file systems mix up."""

from collections.abc import Iterable
from pathlib import Path

from tracegen.contract.errors import SettingsError
from tracegen.publishing.versions import LEDGER_FILE
from tracegen.storing import store


def is_experiment(folder: Path) -> bool:
    """Whether the folder has settings, versions or runs; one in which every run failed has none of these."""
    marks = ("experiment.toml", LEDGER_FILE, "versions")
    return any((folder / mark).exists() for mark in marks) or bool(store.run_folders(folder))


def refuse_same_names(folders: Iterable[Path]) -> None:
    """Raise SettingsError if the names of two folders differ only in case: some file systems take both for one."""
    known: dict[str, Path] = {}
    for folder in folders:
        other = known.setdefault(folder.name.casefold(), folder)
        if other.name != folder.name:
            raise SettingsError(
                f"{other} and {folder}: differ only in case, so on macOS, on Windows and in a site that is copied "
                "there one would overwrite the other; rename one of the folders"
            )


def refuse_same_name(folder: Path) -> None:
    """Raise SettingsError if the name of an experiment beside this one differs from its name only in case.

    The folder need not exist. Folders that cannot be listed are not looked at.
    """
    place = folder if folder.name else folder.absolute()
    try:
        alike = sorted(path for path in place.parent.iterdir() if path.name.casefold() == place.name.casefold())
        refuse_same_names([*filter(is_experiment, alike), place])
    except OSError:
        return
