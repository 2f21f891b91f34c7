"""Publishing: freeze a report as a version, enter it in the ledger, and withdraw versions.

    experiments/NAME/versions/N/    the bundle, which never changes
    experiments/NAME/ledger.json    every version ever published, with the hash of its version.json
    experiments/NAME/status.json    the withdrawn versions: reason, successor, and earlier reasons

A version is superseded as soon as a newer one exists that is not withdrawn. The cells of the newest matrix do not
supersede each other: only a newer version of the same cell does.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from tracegen.contract import shapes
from tracegen.contract.address import name_problem
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.model import Run, Verdict, Version
from tracegen.contract.text import printable
from tracegen.publishing import citation, privacy
from tracegen.publishing.bundle import VERSION_FILE, Bundle, read_bundle, verify_bundle, write_bundle
from tracegen.publishing.cells import cell_of, same_cell
from tracegen.report.document.page import Report
from tracegen.storing import locks, resources, store
from tracegen.storing.hashes import HashCache

SCHEMA = 1
LEDGER_FILE = "ledger.json"
STATUS_FILE = "status.json"
VERDICTS = get_args(Verdict)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LEDGER: Mapping[str, Any] = {
    shapes.NEEDED: ("versions",),
    "versions": [
        {shapes.NEEDED: ("version", "sha256"), "version": int, "created": shapes.TEXT, "sha256": str},
    ],
}
_WITHDRAWN = {
    shapes.NEEDED: ("reason",),
    "reason": str,
    "successor": shapes.COUNT,
    "created": shapes.TEXT,
    "earlier": [{"reason": str}],
}
_STATUS: Mapping[str, Any] = {shapes.NEEDED: ("withdrawn",), "withdrawn": {shapes.ANY: _WITHDRAWN}}


@dataclass(frozen=True)
class Published:
    """A version with its bundle; reason and successor if it is withdrawn, successor if it is superseded."""

    version: Version
    bundle: Bundle
    reason: str = ""
    successor: int | None = None


def _planned(
    experiment_folder: Path, run: Run, message: str, now: datetime, ledger: Mapping[int, object], *, again: bool
) -> Version:
    """The version that publishing this run now would create, beside those in the ledger. Raises SettingsError."""
    name = experiment_folder.name
    problem = name_problem(name)
    if problem:
        raise SettingsError(f"{experiment_folder}: the name of an experiment cannot be {problem}")
    if not message.strip():
        raise SettingsError('the message is empty; say why this version is published: -m "why"')
    if not again and (citation := published_as(experiment_folder, run, ledger)):
        raise SettingsError(
            f"{name}/{run.name} is published already, as {citation}; record a new run of {name}, or add --again to "
            "publish it once more"
        )
    number = max([store.next_number(experiment_folder / "versions"), *(n + 1 for n in ledger)])
    return Version(
        experiment=name,
        number=number,
        created=_written(now),
        message=printable(privacy.public_text(message.strip())),
        runs=(run.number,),
        verdict=run.verdict,
        title=question_of(run),
        folder=experiment_folder / "versions" / str(number),
    )


def publish(
    experiment_folder: Path,
    run: Run,
    draw: Callable[[Version], Report],
    message: str,
    now: datetime,
    *,
    again: bool = False,
) -> Version:
    """Freeze the report that `draw` makes of the planned version, and enter it in the ledger.

    The run must be its public form (privacy.public_run). Another process that publishes here waits meanwhile. Raises
    SettingsError for an empty message, and, unless `again` is true, for a run that is published already; StoreError
    when an earlier publishing was cut short, EnvironmentFailure when the disk is full, and, before anything is drawn,
    when the version could not be written.
    """
    with alone(experiment_folder):
        ledger = read_ledger(experiment_folder)
        _refuse_unlisted(experiment_folder, ledger)
        planned = _planned(experiment_folder, run, message, now, ledger, again=again)
        cited, cell = cited_with(experiment_folder, planned.name), cell_of(run.facts)
        author, url, licence = (cited.get(key, "") for key in ("author", "url", "licence"))
        title = citation.title_of(planned.title, cell)
        assert planned.folder is not None
        for folder in (experiment_folder, planned.folder.parent):
            store.refuse_unwritable(folder, "the version goes there: make it writable")
        report = draw(replace(planned, title=title, author=author, url=url, licence=licence))
        version = replace(planned, title=report.title)
        assert version.folder is not None
        with store.whole_folder(version.folder, public=True) as beside:
            write_bundle(beside, report, identity_of(version, question_of(run)) | cell | cited)
        _enter(experiment_folder, ledger, version)
    return version


def _written(now: datetime) -> str:
    """A time as records have it: in UTC, to the second."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cited_with(experiment_folder: Path, name: str) -> dict[str, str]:
    """Author, address and licence of the version `name` of an experiment, where mkdocs.yml has them."""
    config = experiment_folder.parent.parent / "mkdocs.yml"
    return citation.site_facts(config, f"experiments/{experiment_folder.name}/{name}")


