"""The file of a run's model on this machine: found by its name, and known by its SHA-256."""

import glob
from collections.abc import Iterable
from pathlib import Path

from tracegen.contract.errors import SettingsError
from tracegen.contract.facts import Facts
from tracegen.contract.model import NAMED_MODELS
from tracegen.contract.text import visible
from tracegen.storing.store import sha256_of


def model_file(citation: str, facts: Facts, named: Path | None, folders: Iterable[Path]) -> str:
    """The model of a run: the named file, one that tracegen can fetch or write, or one in the folders with its hash.

    Raises SettingsError where there is none.
    """
    setting = facts.settings.model
    if named is None and setting in NAMED_MODELS:
        return str(setting)
    wanted, name = facts.model.sha256, str(facts.model.file)
    names = glob.escape(Path(name).name)
    files = [named] if named else [path for place in folders for path in sorted(place.glob(f"**/{names}"))]
    for path in files:
        if path.is_file() and sha256_of(path) == wanted:
            return str(path.absolute())
    if named:
        raise SettingsError(f"{named}: is not the model of {citation}, whose SHA-256 is {wanted}")
    raise SettingsError(f"{citation}: needs its model {visible(name)} (SHA-256 {wanted}); name it: --model FILE")
