"""A stored run or a published version in a notebook: `tracegen.load(…)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracegen.analysis.accesses import accesses
from tracegen.analysis.disk_waits import with_tensors
from tracegen.analysis.operations import op_rows
from tracegen.contract import withheld
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run
from tracegen.contract.records import decode
from tracegen.contract.tables import BY_NAME
from tracegen.publishing.bundle import read_bundle
from tracegen.reading.folders import run_folder, version_folder
from tracegen.report.pages import run_file
from tracegen.report.words.token_text import pieces
from tracegen.storing import store

if TYPE_CHECKING:
    from tracegen.reading.notebook.charts import Charts

DOWNLOADS, CHECKS = "data/tables", "data/checks.csv"  # below a version's folder
GENERATED = "data/generated-tokens.csv"  # in older versions the text of these tokens alone
CHECK_COLUMNS = [field.name for field in fields(Check)]


class LoadedTables(dict[str, pd.DataFrame]):
    """Tables by name; a missing one raises a StoreError that lists the existing ones."""

    def __init__(self, source: str, tables: Mapping[str, pd.DataFrame]) -> None:
        """Take the tables of `source`."""
        super().__init__(tables)
        self._source = source

    def __missing__(self, name: str) -> pd.DataFrame:
        """Raise StoreError: there is no table `name`."""
        raise StoreError(f"{self._source} holds no table {name!r}; it holds: {', '.join(self) or 'none'}")


@dataclass(frozen=True)
class Loaded(ABC):
    """A loaded run or version; each table of tables.py is an attribute: `loaded.passes`, `loaded.ops`, …"""

    tables: LoadedTables

    def __getattr__(self, name: str) -> pd.DataFrame:
        """A table of tables.py by its name."""
        if name in BY_NAME:
            return self.tables[name]
        raise AttributeError(f"there is no table {name!r}; there are: {', '.join(BY_NAME)}")

    @cached_property
    def tokens(self) -> pd.DataFrame:
        """The table of tokens with `text`: the text of each; null where it is not known, and of a private run."""
        tokens, texts = self.tables["tokens"], pieces(self.measured.facts.text.pieces)
        return tokens.assign(text=tokens["token_id"].map(texts).astype("string"))

    @cached_property
    def faults(self) -> pd.DataFrame:
        """The table of page faults with `tensor` and `tensor_name`: which tensor holds the byte; null for none."""
        return with_tensors(self.tables)

    @cached_property
    def operations(self) -> pd.DataFrame:
        """One row per op of each pass, with operation, name, layer and times: see analysis/operations.py."""
        return op_rows(self.tables, accessed=self.accesses)

    @cached_property
    def accesses(self) -> pd.DataFrame:
        """One row per operand of every op: see analysis/accesses.py."""
        return accesses(self.tables)

    @property
    def checks(self) -> pd.DataFrame:
        """One row per check: key, title, state, found, limit, detail."""
        return pd.DataFrame([asdict(check) for check in self.measured.checks], columns=CHECK_COLUMNS)

    @cached_property
    def charts(self) -> Charts:
        """The figures of the pages as altair charts: `charts.heatmap()`; `charts` alone lists them."""
        from tracegen.reading.notebook.charts import Charts  # loads altair

        return Charts(self.measured, self.tables)

    @property
    @abstractmethod
    def measured(self) -> Run:
        """The run, with the facts that are known here."""


@dataclass(frozen=True, repr=False)
class LoadedRun(Loaded):
    """A run and all its tables."""

    run: Run

    @property
    def measured(self) -> Run:
        """The run as it was stored."""
        return self.run

    def __repr__(self) -> str:
        """One line for a notebook: the tables are looked at by their names."""
        return f"<{self.run.experiment}/{self.run.name}: {self.run.verdict}, {len(self.tables)} tables>"


@dataclass(frozen=True, repr=False)
class LoadedVersion(Loaded):
    """A version: the tables of its downloads, and its `version.json` (`document`): runs, verdict, message, values, …"""

    citation: str
    document: Mapping[str, Any]
    run_checks: tuple[Check, ...]
    run_facts: Facts

    @property
    def measured(self) -> Run:
        """The run of the version, with its checks and facts."""
        document = self.document
        return Run(document["experiment"], document["runs"][0], document["created"], self.run_checks, self.run_facts)

    def __repr__(self) -> str:
        """One line for a notebook: the tables are looked at by their names."""
        return f"<{self.citation}: {self.document.get('verdict')}, {len(self.tables)} tables>"


def load(named: str, only: Collection[str] = tuple(BY_NAME)) -> LoadedRun | LoadedVersion:
    """Load the run or version that a path, `NAME`, `NAME/run-003` or `NAME@v1` names: see `tracegen.load`.

    `only`: the tables to read; reading all takes long.
    """
    folder = version_folder(named)
    return load_run(named, only) if folder is None else load_version(folder, only)


def load_run(run: str | Path, only: Collection[str] = tuple(BY_NAME)) -> LoadedRun:
    """Load a stored run, with the tables in `only`. Raises StoreError or SettingsError."""
    folder = run_folder(str(run))
    stored = store.read_run(folder)
    tables = store.read_tables(folder / "tables", tuple(only))
    return LoadedRun(LoadedTables(f"{stored.experiment}/{stored.name}", tables), stored)


def load_version(folder: Path, only: Collection[str] = tuple(BY_NAME)) -> LoadedVersion:
    """Load the tables of a version's downloads, or those of them in `only`.

    Raises StoreError when one of them is missing or has changed, and SettingsError for the folder of a draft.
    """
    document = read_bundle(folder).document
    citation = document.get("citation")
    if not citation:
        raise SettingsError(f"{folder}: is the draft of a run, not a version; load the run")
    manifest = document["manifest"]
    names = [name for name in BY_NAME if f"{DOWNLOADS}/{name}.parquet" in manifest]
    wanted = [f"{DOWNLOADS}/{name}.parquet" for name in names if name in only] + [CHECKS, run_file.PATH]
    for name in wanted:
        store.published_file(folder, name, manifest)
    # A version published before some tables existed has no rows for them: they are empty.
    extension = max((BY_NAME[name].added for name in names), default=0)
    if names:
        names += [name for name, table in BY_NAME.items() if table.added > extension]
    read = tuple(name for name in names if name in only)
    tables = store.read_tables(folder / DOWNLOADS, read) if read else {}
    stored = store.read_json(folder / run_file.PATH, run_file.SCHEMA, run_file.SHAPE)
    facts = withheld.facts(decode(Facts, stored["facts"]))
    if facts.text.pieces is None and GENERATED in manifest:
        facts = replace(
            facts, text=replace(facts.text, pieces=_pieces(store.published_file(folder, GENERATED, manifest)))
        )
    return LoadedVersion(LoadedTables(citation, tables), citation, document, _checks(folder / CHECKS), facts)


def _pieces(path: Path) -> dict[str, str]:
    """The text of generated tokens in the CSV of a version, by their ids."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return {token: text for token, text in zip(rows["token_id"], rows["text"], strict=True) if text}


def _checks(path: Path) -> tuple[Check, ...]:
    """The checks in the CSV of a version."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    return tuple(Check(**{str(name): value for name, value in row.items()}) for row in rows)