def _enter(experiment_folder: Path, ledger: Mapping[int, Mapping[str, Any]], version: Version) -> None:
    """Write the ledger with an entry of the new version, whose folder is removed where that fails."""
    assert version.folder is not None
    digest = store.sha256_of(version.folder / VERSION_FILE)
    entries = [*ledger.values(), {"version": version.number, "created": version.created, "sha256": digest}]
    try:
        store.write_json(
            experiment_folder / LEDGER_FILE,
            {"schema": SCHEMA, "experiment": experiment_folder.name, "versions": entries},
        )
    except BaseException:
        shutil.rmtree(version.folder)  # a version without an entry in the ledger is not published
        raise


def withdraw(
    experiment_folder: Path, number: int, reason: str, successor: int | None, now: datetime, *, again: bool = False
) -> None:
    """Mark a version as withdrawn; its bundle stays as it is.

    Raises SettingsError for a wrong number, and, unless `again` is true, for a version that is
    withdrawn already. With `again` the previous reason is kept in `earlier`, and the previous
    successor stays if `successor` is None.
    """
    with alone(experiment_folder):
        ledger = read_ledger(experiment_folder)
        for wanted in (number, successor):
            if wanted is not None and wanted not in ledger:
                published = ", ".join(f"v{n}" for n in ledger) or "none"
                raise SettingsError(f"{experiment_folder.name}@v{wanted} was never published (there are: {published})")
        if not reason.strip():
            raise SettingsError('the reason is empty; say why the version is withdrawn: -m "why"')
        if successor == number:
            raise SettingsError(f"v{number} cannot be its own successor")
        withdrawn = read_withdrawn(experiment_folder)
        if successor in withdrawn:
            raise SettingsError(f"v{successor} is withdrawn itself; name another successor, or none")
        before = withdrawn.get(number)
        if before and successor is None:
            successor = before.get("successor")
        if before and not again:
            when = before.get("created", "date not recorded")
            raise SettingsError(
                f"{experiment_folder.name}@v{number} was withdrawn already ({when}): {before['reason']}; "
                "to give another reason or successor, add --again"
            )
        created = _written(now)
        text = printable(privacy.public_text(reason.strip()))
        withdrawn[number] = {"reason": text, "successor": successor, "created": created}
        if before:
            withdrawn[number]["earlier"] = [*before.pop("earlier", []), before]
        document = {"schema": SCHEMA, "withdrawn": {str(n): withdrawn[n] for n in sorted(withdrawn)}}
        store.write_json(experiment_folder / STATUS_FILE, document)


def read_published(experiment_folder: Path, hashes: HashCache | None) -> list[Published]:
    """Every published version, newest first, each compared with the ledger.

    Without `hashes` the caller must verify the files of each bundle. Raises StoreError when
    a bundle is missing, changed or not in the ledger.
    """
    ledger = read_ledger(experiment_folder)
    _refuse_unlisted(experiment_folder, ledger)
    bundles: dict[int, Bundle] = {}
    for number in sorted(ledger, reverse=True):
        folder = experiment_folder / "versions" / str(number)
        if not folder.is_dir():
            raise StoreError(
                f"{folder}: is missing, but {experiment_folder / LEDGER_FILE} says it was published; "
                "restore it from a copy: what was cited must stay (a mistake in it is marked with "
                f'`tracegen publish {experiment_folder.name} --withdraw {number} -m "why"`)'
            )
        bundles[number] = read_bundle(folder, str(ledger[number]["sha256"]))
        if hashes is not None:
            verify_bundle(bundles[number], hashes)
    return [*_with_status(experiment_folder, bundles)]


