"""What a format of `tracegen export` is, and what it is given to write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tracegen.contract.errors import SettingsError
from tracegen.contract.model import Run


@dataclass(frozen=True)
class Source:
    """A run or version to export: its address, the run, and its tables, with only the passes that were asked for."""

    name: str  # demo/run-003, demo@v1
    run: Run
    tables: Mapping[str, pd.DataFrame]
    folder: Path  # of the run or version
    restricted: bool = False  # whether passes of the run were left out
    figures: tuple[str, ...] = ()  # the figures that were asked for; none: all
    claims: Sequence[Mapping[str, object]] = ()  # what `tracegen reproduce` judges of a version

    @property
    def stem(self) -> str:
        """The address as a part of a file name: `demo-run-003`, `demo-v1`."""
        return self.name.replace("/", "-").replace("@", "-")

    def table(self, name: str) -> pd.DataFrame:
        """The table `name`. Raises SettingsError when a version holds none, as some of a private run."""
        if name not in self.tables:
            raise SettingsError(f"{self.name}: holds no table {name!r}, which this format needs; export the run")
        return self.tables[name]


@dataclass(frozen=True)
class Format:
    """A format: its name, what it is for, how its file is called, and the function that writes it.

    `write` writes one or more files into an empty folder. A format of one file has a `suffix`; otherwise the folder
    itself is the result. Raises SettingsError when the run lacks what the format needs.
    """

    key: str
    meaning: str
    write: Callable[[Source, Path], None]
    suffix: str | None = None
    plain: bool = False  # its folder has the name of the version alone, which its files use
    whole: bool = False  # it shows the whole run, and takes no choice of passes


def only_passes(tables: Mapping[str, pd.DataFrame], passes: Sequence[int] | None) -> dict[str, pd.DataFrame]:
    """The tables with the rows of these passes alone, and all rows of a table that knows no pass; None: all passes."""
    if passes is None:
        return dict(tables)
    return {
        name: table[table["pass_id"].isin(passes).fillna(False).to_numpy(bool)].reset_index(drop=True)
        if "pass_id" in table
        else table
        for name, table in tables.items()
    }
