"""The comparisons of a site: each version with the one before, every matrix, what mkdocs.yml and the journal name.

A comparison is a bundle in the cache, named by the hash of everything that its pages depend on. Missing ones are drawn
in another process.
"""

import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tracegen.contract import address
from tracegen.contract.errors import SettingsError, TracegenError
from tracegen.contract.text import printable
from tracegen.publishing import privacy
from tracegen.publishing.bundle import VERSION_FILE, Bundle, read_bundle, write_comparison
from tracegen.publishing.cells import by_matrix, version_before
from tracegen.publishing.versions import Published
from tracegen.reading import folders
from tracegen.site import jobs
from tracegen.site.drawings import FOLDER, charts
from tracegen.storing import resources, store
from tracegen.storing.progress import Progress

STEPS = 5  # of an experiment: its newest versions, each with the one before it
MATRICES = 3  # of an experiment: those of its newest versions
TABLES = "data/tables/ops.parquet"  # a version without this file was published without its tables


@dataclass(frozen=True)
class Planned:
    """A comparison of the site, as an experiment's page lists it; `sides` are addresses, one of them for a matrix.

    `slug` is the name of its folder below the experiment.
    """

    experiment: str
    slug: str
    sides: tuple[str, ...]
    place: Path
    matrix: bool = False


@dataclass(frozen=True)
class Compared:
    """A comparison that was drawn: its bundle, or why there is none."""

    planned: Planned
    bundle: Bundle | None
    problem: str = ""

    @property
    def title(self) -> str:
        """`demo@v1 → demo@v2`, or the name of the matrix."""
        if self.planned.matrix:
            of = self.planned.sides
            first, last = (side.rpartition("@")[2] for side in (of[0], of[-1]))
            return "The matrix, in its newest runs" if len(of) == 1 else f"The matrix of {first} to {last}"
        return str(self.bundle.document["title"]) if self.bundle else " → ".join(self.planned.sides)

    @property
    def brief(self) -> str:
        """What differs, in a line."""
        return str(self.bundle.document["message"]) if self.bundle else self.problem

    @property
    def answer(self) -> str:
        """Its answer in a line; empty without a bundle."""
        return str(self.bundle.document.get("answer", "")) if self.bundle else ""


def planned(
    experiments: Path,
    published: Mapping[str, Sequence[Published]],
    named: Iterable[object],
    pairs: Iterable[tuple[str, str]],
    cache: Path,
) -> list[Planned]:
    """The comparisons that a site has. Raises SettingsError if `named`, from mkdocs.yml, is no list of addresses.

    `pairs` are versions that the journal compares, by citation; those that are not published are left out.
    """

    def plan(home: str, slug: str, *sides: str, matrix: bool = False) -> Planned:
        place = cache / "comparisons" / _state(experiments, sides, matrix=matrix)
        return Planned(home, slug, sides, place, matrix)

    found: list[Planned] = []
    for name, versions in published.items():
        usable = [p for p in versions if p.version.status != "withdrawn" and TABLES in p.bundle.document["manifest"]]
        usable = [p for p in usable if p.version.verdict != "not usable"]
        for newer, older in islice(_steps(usable), STEPS):
            slug = f"{newer.version.name}-from-{older.version.name}"
            found.append(plan(name, slug, older.version.citation, newer.version.citation))
        for cells in islice(by_matrix([p.bundle for p in usable]).values(), MATRICES):
            numbers = sorted(bundle.document["version"] for bundle in cells)
            slug = f"matrix-v{numbers[0]}-to-v{numbers[-1]}"
            found.append(plan(name, slug, *(f"{name}@v{number}" for number in numbers), matrix=True))
        if _has_a_matrix(experiments / name):
            found.append(plan(name, "matrix", name, matrix=True))
    for sides in named:
        found += [plan(*each) for each in _named(sides, set(published))]
    return found + [plan(*each) for each in _of_journal(pairs, published, {of.sides for of in found})]


def _steps(versions: Sequence[Published]) -> Iterator[tuple[Published, Published]]:
    """Each version, newest first, with the one that it is compared with."""
    by_folder = {p.bundle.folder: p for p in versions}
    for i, newer in enumerate(versions):
        older = version_before(newer.bundle, [p.bundle for p in versions[i + 1 :]])
        if older is not None:
            yield newer, by_folder[older.folder]


def drawn(planned: Sequence[Planned], experiments: Path, progress: Progress | None = None) -> list[Compared]:
    """Every comparison, or why it is missing; those that the cache lacks are drawn in another process."""
    progress = progress or Progress()
    missing = [of for of in planned if not jobs.is_cached(of.place)]
    problems: dict[Path, str] = {}
    if missing:
        n, folder = len(missing), missing[0].place.parents[1] / FOLDER
        with jobs.worker() as worker:
            progress.step(f"draw {n} comparison{'s' * (n > 1)}")
            begun = [jobs.begin(worker, _draw, experiments, of, folder) for of in missing]
            for done, (of, future) in enumerate(zip(missing, begun, strict=True), 1):
                problems[of.place] = jobs.problem(future)
                if done < n:
                    progress.update(done, n, "comparisons")
            progress.done()
    # without the part of a path that only this machine has
    return [_compared(of, problems.get(of.place, "").replace(f"{experiments}/", "")) for of in planned]