def _with_status(experiment_folder: Path, bundles: Mapping[int, Bundle]) -> Iterator[Published]:
    """The versions, newest first, each with its status and successor."""
    withdrawn = read_withdrawn(experiment_folder)
    current = max((n for n in bundles if n not in withdrawn), default=None)
    matrix = bundles[current].cell.get("matrix") if current is not None else None
    of_cells: dict[str, int] = {}  # the newest version of each cell of the newest matrix
    for number, bundle in bundles.items():
        version = version_of(bundle)
        in_matrix = bool(bundle.cell) and bundle.cell["matrix"] == matrix
        newer = of_cells.get(same_cell(bundle)) if in_matrix else current
        if number in withdrawn:
            entry = withdrawn[number]
            successor = entry.get("successor") or newer
            if successor is not None and successor not in bundles:
                raise StoreError(f"{experiment_folder / STATUS_FILE}: names v{successor}, which was never published")
            reason = privacy.public_text(entry["reason"])
            yield Published(replace(version, status="withdrawn"), bundle, reason, successor)
        elif newer is not None and newer != number:
            yield Published(replace(version, status="superseded"), bundle, "", newer)
        else:
            of_cells[same_cell(bundle)] = number
            yield Published(version, bundle)


def read_ledger(experiment_folder: Path) -> dict[int, dict[str, Any]]:
    """The ledger's entries by version number, oldest first; empty when nothing was published."""
    path = experiment_folder / LEDGER_FILE
    if not path.exists():
        return {}
    entries = {entry["version"]: dict(entry) for entry in store.read_json(path, SCHEMA, _LEDGER)["versions"]}
    if any(not re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]) for entry in entries.values()):
        raise StoreError(f"{path}: lacks or garbles sha256; restore it from a copy")
    if odd := [number for number in entries if number < 1 or not store.is_number(str(number))]:
        raise StoreError(f"{path}: has a version {odd[0]}; restore it from a copy")
    return dict(sorted(entries.items()))


def read_withdrawn(experiment_folder: Path) -> dict[int, dict[str, Any]]:
    """The entries of status.json on withdrawn versions, by number; empty without the file."""
    path = experiment_folder / STATUS_FILE
    if not path.exists():
        return {}
    withdrawn = store.read_json(path, SCHEMA, _STATUS)["withdrawn"]
    if any(not store.is_number(number) for number in withdrawn):
        raise StoreError(f"{path}: names a version that is not a number; correct it or restore it from a copy")
    return {int(number): dict(entry) for number, entry in withdrawn.items()}


def question_of(run: Run) -> str:
    """The experiment's question as the run recorded it, else the experiment's name."""
    question = run.facts.settings.question
    return printable(question) if question and question.strip() else run.experiment


def identity_of(version: Version, question: str) -> dict[str, Any]:
    """The entries of version.json that identify a version."""
    return {
        "citation": version.citation,
        "experiment": version.experiment,
        "version": version.number,
        "created": version.created,
        "message": version.message,
        "runs": list(version.runs),
        "verdict": version.verdict,
        "question": question,
        "packages": resources.packages(),
    }


def version_of(bundle: Bundle) -> Version:
    """The version that a bundle says it is. Raises StoreError where it does not say so whole."""
    document = bundle.document
    try:
        if document["verdict"] not in VERDICTS or not document["runs"] or not _TIME.fullmatch(document["created"]):
            raise ValueError("its verdict, its runs or its time")
        return Version(
            experiment=str(document["experiment"]),
            number=int(document["version"]),
            created=str(document["created"]),
            message=str(document["message"]),
            runs=tuple(document["runs"]),
            verdict=document["verdict"],
            title=str(document["title"]),
            folder=bundle.folder,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{bundle.folder / VERSION_FILE}: lacks or garbles {error}") from error


def published_as(experiment_folder: Path, run: Run, ledger: Mapping[int, object]) -> str:
    """The citation of the newest version of this run; empty if it is not published."""
    for number in sorted(ledger, reverse=True):
        folder = experiment_folder / "versions" / str(number)
        if not folder.is_dir():  # read_published reports this
            continue
        version = version_of(read_bundle(folder))
        # On another machine a copy of the experiment may number its runs from 1 again; they are younger.
        if run.number in version.runs and run.created <= version.created:
            return version.citation
    return ""


def _refuse_unlisted(experiment_folder: Path, ledger: Mapping[int, object]) -> None:
    versions = experiment_folder / "versions"
    if not versions.is_dir():
        return
    for path in sorted(versions.iterdir()):
        if store.is_number(path.name) and int(path.name) not in ledger:
            raise StoreError(
                f"{path}: is not in {experiment_folder / LEDGER_FILE}; if publishing was interrupted, delete "
                "this folder and publish again, else restore the ledger from a copy"
            )


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """During the block, only this process publishes in the folder of the experiment. Raises StoreError without it."""
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such experiment")
    with locks.alone(folder):
        yield
