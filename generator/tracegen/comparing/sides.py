"""The sides of a comparison, by their addresses.

NAME                        the newest run; with the others of its series, if it belongs to one
NAME/run-003                a run
NAME/run-003..run-007       runs
NAME:prefault=true,repack=false    the newest runs of a cell of a matrix
NAME@v2                     a published version
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.measures import compared
from tracegen.comparing.effects import in_order
from tracegen.contract.errors import SettingsError
from tracegen.contract.facts import Slot
from tracegen.contract.model import Run, cell_name
from tracegen.publishing.bundle import Bundle
from tracegen.publishing.cells import by_matrix, cell_of
from tracegen.publishing.measured import public_factors, series, side
from tracegen.publishing.public_form import public_form
from tracegen.publishing.repeats import read_repeats
from tracegen.publishing.side import Measured, Side
from tracegen.publishing.versions import read_published
from tracegen.reading.folders import EXPERIMENTS, run_folder, version_folder
from tracegen.reading.notebook.loaded import load_version
from tracegen.storing import store

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
    return side(text, [newest] if "/" in text or (Path(text) / store.RUN_FILE).is_file() else series(newest))


def cells_of(name: str, experiments: Path = EXPERIMENTS) -> list[Side]:
    """A side for each cell of the newest matrix of an experiment, in the order of its factors; empty without one."""
    cells = [side(factors, folders) for factors, folders in _cells(name, experiments).items()]
    return in_order(cells)


def published_cells(bundles: Sequence[Bundle]) -> dict[str, Side]:
    """A side for each of these versions (`v3`), which are cells of one matrix: named by its factors and its version."""
    versions = {f"v{bundle.document['version']}": bundle for bundle in bundles}
    sides = {
        version: replace(_published(of.folder), name=f"{cell_name(of.cell['factors'])} ({version})")
        for version, of in versions.items()
    }
    version_of = {of.name: version for version, of in sides.items()}
    return {version_of[of.name]: of for of in in_order(list(sides.values()))}


def newest_published_cells(name: str, experiments: Path = EXPERIMENTS) -> list[Side]:
    """The cells of the newest matrix whose versions an experiment has; empty without one."""
    versions = [p for p in read_published(experiments / name, None) if p.version.status != "withdrawn"]
    usable = [p.bundle for p in versions if p.version.verdict != "not usable"]
    matrices = list(by_matrix(usable).values())
    return list(published_cells(matrices[0]).values()) if matrices else []


def _published(folder: Path) -> Side:
    """The side of a version: its run, with the facts that are stored of it."""
    version = load_version(folder)
    document, checks, facts = version.document, version.run_checks, version.run_facts
    if not cell_of(facts):  # a matrix that is private pairs no runs
        facts = replace(facts, slot=None)
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


def _runs(name: str, experiments: Path) -> list[Path]:
    """The folders of all runs of an experiment; raises SettingsError, listing those there are, if it has none."""
    folder = Path(name) if (Path(name) / "runs").is_dir() else experiments / name
    return store.run_folders(folder) or [run_folder(name, experiments)]


def _slots(name: str, experiments: Path) -> list[tuple[Path, Slot]]:
    """The runs of the newest matrix of an experiment, with their places in it."""
    folders = _runs(name, experiments)
    slots = [(path, slot) for path in folders if (slot := store.read_run(path).facts.slot)]
    return [(path, slot) for path, slot in slots if slot.matrix == slots[-1][1].matrix]


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
        cells.setdefault(cell_name(public_factors(public_form(store.read_run(path), path))), []).append(path)
    return cells


def _as_set(folder: Path) -> list[str]:
    """The factors of a run as its settings have them: who has the run may name its cell by them."""
    return cell_name(store.read_run(folder).slot.factors).split(", ")


def _short(names: Iterable[str], most: int = 20) -> list[str]:
    listed = list(names)
    return listed[:most] + ([f"… and {len(listed) - most} more"] if len(listed) > most else [])
