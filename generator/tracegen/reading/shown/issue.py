"""The lines that `tracegen show --issue` prints: of a run in its public form, or of a version as it was published."""

from pathlib import Path

from tracegen.contract.errors import SettingsError, StoreError
from tracegen.publishing import versions
from tracegen.publishing.bundle import read_bundle
from tracegen.publishing.public_form import public_form
from tracegen.report.document import markdown as md
from tracegen.report.document.page import Report
from tracegen.report.figures.context import Context
from tracegen.report.findings.found import findings
from tracegen.report.pages.issue import PATH, issue_text
from tracegen.storing import store


def of_run(folder: Path) -> str:
    """The lines about a stored run, as its draft has them.

    Raises StoreError when a table is missing or damaged, or when the lines hold what must not become public.
    """
    form = public_form(store.read_run(folder), folder)
    context = Context(form.run, form.tables())
    text = issue_text(context, findings(context), None)
    form.refuse_leaks(Report("", (), {PATH: text.encode()}))
    return text


def of_version(folder: Path) -> str:
    """The lines that a version keeps, and whether it was withdrawn.

    Raises StoreError when a file of the version is missing or has changed, and SettingsError for a draft.
    """
    experiment, number = folder.resolve().parent.parent, folder.resolve().name
    ledger = versions.read_ledger(experiment) if (experiment / versions.LEDGER_FILE).is_file() else {}
    entry = ledger.get(int(number)) if number.isdecimal() else None
    bundle = read_bundle(folder, entry["sha256"] if entry else None)
    if not bundle.document.get("citation"):
        raise SettingsError(f"{folder}: is the draft of a run, not a version; name the run as NAME/run-003")
    if PATH not in bundle.document["manifest"]:
        raise StoreError(f"{folder / PATH}: is missing; publish the run again")
    text = bundle.file(PATH).read_text(encoding="utf-8").rstrip("\n")
    return f"{text}{_withdrawn(experiment, number) if entry else ''}\n"


def _withdrawn(experiment: Path, number: str) -> str:
    """That the version was withdrawn, why, and what replaces it; empty if it was not."""
    entry = versions.read_withdrawn(experiment).get(int(number))
    if entry is None:
        return ""
    successor = entry.get("successor")
    instead = f" Use {md.code(f'{experiment.name}@v{successor}', 100)}." if successor else ""
    return f". **This version is withdrawn**: {md.prose(entry['reason'], 200)}{instead}"
