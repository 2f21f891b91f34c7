"""A stored run in a notebook: `tracegen.load(run)`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from tracegen import store
from tracegen.analysis.accesses import accesses
from tracegen.errors import SettingsError
from tracegen.model import Run
from tracegen.tables import BY_NAME

EXPERIMENTS = Path("experiments")


@dataclass(frozen=True)
class LoadedRun:
    """A run and its tables; each table is an attribute: `loaded.passes`, `loaded.ops`, …"""

    run: Run
    tables: dict[str, pd.DataFrame]

    def __getattr__(self, name: str) -> pd.DataFrame:
        """A table of tables.py by its name."""
        if name in BY_NAME:
            return self.tables[name]
        raise AttributeError(f"a run has no table {name!r}; there are: {', '.join(BY_NAME)}")

    @cached_property
    def accesses(self) -> pd.DataFrame:
        """One row per operand of every op: see analysis/accesses.py."""
        return accesses(self.tables)


def load_run(run: str | Path) -> LoadedRun:
    """Load a stored run. Raises StoreError or SettingsError."""
    folder = run_folder(str(run))
    return LoadedRun(store.read_run(folder), store.read_tables(folder / "tables"))


def run_folder(given: str, experiments: Path = EXPERIMENTS) -> Path:
    """The folder that a run's path, `NAME/run-003` or `NAME` (its newest run) means.

    Raises SettingsError saying what there is.
    """
    path = Path(given)
    if (path / store.RUN_FILE).is_file():
        return path
    if "@" in given or "versions" in path.parts:
        raise SettingsError(
            f"{given}: is a version; this takes runs, as NAME or NAME/run-003. A version opens in the site"
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
