"""The comparisons of a site: each version with the one before it, every matrix, and what mkdocs.yml names.

A comparison is a bundle in the cache, named by the hash of everything that its pages depend on. Missing ones are drawn
in another process, because that loads pandas, altair and a JavaScript engine.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from tracegen import address, folders, resources, store
from tracegen.capture.execute import ending, started
from tracegen.charts.text import printable
from tracegen.errors import SettingsError, TracegenError
from tracegen.publishing.bundle import VERSION_FILE, Bundle, read_bundle, write_bundle
from tracegen.publishing.versions import Published

STEPS = 5  # of an experiment: its newest versions, each with the one before it
TABLES = "data/tables/ops.parquet"  # a version without this file was published without its tables

# The program of the process; it gets the module path of this process.
_START = "import sys; sys.path[:] = sys.argv[1:]; from tracegen.site import comparisons; sys.exit(comparisons.main())"


@dataclass(frozen=True)
class Asked:
    """A comparison of the site, as an experiment's page lists it; `sides` are addresses, one of them for a matrix.

    `slug` is the name of its folder below the experiment.
    """

    experiment: str
    slug: str
    sides: tuple[str, ...]
    place: Path


@dataclass(frozen=True)
class Compared:
    """A comparison that was drawn: its bundle, or why there is none."""

    asked: Asked
    bundle: Bundle | None
    problem: str = ""

    @property
    def title(self) -> str:
        """`demo@v1 → demo@v2`, or the name of the matrix."""
        return str(self.bundle.document["title"]) if self.bundle else " → ".join(self.asked.sides)

    @property
    def brief(self) -> str:
        """What differs, in a line."""
        return str(self.bundle.document["message"]) if self.bundle else self.problem


def asked_for(
    experiments: Path, published: Mapping[str, Sequence[Published]], named: Iterable[object], cache: Path
) -> list[Asked]:
    """The comparisons that a site has. Raises SettingsError if `named`, from mkdocs.yml, is no list of addresses."""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for name, versions in published.items():
        usable = [p for p in versions if p.version.status != "withdrawn" and TABLES in p.bundle.document["manifest"]]
        usable = [p for p in usable if p.version.verdict != "not usable"]
        for newer, older in islice(pairwise(usable), STEPS):
            slug = f"{newer.version.name}-from-{older.version.name}"
            found.append((name, slug, (older.version.citation, newer.version.citation)))
        if _has_a_matrix(experiments / name):
            found.append((name, "matrix", (name,)))
    for sides in named:
        found += _named(sides, set(published))
    return [Asked(name, slug, sides, cache / "comparisons" / _state(experiments, sides)) for name, slug, sides in found]


def drawn(asked: Sequence[Asked], experiments: Path) -> list[Compared]:
    """Every comparison, or why it is missing; those that the cache lacks are drawn in another process."""
    missing = [of for of in asked if not _held(of.place)]
    problems: dict[Path, str] = {}
    if missing:
        jobs = [[str(experiments), list(of.sides), str(of.place)] for of in missing]
        with started([sys.executable, "-c", _START, *sys.path], json.dumps(jobs).encode()) as child:
            answers = [json.loads(line) for line in child.stdout or ()][: len(missing)]
            status = child.wait()
        problems = {of.place: problem for of, problem in zip(missing, answers, strict=False)}
        problems |= {of.place: f"could not be drawn: {ending(status)}" for of in missing[len(answers) :]}
    # without the part of a path that only this machine has
    return [_compared(of, problems.get(of.place, "").replace(f"{experiments}/", "")) for of in asked]


def main() -> int:
    """Draw the comparisons that standard input lists as JSON; print the error of each, or an empty text, as JSON."""
    try:
        for experiments, sides, place in json.load(sys.stdin):
            print(json.dumps(_attempt(Path(experiments), sides, Path(place))), flush=True)
    except KeyboardInterrupt:
        return 130
    return 0


def _attempt(experiments: Path, sides: Sequence[str], place: Path) -> str:
    try:
        draw(experiments, sides, place)
    except TracegenError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc()
        return f"could not be drawn, which is a fault of tracegen: {type(error).__name__}: {error}"
    return ""


def draw(experiments: Path, sides: Sequence[str], place: Path) -> None:
    """Compare the sides and write the report to `place`. Raises TracegenError."""
    from tracegen.comparing import sentences as say
    from tracegen.comparing.comparison import compare
    from tracegen.comparing.effects import effects
    from tracegen.comparing.matrix_page import render_matrix
    from tracegen.comparing.page import render_comparison
    from tracegen.sides import cells_of, side_of

    if len(sides) == 1:
        cells = cells_of(sides[0], experiments)
        report = render_matrix(sides[0], cells)
        brief = "; ".join(f"{effect.name}: {say.in_brief(effect.comparison)}" for effect in effects(cells))
    else:
        comparison = compare(*(side_of(text, experiments) for text in sides))
        report, brief = render_comparison(comparison), say.in_brief(comparison)
    identity = {"citation": "", "draft": report.title, "experiment": "", "created": "", "message": brief, "runs": [],
                "verdict": "complete", "question": report.title}  # fmt: skip
    with store.whole_folder(place) as beside:
        write_bundle(beside, report, identity)


def _compared(asked: Asked, problem: str) -> Compared:
    if problem:
        return Compared(asked, None, printable(problem))
    try:
        return Compared(asked, read_bundle(asked.place))
    except TracegenError as error:
        return Compared(asked, None, printable(str(error)))


def _held(place: Path) -> bool:
    """Whether the cache has this comparison; a damaged one is removed."""
    try:
        return place.is_dir() and bool(read_bundle(place))
    except TracegenError:
        shutil.rmtree(place, ignore_errors=True)
        return False


def _has_a_matrix(experiment: Path) -> bool:
    """Whether usable runs of the newest matrix lie in two cells at least."""
    slots = []
    for path in store.run_folders(experiment):
        try:
            run = store.read_run(path)
        except TracegenError:
            continue  # the list of drafts says so
        if run.facts.get("slot") and run.verdict != "not usable":
            slots.append(run.facts["slot"])
    newest = [slot for slot in slots if slot["matrix"] == slots[-1]["matrix"]]
    return len({repr(sorted(slot["factors"].items())) for slot in newest}) > 1


def _named(sides: object, known: set[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """The comparisons of an entry of mkdocs.yml: the first side with each of the others."""
    if not isinstance(sides, list) or len(sides) < 2 or not all(isinstance(side, str) for side in sides):
        raise SettingsError(f"mkdocs.yml: tracegen: compare: {sides!r} is no list of two sides or more")
    first, *others = map(str, sides)
    home = re.split(r"[@/:]", first, maxsplit=1)[0]
    if home not in known or address.name_problem(home):
        raise SettingsError(f"mkdocs.yml: tracegen: compare: {first}: there is no experiment {home}")
    return [(home, f"with-{_slug(first)}-{_slug(other)}", (first, other)) for other in others]


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:80]


def _state(experiments: Path, sides: Sequence[str]) -> str:
    """A name for what a comparison depends on: the program, the addresses, and the runs and versions they may name."""
    digest = hashlib.sha256(resources.renderer_hash().encode())
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
