"""Which folder of a run or of a version an address means: `NAME/run-003`, `NAME`, `NAME@v1`. Loads no pandas."""

from __future__ import annotations

from pathlib import Path

from tracegen import address, store
from tracegen.errors import SettingsError
from tracegen.publishing.bundle import VERSION_FILE

EXPERIMENTS = Path("experiments")


def version_folder(given: str, experiments: Path = EXPERIMENTS) -> Path | None:
    """The folder that a version's path or `NAME@vN` means; None when it is no address of a version.

    Raises SettingsError when there is no such version, saying which there are.
    """
    path = Path(given)
    if (path / VERSION_FILE).is_file():
        return path
    named = address.split_version(given)
    if named is None:
        return None
    name = Path(named[0])
    versions = (name if name.is_dir() else experiments / name) / "versions"
    folder = versions / str(named[1])
    if not (folder / VERSION_FILE).is_file():
        known = ", ".join(f"v{path.name}" for path in store.run_folders_in(versions))
        raise SettingsError(f"{given}: there is no such version; {versions} has {known or 'none'}")
    return folder


def run_folder(given: str, experiments: Path = EXPERIMENTS) -> Path:
    """The folder that a run's path, `NAME/run-003` or `NAME` (its newest run) means.

    Raises SettingsError saying what there is.
    """
    path = Path(given)
    if (path / store.RUN_FILE).is_file():
        return path
    if "@" in given or "versions" in path.parts:
        raise SettingsError(
            f"{given}: is a version; this takes runs, as NAME or NAME/run-003. A version opens in the site; "
            "`tracegen.load` gives its tables"
        )
    name, _, number = given.partition("/")
    experiment = path if (path / "runs").is_dir() else experiments / name
    runs = store.run_folders(experiment)
    if not runs:
        if (experiment / "experiment.toml").is_file():
            raise SettingsError(f"{given}: no runs here; `tracegen run {name}` makes one")
        known = ", ".join(sorted(p.parent.name for p in experiments.glob("*/runs") if store.run_folders(p.parent)))
        raise SettingsError(f"{given}: there is no such run; experiments with runs: {known or 'none here'}")
    if not number or experiment == path:
        return runs[-1]
    wanted = [folder for folder in runs if number in (f"run-{folder.name}", folder.name)]
    if not wanted:
        known = ", ".join(f"run-{folder.name}" for folder in runs)
        raise SettingsError(f"{given}: there is no such run; {experiment} has {known}")
    return wanted[0]
