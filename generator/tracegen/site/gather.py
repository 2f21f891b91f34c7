"""Everything that a site shows of experiments: versions that were read and checked, drafts, comparisons, pages.

Every version is read and checked before anything is written. The bodies of versions
stay in their bundles. Those of drafts are in a cache below `.tracegen/cache`; they may
still be drawn while other pages are written (`drafts.py`).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tracegen.contract.address import EXPERIMENTS, name_problem
from tracegen.contract.errors import SettingsError
from tracegen.contract.setting import TAGS
from tracegen.contract.text import printable
from tracegen.publishing import privacy
from tracegen.publishing.bundle import CHROME, Bundle, own, verify_bundle
from tracegen.publishing.experiments import is_experiment, refuse_same_names
from tracegen.publishing.public_form import public_form, public_settings
from tracegen.publishing.tried import all_tried
from tracegen.publishing.versions import Published, question_of, read_published
from tracegen.site import comparisons, vega
from tracegen.site.drafts import Drawing, Render, chosen
from tracegen.site.drawings import FOLDER, shrink
from tracegen.site.entry import Entry
from tracegen.site.files import address
from tracegen.site.pages import INDEX, SitePage, pages_of
from tracegen.storing import store
from tracegen.storing.hashes import HashCache
from tracegen.storing.parts import remove_left
from tracegen.storing.progress import Progress

OFFLINE_SEARCH = "offline_search.js"


@dataclass(frozen=True)
class Site:
    """Everything that tracegen adds to a site: pages by their source, and the files of bundles."""

    entries: list[Entry]
    pages: Mapping[str, SitePage]
    drawing: Drawing
    vega: bytes

    @property
    def published(self) -> list[Published]:
        """Every version, newest first of each experiment."""
        return [published for entry in self.entries for published in entry.published]

    @property
    def bundles(self) -> dict[str, Bundle]:
        """Every bundle by its address below `experiments/`: `sample/v1`, `sample/run-004`."""
        versions = {f"{e.name}/{p.version.name}": p.bundle for e in self.entries for p in e.published}
        versions |= {f"{e.name}/{c.planned.slug}": c.bundle for e in self.entries for c in e.comparisons if c.bundle}
        return versions | {f"{e.name}/{draft.run.name}": draft.bundle for e in self.entries for draft in e.drafts}

    @property
    def searched(self) -> dict[str, tuple[str, Bundle]]:
        """The current versions and the drafts, which search finds: address in the site -> (citation, bundle)."""
        bundles: dict[str, tuple[str, Bundle]] = {}
        for e in self.entries:
            current = [p for p in e.published if p.version.status == "current"]
            bundles |= {f"{EXPERIMENTS}/{e.name}/{p.version.name}": (p.version.citation, p.bundle) for p in current}
            bundles |= {f"{EXPERIMENTS}/{e.name}/{d.run.name}": (f"{e.name}/{d.run.name}", d.bundle) for d in e.drafts}
        return bundles

    @property
    def problems(self) -> list[str]:
        """Why drafts are missing, one line each."""
        return [problem for entry in self.entries for problem in entry.problems]

    @property
    def not_compared(self) -> list[str]:
        """Why comparisons that mkdocs.yml names are missing, one line each."""
        named = [c for entry in self.entries for c in entry.comparisons if c.planned.slug.startswith("with-")]
        return [f"mkdocs.yml: compare: {c.title}: {c.problem}" for c in named if c.bundle is None]

    @cached_property
    def assets(self) -> Mapping[str, tuple[str, bytes]]:
        """(address, content) of the site's own CSS and JS, by name."""
        names = (CHROME, OFFLINE_SEARCH, *INDEX)
        contents = {name: own(name) for name in names} | {vega.NAME: self.vega}
        return {name: (address(name, content), content) for name, content in contents.items()}


def gather(
    experiments: Path,
    cache: Path,
    *,
    drafts: int = 5,
    verify: bool = False,
    known: tuple[str, ...] = (),
    render: Render | None = None,
    journal: bool = True,
    compare: Sequence[object] = (),
    pairs: Sequence[tuple[str, str]] = (),
) -> Site:
    """Read and check every version, begin to draw the newest drafts, and list the pages.

    `verify` hashes every published file again; `journal`: the site has a front page; `compare`: lists of addresses
    whose runs are compared; `pairs`: versions that the journal compares. Raises SettingsError if `compare` has
    something else, and StoreError when a published version is missing or changed; a draft that cannot be shown becomes
    a problem of its entry. The caller must close `site.drawing`.
    """
    hashes = HashCache(cache / "hashes.json", trust=not verify)
    folders = _folders(experiments)
    for folder in folders:
        for place in (folder, folder / "runs", folder / "versions"):
            remove_left(place)
    published = {folder.name: read_published(folder, None) for folder in folders}
    waiting = {folder.name: _unpublished(folder, published[folder.name]) for folder in folders}
    newest = {name: chosen(paths, drafts) for name, paths in waiting.items()}
    planned = comparisons.planned(experiments, published, compare, pairs, cache)
    progress = Progress()
    shrink(cache / FOLDER)
    drawing = Drawing([path for paths in newest.values() for path in paths], cache / "drafts", known, render, progress)
    try:
        for versions in published.values():
            for version in versions:
                verify_bundle(version.bundle, hashes)
        hashes.save()
        engine = vega.script(cache)
        compared = comparisons.drawn(planned, experiments, progress)
    except BaseException:
        drawing.close()
        raise
    entries = []
    for folder in folders:
        name, settings = folder.name, public_settings(folder, known)
        versions, runs, of_entry = published[name], newest[name], [c for c in compared if c.planned.experiment == name]
        question, older = _question(settings, versions, runs, drawing, known), len(waiting[name]) - len(runs)
        entries.append(Entry(name, question, _tags(settings), versions, runs, older, drawing, of_entry))
    pages = {page.source: page for page in pages_of(entries, cache, journal, all_tried(experiments))}
    return Site(entries, pages, drawing, engine)


def _folders(experiments: Path) -> list[Path]:
    """The folders of experiments. Raises SettingsError if one has a name that no experiment can have."""
    if not experiments.is_dir():
        return []
    folders = sorted(path for path in experiments.iterdir() if is_experiment(path))
    for folder in folders:
        problem = name_problem(folder.name)
        if problem:
            raise SettingsError(f"{folder}: the name of an experiment cannot be {problem}; rename the folder")
    refuse_same_names(folders)
    return folders


def _unpublished(folder: Path, published: Sequence[Published]) -> list[Path]:
    """The folders of unpublished runs, newest first."""
    frozen = {number for p in published for number in p.version.runs}
    return [path for path in reversed(store.run_folders(folder)) if int(path.name) not in frozen]


def _tags(settings: Mapping[str, object]) -> list[str] | None:
    tags = settings.get("tags")
    return tags if TAGS.holds(tags) else None  # type: ignore[return-value]


def _question(
    settings: Mapping[str, object],
    published: Sequence[Published],
    runs: Sequence[Path],
    drawing: Drawing,
    known: tuple[str, ...],
) -> str:
    """The question of the settings, else that of the newest version or run, in its public form."""
    texts = [settings.get("question"), *(version.bundle.document.get("question") for version in published[:1])]
    chosen = next((privacy.public_text(text, known) for text in texts if isinstance(text, str) and text.strip()), None)
    newest = next((path for path in runs if path in drawing.runs), None)
    if chosen is None and newest is not None:
        with suppress(SettingsError):  # they may ask for privacy; drawing it says what is wrong
            chosen = question_of(public_form(drawing.runs[newest], newest, known).run)
    return printable(chosen or "No question is written down.")
