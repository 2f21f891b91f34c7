"""The public form of a stored run and of an experiment's settings: the only form in which they leave their folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.contract import documents
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import Run
from tracegen.contract.settings import prompt_in
from tracegen.publishing import privacy
from tracegen.publishing.tried import tried_of
from tracegen.report.document.page import Report
from tracegen.storing import store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PublicForm:
    """A run without names and paths and, if it is private, without texts; `stored` is as it was recorded.

    `stored` is private also where the experiment asks for that only since. `known`: names that were replaced.
    """

    run: Run
    stored: Run
    folder: Path
    known: tuple[str, ...]

    def tables(self, stored: Mapping[str, pd.DataFrame] | None = None) -> dict[str, pd.DataFrame]:
        """All tables of the run in their public form; `stored`: those of its folder, if they were read before.

        Raises StoreError when a table is missing or damaged.
        """
        return privacy.public_tables(self.stored, stored or store.read_tables(self.folder / "tables"))

    def refuse_leaks(self, report: Report) -> None:
        """Raise StoreError when the report holds what must not become public."""
        privacy.refuse_leaks(self.stored, report, self.known)


def public_form(run: Run, folder: Path, known: tuple[str, ...] | None = None) -> PublicForm:
    """The public form of the run in `folder`; `known` are the names to replace, by default those of this machine.

    Raises SettingsError when the settings of its experiment cannot be read: they may ask for privacy.
    """
    if privacy.is_requested(folder.resolve().parents[1]):
        run = privacy.made_private(run)
    tried = tried_of(folder.resolve().parents[2], f"{run.experiment}/{run.name}")
    if tried:
        run = replace(run, facts=replace(run.facts, tried=tried))
    names = privacy.this_machine() if known is None else known
    return PublicForm(privacy.public_run(run, names), run, folder, names)


def public_settings(folder: Path, known: tuple[str, ...]) -> Mapping[str, Any]:
    """What the experiment.toml of a folder holds, in its public form; `known` are the names to replace.

    Nothing if it cannot be read: `tracegen run` reports what is wrong with it.
    """
    try:
        settings = documents.read_toml(folder / "experiment.toml")
    except (OSError, SettingsError):
        return {}
    hidden = prompt_in(settings, folder)[0] if settings.get("private") is True else ""
    public: Mapping[str, Any] = privacy.scrub({"settings": settings, "text": {"prompt": hidden}}, known)["settings"]
    return public
