"""The folders of experiments, and those of runs and versions by address: `NAME/run-003`, `NAME`, `NAME@v1`.

Imports no pandas.
"""

from pathlib import Path

from tracegen.contract import address
from tracegen.contract.errors import SettingsError
from tracegen.publishing.bundle import VERSION_FILE
from tracegen.storing import store
from tracegen.storing.parts import remove_left

EXPERIMENTS = Path("experiments")


def version_folder(text: str, experiments: Path = EXPERIMENTS) -> Path | None:
    """The folder of the version that `text` (its path, or `NAME@vN`) names; None when `text` names no version.

    Raises SettingsError, listing the existing versions, when there is no such version.
    """
    path = Path(text)
    if (path / VERSION_FILE).is_file():
        return path
    named = address.split_version(text)
    if named is None:
        return None
    name = Path(named[0])
    versions = (name if name.is_dir() else experiments / name) / "versions"
    folder = versions / str(named[1])
    if not (folder / VERSION_FILE).is_file():
        known = ", ".join(f"v{path.name}" for path in store.run_folders_in(versions))
        raise SettingsError(f"{text}: there is no such version; {versions} has {known or 'none'}")
    return folder


def run_folder(text: str, experiments: Path = EXPERIMENTS) -> Path:
    """The folder of the run that `text` names: its path, `NAME/run-003`, or `NAME` for the newest run.

    Raises SettingsError, listing the existing runs, when there is no such run.
    """
    path = Path(text)
    if (path / store.RUN_FILE).is_file():
        return path
    if "@" in text or "versions" in path.parts:
        raise SettingsError(
            f"{text}: is a version, but a run is needed: name one as NAME or NAME/run-003. The site shows versions; "
            "`tracegen.load` gives their tables"
        )
    name, _, number = text.partition("/")
    experiment = path if (path / "runs").is_dir() else experiments / name
    remove_left(experiment / "runs")
    runs = store.run_folders(experiment)
    if not runs:
        if (experiment / "experiment.toml").is_file():
            raise SettingsError(f"{text}: has no run yet; `tracegen run {name}` makes one")
        known = ", ".join(sorted(p.parent.name for p in experiments.glob("*/runs") if store.run_folders(p.parent)))
        raise SettingsError(f"{text}: there is no such run; experiments with runs: {known or 'none here'}")
    if not number or experiment == path:
        return runs[-1]
    wanted = [folder for folder in runs if number in (f"run-{folder.name}", folder.name)]
    if not wanted:
        known = ", ".join(f"run-{folder.name}" for folder in runs)
        raise SettingsError(f"{text}: there is no such run; {experiment} has {known}")
    return wanted[0]