def _draw(experiments: Path, of: Planned, folder: Path) -> None:
    """What a worker does; it keeps charts in `folder`."""
    draw(experiments, of.sides, of.place, matrix=of.matrix, executor=charts(folder))


def draw(
    experiments: Path, sides: Sequence[str], place: Path, *, matrix: bool = False, executor: Executor | None = None
) -> None:
    """Compare the sides and write the report to `place`. Raises TracegenError.

    `matrix`: they are its cells, each by a version, or the experiment alone. `executor`, if given, draws charts in
    another process meanwhile.
    """
    from tracegen.comparing import sentences as say
    from tracegen.comparing.answer import answer, matrix_answer
    from tracegen.comparing.comparison import compare
    from tracegen.comparing.effects import effects
    from tracegen.comparing.matrix_page import render_matrix
    from tracegen.comparing.page import render_comparison
    from tracegen.comparing.quoted import values
    from tracegen.comparing.sides import cells_of, published_cells, side_of

    if matrix:
        if len(sides) == 1:
            cells, links = cells_of(sides[0], experiments), {}
        else:
            found = [path for text in sides if (path := folders.version_folder(text, experiments)) is not None]
            versions = published_cells([read_bundle(path) for path in found])
            cells = list(versions.values())
            links = {cell.name: f"../{version}/index.html" for version, cell in versions.items()}
        changed = effects(cells)
        report = render_matrix(sides[0].partition("@")[0], cells, links, found=changed, executor=executor)
        brief = "; ".join(f"{effect.name}: {say.in_brief(effect.comparison)}" for effect in changed)
        write_comparison(place, report, brief, answer=matrix_answer(changed))
    else:
        comparison = compare(*(side_of(text, experiments) for text in sides))
        report, brief = render_comparison(comparison, executor), say.in_brief(comparison)
        write_comparison(place, report, brief, answer=answer(comparison), quoted=values(comparison))


def _compared(planned: Planned, problem: str) -> Compared:
    if not problem:
        try:
            return Compared(planned, read_bundle(planned.place))
        except TracegenError as error:
            problem = str(error)
    return Compared(planned, None, printable(privacy.public_text(problem)))


def _has_a_matrix(experiment: Path) -> bool:
    """Whether usable runs of the newest matrix lie in two cells at least."""
    slots = []
    for path in store.run_folders(experiment):
        try:
            run = store.read_run(path)
        except TracegenError:
            continue  # the list of drafts says so
        if run.facts.slot and run.verdict != "not usable":
            slots.append(run.facts.slot)
    newest = [slot for slot in slots if slot.matrix == slots[-1].matrix]
    return len({repr(sorted(slot.factors.items())) for slot in newest}) > 1


def _named(sides: object, known: set[str]) -> list[tuple[str, str, str, str]]:
    """The comparisons of an entry of mkdocs.yml: the first side with each of the others."""
    if not isinstance(sides, list) or len(sides) < 2 or not all(isinstance(side, str) for side in sides):
        raise SettingsError(f"mkdocs.yml: tracegen: compare: {sides!r} is not a list of two sides or more")
    first, *others = map(str, sides)
    home = re.split(r"[@/:]", first, maxsplit=1)[0]
    if home not in known or address.name_problem(home):
        raise SettingsError(f"mkdocs.yml: tracegen: compare: {first}: there is no experiment {home}")
    return [(home, f"with-{_slug(first)}-{_slug(other)}", first, other) for other in others]


def _of_journal(
    pairs: Iterable[tuple[str, str]], published: Mapping[str, Sequence[Published]], known: Container[tuple[str, ...]]
) -> Iterator[tuple[str, str, str, str]]:
    """The comparisons of published versions that the site does not have anyway, below the experiment of the second."""
    versions = {p.version.citation: p.version for of in published.values() for p in of}
    for a, b in pairs:
        if a != b and a in versions and b in versions and (a, b) not in known:
            home = versions[b].experiment
            before = versions[a].name if versions[a].experiment == home else _slug(a)
            yield home, f"{versions[b].name}-with-{before}", a, b


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:80]


def _state(experiments: Path, sides: Sequence[str], *, matrix: bool) -> str:
    """A name for what a comparison depends on: the program, the addresses, and the runs and versions they may name."""
    digest = hashlib.sha256(resources.renderer_hash().encode())
    digest.update(b"matrix" if matrix else b"sides")
    for side in sides:
        digest.update(f"{side}\0".encode())
        for path in _files(experiments, side):
            digest.update(store.sha256_of(path).encode())
    return digest.hexdigest()[:24]


def _files(experiments: Path, side: str) -> list[Path]:
    try:
        version = folders.version_folder(side, experiments)
    except SettingsError:
        return []  # drawing it says what is wrong
    if version is not None:
        return [version / VERSION_FILE]
    experiment = experiments / re.split(r"[/:]", side, maxsplit=1)[0]
    return [path / store.RUN_FILE for path in store.run_folders(experiment)]
