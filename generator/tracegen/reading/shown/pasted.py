"""The lines that `tracegen show --issue` prints: of a run in its public form, or of a version as it was published."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tracegen.analysis.passes import measured
from tracegen.analysis.speed import Speed, speed_of
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.model import Run, Version
from tracegen.publishing import errata, versions
from tracegen.publishing.bundle import Bundle, read_bundle
from tracegen.publishing.held import facts_of
from tracegen.publishing.public_form import public_form
from tracegen.reading.notebook.loaded import load_version
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.page import Report
from tracegen.report.pages.pasted import pasted, path_of
from tracegen.report.words import markdown as md
from tracegen.storing import store
from tracegen.storing.resources import package_version


def of_run(folder: Path, part: str) -> str:
    """The lines about a part of a stored run, as its draft has them; with mean speeds, if it was repeated.

    Raises StoreError when a table is missing or damaged, or when the lines hold what must not become public.
    """
    form = public_form(store.read_run(folder), folder)
    text = pasted(Collector(form.run, form.tables()), part, _repeats(folder, form.stored))
    form.refuse_leaks(Report("", (), {path_of(part): text.encode()}))
    return text


def _repeats(folder: Path, run: Run) -> list[Speed]:
    """The speeds of the usable runs that repeat this one, itself among them; empty if there are not several.

    They are the runs of its series, or of its cell of a matrix, that read as many tokens. Runs that cannot be read do
    not count.
    """
    place = _place(run)
    if place is None or run.verdict == "not usable":
        return []
    speeds = {}
    for path in store.run_folders(folder.resolve().parent.parent):
        with suppress(StoreError):
            other = store.read_run(path)
            if _place(other) == place and other.verdict != "not usable":
                speeds[path] = speed_of(measured(store.read_tables(path / "tables", ("passes",))))
    own = speeds.get(folder.resolve())
    kept = [speed for speed in speeds.values() if own and speed.prompt_tokens == own.prompt_tokens]
    return kept if len(kept) > 1 else []


def _place(run: Run) -> tuple[object, ...] | None:
    """What runs that repeat each other have in common: their series, or their matrix and its factors."""
    series, slot = run.facts.get("repetition"), run.facts.get("slot")
    if isinstance(slot, Mapping):
        return ("matrix", slot.get("matrix"), tuple(sorted((slot.get("factors") or {}).items())))
    if isinstance(series, Mapping) and series.get("first_run"):
        return ("series", series["first_run"])
    return None


def of_version(folder: Path, part: str) -> str:
    """The lines about a part of a version, and whether it was withdrawn.

    A version keeps them as a file; for an older one they are worked out from its tables and from what is known of its
    facts. Raises StoreError when a file of the version is missing or has changed, and SettingsError for a draft.
    """
    experiment, number = folder.resolve().parent.parent, folder.resolve().name
    ledger = versions.read_ledger(experiment) if (experiment / versions.LEDGER_FILE).is_file() else {}
    entry = ledger.get(int(number)) if number.isdecimal() else None
    bundle = read_bundle(folder, entry["sha256"] if entry else None)
    if not bundle.document.get("citation"):
        raise SettingsError(f"{folder}: is the draft of a run, not a version; name the run as NAME/run-003")
    path = path_of(part)
    kept = bundle.file(path).read_text(encoding="utf-8") if path in bundle.document["manifest"] else None
    text = _worked_out(bundle, part) if kept is None else kept
    notes = [*([] if kept is not None else _counted_anew(bundle)), *(_withdrawn(experiment, number) if entry else [])]
    return text.rstrip("\n") + "".join(f". {note}" for note in notes) + "\n"


def _worked_out(bundle: Bundle, part: str) -> str:
    """The lines about a part of a version that keeps none."""
    loaded, document = load_version(bundle.folder), bundle.document
    if not loaded.tables:
        raise SettingsError(f"{document['citation']}: holds no tables of its run; its pages say what was found")
    facts = facts_of(bundle)
    run = Run(document["experiment"], document["runs"][0], document["created"], loaded.run_checks, facts)
    citable = Version(
        run.experiment, int(document["version"]), run.created, "", tuple(document["runs"]), run.verdict, ""
    )
    return pasted(Collector(run, loaded.tables, citable=citable), part)


def _counted_anew(bundle: Bundle) -> list[str]:
    """That the numbers are not those of the version's own pages, if its tracegen had faults since mended."""
    generator = str(bundle.document.get("generator"))
    faults = errata.errata_of(generator, created=str(bundle.document.get("created", "")))
    if not faults:
        return []
    titles = "; ".join(fault.title for fault in faults[:3])
    more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
    return [
        f"Counted by tracegen {package_version()} from the version’s tables: its pages, by {md.prose(generator, 40)}, "
        f"differ where that had faults ({titles}{more})"
    ]


def _withdrawn(experiment: Path, number: str) -> list[str]:
    """That the version was withdrawn, why, and what replaces it; empty if it was not."""
    entry = versions.read_withdrawn(experiment).get(int(number))
    if entry is None:
        return []
    successor = entry.get("successor")
    instead = f" Use {md.code(f'{experiment.name}@v{successor}', 100)}." if successor else ""
    return [f"**This version is withdrawn**: {md.prose(entry['reason'], 200)}{instead}"]
