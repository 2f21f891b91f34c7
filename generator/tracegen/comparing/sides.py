"""The sides of a comparison, by their addresses.

NAME                        the newest run; with the others of its series, if it belongs to one
NAME/run-003                a run
NAME/run-003..run-007       runs
NAME:prefault=true,repack=false    the newest runs of a cell of a matrix
NAME@v2                     a published version
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.measures import COLUMNS, compared
from tracegen.comparing.effects import in_order
from tracegen.comparing.recent import RECENT
from tracegen.comparing.repeats import read_repeats
from tracegen.comparing.side import Measured, Side, machines_of
from tracegen.contract.address import run_number
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import Run, cell_name
from tracegen.publishing import privacy
from tracegen.publishing.bundle import Bundle
from tracegen.publishing.cells import by_matrix, cell_of
from tracegen.publishing.public_form import PublicForm, public_form
from tracegen.publishing.versions import read_published
from tracegen.reading.folders import EXPERIMENTS, run_folder, version_folder
from tracegen.reading.notebook.loaded import load_version
from tracegen.storing import store
from tracegen.storing.remembered import remembered

_SEVERAL = re.compile(r"(?P<experiment>.+)/(?:run-)?(?P<first>[0-9]{1,9})\.\.(?:run-)?(?P<last>[0-9]{1,9})")
_CELL = re.compile(r"(?P<experiment>[^:]+):(?P<factors>[^=]+=.*)")


def side_of(text: str, experiments: Path = EXPERIMENTS) -> Side:
    """The side that an address names. Raises SettingsError when there is no such run, or none is usable."""
    folder = version_folder(text, experiments)
    if folder is not None:
        return _published(folder)
    if match := _SEVERAL.fullmatch(text):
        folders = _runs(match["experiment"], experiments)
        wanted = range(int(match["first"]), int(match["last"]) + 1)
        return side(text, [path for path in folders if int(path.name) in wanted])
    if match := _CELL.fullmatch(text):
        return _cell(text, match["experiment"], match["factors"], experiments)
    if "@" in text:
        raise SettingsError(f"{text}: names no version; write NAME@v2")
    newest = run_folder(text, experiments)
    return side(text, [newest] if "/" in text or (Path(text) / store.RUN_FILE).is_file() else _series(newest))


def cells_of(name: str, experiments: Path = EXPERIMENTS) -> list[Side]:
    """A side for each cell of the newest matrix of an experiment, in the order of its factors; empty without one."""
    cells = [side(factors, folders) for factors, folders in _cells(name, experiments).items()]
    return sorted(cells, key=lambda cell: in_order(cell.runs[0].factors))


def published_cells(bundles: Sequence[Bundle]) -> dict[str, Side]:
    """A side for each of these versions (`v3`), which are cells of one matrix: named by its factors and its version."""
    versions = {f"v{bundle.document['version']}": bundle for bundle in bundles}
    sides = {
        version: replace(_published(of.folder), name=f"{cell_name(of.cell['factors'])} ({version})")
        for version, of in versions.items()
    }
    return dict(sorted(sides.items(), key=lambda item: in_order(versions[item[0]].cell["factors"])))


def newest_published_cells(name: str, experiments: Path = EXPERIMENTS) -> list[Side]:
    """The cells of the newest matrix whose versions an experiment has; empty without one."""
    versions = [p for p in read_published(experiments / name, None) if p.version.status != "withdrawn"]
    usable = [p.bundle for p in versions if p.version.verdict != "not usable"]
    matrices = list(by_matrix(usable).values())
    return list(published_cells(matrices[0]).values()) if matrices else []


def side(name: str, folders: Sequence[Path]) -> Side:
    """The side of the runs in these folders. Raises SettingsError if none of them is usable."""
    runs, left_out = [], []
    for folder in folders:
        run = store.read_run(folder)
        if run.verdict == "not usable":
            failed = "; ".join(check.title for check in run.checks if check.state == "failed")
            left_out.append((f"{run.experiment}/{run.name}", f"not usable: {failed}"))
        else:
            runs.append(measured(folder, run))
    if not runs:
        why = "; ".join(f"{run}: {reason}" for run, reason in left_out) or "it names no run"
        raise SettingsError(f"{name}: has no usable run to compare ({why})")
    return Side(name, tuple(sorted(runs, key=lambda run: run.created)), tuple(left_out))


def repeats_of(folder: Path) -> Side:
    """The run in this folder with the usable others of its series, or of its cell of a matrix.

    A series counts only as far as it was made on one machine; each run of a matrix has its machine beside it.
    """
    own = store.read_run(folder)
    slot = own.facts.get("slot")
    if slot:
        folders = [path for path in store.run_folders(folder.parents[1]) if _same_cell(store.read_run(path), slot)]
        return side(own.experiment, folders)
    repeats = side(own.experiment, _series(folder))
    (machine,), others = machines_of([measured(folder, own)], repeats.runs)
    return replace(repeats, runs=tuple(run for run, of in zip(repeats.runs, others, strict=True) if of == machine))


def _same_cell(run: Run, slot: Mapping[str, Any]) -> bool:
    other = run.facts.get("slot") or {}
    return (other.get("matrix"), other.get("factors")) == (slot["matrix"], slot["factors"])


def measured(folder: Path, run: Run) -> Measured:
    """A stored run in its public form; its measures are remembered."""
    form = public_form(run, folder)
    run, public = form.stored, form.run
    if slot := run.facts.get("slot"):
        public = replace(public, facts={**public.facts, "slot": {**slot, "factors": _factors(form), "cell": ""}})

    tables = RECENT.kept(form.tables)

    def compute() -> dict[str, Any]:
        table = compared(Analyses(public, tables()))
        return {column: table[column].tolist() for column in COLUMNS}

    def measure() -> pd.DataFrame:
        files = [folder / store.RUN_FILE, *sorted((folder / "tables").glob("*.parquet"))]
        kept = remembered(folder / f"measures-{privacy.is_private(run.facts)}", files, compute)
        return pd.DataFrame(kept, columns=COLUMNS)

    return Measured(f"{run.experiment}/{run.name}", run.created, public.facts, public.checks, measure, tables)


def _published(folder: Path) -> Side:
    """The side of a version: its run, with the facts that are stored of it."""
    version = load_version(folder)
    document, checks, facts = version.document, version.run_checks, dict(version.run_facts)
    if not cell_of(facts):  # a matrix that is private pairs no runs
        facts.pop("slot", None)
    if document.get("verdict") == "not usable":
        raise SettingsError(f"{version.citation}: is not usable, so there is nothing to compare")
    run = Run(document["experiment"], document["runs"][0], document["created"], checks, facts)
    if not len(version.tables):
        raise SettingsError(f"{version.citation}: was published without its tables; compare its run instead")
    found = [
        Measured(name, created, of, checks, table.copy, lambda: version.tables)
        for name, created, of, table in read_repeats(folder, document["manifest"], facts)
    ]
    alone = Measured(
        version.citation,
        run.created,
        facts,
        checks,
        lambda: compared(Analyses(run, version.tables)),
        lambda: version.tables,
    )
    return Side(version.citation, tuple(found) or (alone,))


def _series(newest: Path) -> list[Path]:
    """The folders of the series that the newest run belongs to; of it alone if it belongs to none."""
    first = (store.read_run(newest).facts.get("repetition") or {}).get("first_run")
    number = run_number(str(first)) if first else None
    if number is None:
        return [newest]
    folders = [path for path in store.run_folders(newest.parents[1]) if int(path.name) >= number]
    of = [(store.read_run(path).facts.get("repetition") or {}).get("first_run") for path in folders]
    return [path for path, named in zip(folders, of, strict=True) if named == first]


def _runs(name: str, experiments: Path) -> list[Path]:
    """The folders of all runs of an experiment; raises SettingsError, listing those there are, if it has none."""
    folder = Path(name) if (Path(name) / "runs").is_dir() else experiments / name
    return store.run_folders(folder) or [run_folder(name, experiments)]


def _slots(name: str, experiments: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """The runs of the newest matrix of an experiment, with their places in it."""
    folders = _runs(name, experiments)
    slots = [(path, store.read_run(path).facts.get("slot")) for path in folders]
    newest = next((slot["matrix"] for _, slot in reversed(slots) if slot), None)
    return [(path, slot) for path, slot in slots if slot and slot["matrix"] == newest]


def _cell(text: str, name: str, factors: str, experiments: Path) -> Side:
    """The runs of the cell with these factors, in any order; each of them must be named."""
    wanted = {part.strip() for part in factors.split(",")}
    if not store.run_folders(experiments / name) and not (Path(name) / "runs").is_dir():
        published = {cell.name: cell for cell in newest_published_cells(name, experiments)}
        found = [of for of in published.values() if set(cell_name(of.runs[0].factors).split(", ")) >= wanted]
        if len(found) == 1:
            return found[0]
        if published:
            raise SettingsError(f"{text}: names no cell, or several; cells of {name}: {'; '.join(_short(published))}")
    cells = _cells(name, experiments)
    matching = [known for known, folders in cells.items() if {*known.split(", "), *_as_set(folders[0])} >= wanted]
    if len(matching) != 1:
        problem = "names several cells" if matching else "there is no such cell"
        listed = "; ".join(_short(matching or cells)) or "none: it has no runs of a matrix"
        raise SettingsError(f"{text}: {problem}; cells of {name}: {listed}")
    return side(matching[0], cells[matching[0]])


def _cells(name: str, experiments: Path) -> dict[str, list[Path]]:
    """The runs of each cell of the newest matrix, by the name of the cell."""
    cells: dict[str, list[Path]] = {}
    for path, _ in _slots(name, experiments):
        cells.setdefault(cell_name(_factors(public_form(store.read_run(path), path))), []).append(path)
    return cells


def _as_set(folder: Path) -> list[str]:
    """The factors of a run as its settings have them: who has the run may name its cell by them."""
    return cell_name(store.read_run(folder).facts["slot"]["factors"]).split(", ")


def _factors(form: PublicForm) -> dict[str, str]:
    """The factors of a run in their public form; what that changes has a few digits of a hash, or all would be one.

    Nobody can guess the texts of a private experiment by them: the hash is that of the matrix too, which is not public
    there.
    """
    slot, shown = form.stored.facts["slot"], form.run.facts["slot"]["factors"]
    hidden = (*privacy.TEXT_KEYS, "flags") if privacy.is_private(form.stored.facts) else ()

    def name_of(name: str, value: str) -> str:
        digits = hashlib.sha256((slot["matrix"] + value).encode("utf-8", "surrogatepass")).hexdigest()[:4]
        return f"({digits})" if name in hidden else f"{shown.get(name, '')} ({digits})"

    return {n: value if shown.get(n) == value else name_of(n, value) for n, value in slot["factors"].items()}


def _short(names: Iterable[str], most: int = 20) -> list[str]:
    listed = list(names)
    return listed[:most] + ([f"… and {len(listed) - most} more"] if len(listed) > most else [])
