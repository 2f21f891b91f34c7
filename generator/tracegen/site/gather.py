"""The pages of a site about experiments: every version, the newest drafts, and lists of them.

Every version is read and checked before anything is written. The bodies of versions
stay in their bundles. Those of drafts are in a cache below `.tracegen/cache`; they may
still be drawn while other pages are written (`drafts.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any

from markupsafe import Markup, escape

from tracegen.contract import documents
from tracegen.contract.address import name_problem
from tracegen.contract.errors import SettingsError, StoreError, TracegenError
from tracegen.contract.model import Run
from tracegen.contract.setting_keys import are_tags
from tracegen.contract.text import printable
from tracegen.publishing.bundle import CHROME, Bundle, hashed_name, loading, shells, verify_bundle
from tracegen.publishing.errata import Erratum, errata_of
from tracegen.publishing.versions import Published, question_of, read_published
from tracegen.reading.folders import is_experiment, refuse_same_names
from tracegen.report.pages.page import Page, outline
from tracegen.site import comparisons, index, reference, vega
from tracegen.site import files as site_files
from tracegen.site import search as site_search
from tracegen.site import trend as over_versions
from tracegen.site.about import About
from tracegen.site.cards import card
from tracegen.site.comparisons import Compared
from tracegen.site.drafts import Draft, Drawing, Render, chosen
from tracegen.site.drawings import FOLDER, shrink
from tracegen.site.files import ASSETS
from tracegen.site.pictures import Pictures
from tracegen.storing import resources, store
from tracegen.storing.hashes import HashCache
from tracegen.storing.parts import remove_left
from tracegen.storing.progress import Progress

PAGE_BEGIN, PAGE_END = "<!-- tracegen:page -->", "<!-- /tracegen:page -->"
OFFLINE_SEARCH = "offline_search.js"
CONTENT = "tracegen-content"
SKIP = f'<a class="tracegen-skip" href="#{CONTENT}">Skip to the content</a>'  # a theme's own needs its headings


@dataclass(frozen=True)
class Sibling:
    """A version or draft as the switch on a page lists it; `paths` has the path of each of its pages by key."""

    folder: str
    status: str
    created: str
    verdict: str
    paths: Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """One experiment of the site; versions and drafts are newest first.

    `runs` are the folders of the runs shown as drafts; `older` is the number of other unpublished runs. `tags` are
    those of the settings, None if these have none or cannot be read.
    """

    name: str
    question: str
    tags: list[str] | None
    published: list[Published]
    runs: list[Path]
    older: int
    drawing: Drawing
    comparisons: list[Compared]

    @property
    def drafts(self) -> list[Draft]:
        """The drafts that could be drawn; waits until they are."""
        return [draft for path in self.runs if isinstance(draft := self.drawing.drawn[path], Draft)]

    def bundle(self, run: Path) -> Bundle | None:
        """The draft of the run in this folder, None if it could not be drawn; waits until it is."""
        draft = self.drawing.drawn[run]
        return draft.bundle if isinstance(draft, Draft) else None

    @cached_property
    def abouts(self) -> dict[str, About]:
        """What versions that are not withdrawn and drafts say of their runs, by folder; waits until all are drawn."""
        versions = {p.version.name: About(p.bundle) for p in self.published if p.version.status != "withdrawn"}
        return versions | {draft.run.name: About(draft.bundle) for draft in self.drafts}

    @cached_property
    def siblings(self) -> list[Sibling]:
        """Every version and every draft, versions first, newest first; waits for no draft."""
        versions = [
            Sibling(p.version.name, p.version.status, p.version.created, p.version.verdict, _paths(p.bundle.pages))
            for p in self.published
        ]
        runs = [self.drawing.runs[path] for path in self.runs if path in self.drawing.runs]
        return versions + [Sibling(r.name, "draft", r.created, r.verdict, _paths(_announced(r))) for r in runs]

    @cached_property
    def _switches(self) -> dict[tuple[str, str], str]:
        return {}

    def switch(self, page: str, to_experiment: str, folder: str) -> Markup:
        """The list of all versions and drafts on the page with this key of the one in `folder`; empty with only one.

        The list without its mark is rendered once for all versions: with 100 of them it takes longer than their pages.
        """
        if len(self.siblings) < 2:
            return Markup()
        if (page, to_experiment) not in self._switches:
            template = shells().get_template("switch.html")
            text = template.render(siblings=self.siblings, current=page, to_experiment=to_experiment)
            self._switches[page, to_experiment] = text
        item = f'<li data-folder="{escape(folder)}"><a '
        return Markup(self._switches[page, to_experiment].replace(item, f'{item}aria-current="true" ', 1))

    @property
    def not_drawn(self) -> list[str]:
        """The names of the drafts that the switch lists and that could not be drawn; waits until all are drawn."""
        runs, drawn = self.drawing.runs, self.drawing.drawn
        return [runs[path].name for path in self.runs if path in runs and not isinstance(drawn[path], Draft)]

    @property
    def problems(self) -> list[str]:
        """Why drafts are missing, one line each; waits until all are drawn."""
        failed = [(path, draft) for path in self.runs if isinstance(draft := self.drawing.drawn[path], TracegenError)]
        # without the part of the path that only this machine has
        return [printable(f"Run {p.name}: {str(e).replace(f'{p.parents[2]}/', '')}") for p, e in failed]


@dataclass(frozen=True)
class SitePage:
    """A page without a file in docs_dir: its path, title and summary, and functions that give its HTML.

    `listed`: navigation has it; `searched`: search finds it. `head` takes the relative path to the site's root. If
    `content` returns an empty text, no page is written.
    """

    path: str
    title: str
    summary: str
    listed: bool
    searched: bool
    head: Callable[[str], str]
    content: Callable[[], str]

    @property
    def source(self) -> str:
        """The name of the Markdown file that MkDocs takes for its source."""
        return f"{self.path.removesuffix('.html')}.md"

    @property
    def root(self) -> str:
        """The relative path from the page's folder to the site's root."""
        return "../" * self.path.count("/")


@dataclass(frozen=True)
class Site:
    """Everything that tracegen adds to a site: pages by their source, and the files of bundles.

    `pictures` has those of a page once it is written.
    """

    base: str
    entries: list[Entry]
    pages: Mapping[str, SitePage]
    drawing: Drawing
    vega: bytes
    pictures: Pictures

    @property
    def bundles(self) -> dict[str, Bundle]:
        """Every bundle by its address below `base`: `sample/v3`, `sample/run-004`."""
        versions = {f"{e.name}/{p.version.name}": p.bundle for e in self.entries for p in e.published}
        versions |= {f"{e.name}/{c.asked.slug}": c.bundle for e in self.entries for c in e.comparisons if c.bundle}
        return versions | {f"{e.name}/{draft.run.name}": draft.bundle for e in self.entries for draft in e.drafts}

    @property
    def searched(self) -> dict[str, tuple[str, Bundle]]:
        """The current versions and the drafts, which search finds: address in the site -> (citation, bundle)."""
        bundles: dict[str, tuple[str, Bundle]] = {}
        for e in self.entries:
            current = [p for p in e.published if p.version.status == "current"]
            bundles |= {f"{self.base}/{e.name}/{p.version.name}": (p.version.citation, p.bundle) for p in current}
            bundles |= {f"{self.base}/{e.name}/{d.run.name}": (f"{e.name}/{d.run.name}", d.bundle) for d in e.drafts}
        return bundles

    @property
    def problems(self) -> list[str]:
        """Why drafts are missing, one line each."""
        return [problem for entry in self.entries for problem in entry.problems]

    @property
    def not_compared(self) -> list[str]:
        """Why comparisons that mkdocs.yml names are missing, one line each."""
        named = [c for entry in self.entries for c in entry.comparisons if c.asked.slug.startswith("with-")]
        return [f"mkdocs.yml: compare: {c.title}: {c.problem}" for c in named if c.bundle is None]

    @cached_property
    def assets(self) -> Mapping[str, tuple[str, bytes]]:
        """(address, content) of the site's own CSS and JS, by name."""
        names = (CHROME, OFFLINE_SEARCH, index.STYLE, index.SCRIPT, over_versions.SCRIPT)
        contents = {name: _own(name) for name in names} | {vega.NAME: self.vega}
        return {name: (_address(name, content), content) for name, content in contents.items()}


def _own(name: str) -> bytes:
    return (resources.folder("templates") / "site" / name).read_bytes()


def _address(name: str, content: bytes) -> str:
    return f"{ASSETS}/{hashed_name(name, content)}"


def gather(
    experiments: Path,
    cache: Path,
    *,
    base: str = "experiments",
    drafts: int = 5,
    verify: bool = False,
    known: tuple[str, ...] = (),
    render: Render | None = None,
    journal: bool = True,
    compare: Sequence[object] = (),
) -> Site:
    """Read and check every version, begin to draw the newest drafts, and list the pages below `base`.

    `verify` hashes every published file again; `journal`: the site has a front page; `compare`: lists of addresses
    whose runs are compared. Raises SettingsError if one of them is no such list, and StoreError when a published
    version is missing or changed; a draft that cannot be shown becomes a problem of its entry. The caller must close
    `site.drawing`.
    """
    hashes = HashCache(cache / "hashes.json", trust=not verify)
    folders = _folders(experiments)
    for folder in folders:
        for place in (folder, folder / "runs", folder / "versions"):
            remove_left(place)
    published = [read_published(folder, None) for folder in folders]
    waiting = [_unpublished(folder, versions) for folder, versions in zip(folders, published, strict=True)]
    newest = [chosen(paths, drafts) for paths in waiting]
    by_name = {folder.name: versions for folder, versions in zip(folders, published, strict=True)}
    asked = comparisons.asked_for(experiments, by_name, compare, cache)
    progress = Progress()
    shrink(cache / FOLDER)
    drawing = Drawing([path for paths in newest for path in paths], cache / "drafts", known, render, progress)
    try:
        for versions in published:
            for version in versions:
                verify_bundle(version.bundle, hashes)
        hashes.save()
        engine = vega.script(cache)
        compared = comparisons.drawn(asked, experiments, progress)
    except BaseException:
        drawing.close()
        raise
    settings = [_settings(folder) for folder in folders]
    entries = [
        Entry(folder.name, _question(of, versions, paths, drawing), _tags(of), versions, paths, n - len(paths), drawing,
              [of for of in compared if of.asked.experiment == folder.name])
        for folder, of, versions, paths, n in zip(folders, settings, published, newest, map(len, waiting), strict=True)
    ]  # fmt: skip
    pictures = Pictures(cache / "pictures")
    pages = {page.source: page for page in _pages(entries, base, cache, journal, pictures)}
    return Site(base, entries, pages, drawing, engine, pictures)


def placeholder(page: SitePage) -> str:
    """The title and summary of a page, which search reads; `compose` replaces them with the content."""
    return f"{PAGE_BEGIN}<h1>{escape(page.title)}</h1>\n<p>{escape(page.summary)}</p>{PAGE_END}"


def compose(site: Site, page: SitePage, output: str) -> str:
    """The theme's output with the content of the page, and its stylesheets and scripts in the head."""
    before, begin, rest = output.partition(PAGE_BEGIN)
    _, ended, after = rest.partition(PAGE_END)
    if not begin or not ended:
        raise StoreError(f"{page.path}: the theme shows no page content; use a theme that has {{{{ page.content }}}}")
    content = page.content()
    if not content:
        return ""  # MkDocs writes no empty page
    before = before.replace("<html", f'<html data-tracegen-vega="{page.root}{site.assets[vega.NAME][0]}"', 1)
    before = before.replace("</head>", f"{page.head(page.root)}</head>", 1)
    before = re.sub(r"<body\b[^>]*>", lambda body: f"{body.group()}\n{SKIP}", before, count=1)
    return before + content + after


def write_files(site: Site, target: Path) -> None:
    """Write the files of all bundles into the built site, and make search work on `file://`.

    The pages of drafts that could not be drawn are removed from the search index.
    """
    site_files.write_files(target, site.base, site.bundles)
    pictures = {f"{site.base}/{name}": content for name, content in site.pictures.files.items()}
    for name, content in [*site.assets.values(), *pictures.items()]:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for entry in site.entries:
        _unlist(target / site.base / entry.name, entry.not_drawn)
    index = target / "search" / "search_index.json"
    if site.problems and index.is_file():
        missing = {page.path for page in site.pages.values() if not (target / page.path).is_file()}
        search = documents.read_json(index)
        search["docs"] = [doc for doc in search["docs"] if doc["location"].partition("#")[0] not in missing]
        index.write_text(json.dumps(search, separators=(",", ":")), encoding="utf-8")
    if index.is_file():
        site_search.add_tensors(index, site.searched)
        # a page opened from a folder may load scripts, but no other files
        index.with_suffix(".js").write_bytes(b"var __index = " + index.read_bytes())


def _unlist(folder: Path, not_drawn: Sequence[str]) -> None:
    """Remove drafts that could not be drawn from the switch of each page: these pages were written before."""
    if not not_drawn:
        return
    lines = re.compile(rf'<li data-folder="(?:{"|".join(map(re.escape, not_drawn))})">.*\n')
    for path in folder.rglob("*.html"):
        path.write_bytes(lines.sub("", path.read_bytes().decode()).encode())


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


def _settings(folder: Path) -> Mapping[str, object]:
    """What experiment.toml holds; nothing if it cannot be read: `tracegen run` reports what is wrong with it."""
    try:
        return documents.read_toml(folder / "experiment.toml")
    except (OSError, SettingsError):
        return {}


def _tags(settings: Mapping[str, object]) -> list[str] | None:
    tags = settings.get("tags")
    return tags if are_tags(tags) else None  # type: ignore[return-value]


def _question(
    settings: Mapping[str, object], published: Sequence[Published], runs: Sequence[Path], drawing: Drawing
) -> str:
    """The question of the settings, else that of the newest version or run."""
    candidates = [settings.get("question"), *(version.bundle.document.get("question") for version in published[:1])]
    candidates += [question_of(drawing.runs[path]) for path in runs if path in drawing.runs][:1]
    chosen = next((text for text in candidates if isinstance(text, str) and text.strip()), None)
    return printable(chosen or "No question is written down.")


def _pages(entries: list[Entry], base: str, cache: Path, journal: bool, pictures: Pictures) -> Iterator[SitePage]:
    def own_page(path: str, title: str, summary: str, listed: bool, inner: Callable[[], str], *loads: str) -> SitePage:
        def content() -> str:
            return f'<div class="tracegen tracegen-site" id="{CONTENT}">\n{inner()}</div>'

        assets = {name: _address(name, _own(name)) for name in loads}
        return SitePage(path, title, summary, listed, True, lambda root: _head(loading(assets, root)), content)

    yield own_page(reference.PATH, reference.TITLE, reference.SUMMARY, True, partial(reference.content, cache))

    for entry in entries:
        for published in entry.published:
            version, bundle = published.version, published.bundle
            facts: dict[str, Any] = {"status": version.status, "reason": published.reason}
            facts |= {"successor": published.successor, "entry": entry, "journal": journal}
            address = f"{entry.name}/{version.name}"
            yield from _report_pages(bundle.pages, partial(_itself, bundle), base, address, version.citation, facts)
        for compared in entry.comparisons:
            facts = {"status": "comparison", "reason": "", "successor": None, "entry": entry, "journal": journal}
            address = f"{entry.name}/{compared.asked.slug}"
            if compared.bundle:
                whole = partial(_itself, compared.bundle)
                yield from _report_pages(compared.bundle.pages, whole, base, address, compared.title, facts)
    for entry in entries:  # last, because the first of these pages waits for all drafts
        path = f"{base}/{entry.name}/index.html"
        loads = index.STYLE, over_versions.SCRIPT
        yield own_page(path, entry.name, entry.question, False, partial(_experiment, entry), *loads)
        facts = {"status": "draft", "reason": "", "successor": None, "entry": entry, "journal": journal}
        for folder in entry.runs:
            if folder in entry.drawing.runs:
                run = entry.drawing.runs[folder]
                name = f"{entry.name}/{run.name}"
                yield from _report_pages(_announced(run), partial(entry.bundle, folder), base, name, name, facts)
    summary = "Every experiment with its question, its published versions and its newest drafts."
    yield own_page(
        f"{base}/index.html", "Experiments", summary, True,
        lambda: index.index([card(entry) for entry in entries], pictures), index.STYLE, index.SCRIPT,
    )  # fmt: skip


def _experiment(entry: Entry) -> str:
    return shells().get_template("experiment.html").render(experiment=entry, trend=over_versions.trend(entry))


def _announced(run: Run) -> list[dict[str, str]]:
    """The pages that the draft of a run has, known before it is drawn."""
    return [Page(*page, body="").described for page in outline(run)]


def _paths(pages: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {page["key"]: page["path"] for page in pages}


def _itself(bundle: Bundle) -> Bundle:
    return bundle


def _errata(status: str, bundle: Bundle, page: str) -> tuple[Erratum, ...]:
    """The faults that a page may show; drafts and comparisons are drawn by this tracegen, and have none."""
    if status in ("draft", "comparison"):
        return ()
    document = bundle.document
    return errata_of(str(document.get("generator", "")), page, created=str(document.get("created", "")))


def _report_pages(
    outline: Sequence[Mapping[str, str]],
    bundle: Callable[[], Bundle | None],
    base: str,
    address: str,
    name: str,
    facts: Mapping[str, Any],
) -> Iterator[SitePage]:
    """The pages of a version or a draft; `bundle` is called when they are written, and None makes them empty."""
    before = shells().get_template("before_body.html")
    experiment = address.partition("/")[0]

    def head(root: str) -> str:
        current = bundle()
        if current is None:
            return ""
        assets = {n: f"{ASSETS}/{PurePosixPath(p).name}" for n, p in current.document["assets"].items() if n != CHROME}
        return _head(loading(assets, root))

    def content(page: Mapping[str, str]) -> str:
        current = bundle()
        if current is None:
            return ""
        up = page["path"].count("/")
        shown = before.render(
            pages=current.pages,
            current=page["key"],
            up="../" * up,
            to_experiment="../" * (up + 1),
            to_base="../" * (up + 2),
            root="../" * (up + 3 + base.count("/")),
            experiment=experiment,
            switch=facts["entry"].switch(page["key"], "../" * (up + 1), address.partition("/")[2]),
            compared=_compared_with(facts["entry"], name),
            name=name,
            verdict=current.document["verdict"],
            generator=printable(current.document.get("generator") or "An unknown tracegen"),
            errata=_errata(facts["status"], current, page["key"]),
            **facts,
        )
        kind = "tracegen tracegen-withdrawn" if facts["status"] == "withdrawn" else "tracegen"
        return f'<div class="{kind}" id="{CONTENT}">\n{shown}{current.body(page["path"]).decode()}\n</div>'

    searched = facts["status"] in ("current", "draft")
    for page in outline:
        path, title = f"{base}/{address}/{page['path']}", f"{page['title']} · {name}"
        yield SitePage(path, title, page["summary"], False, searched, head, partial(content, page))


def _compared_with(entry: Entry, name: str) -> list[tuple[str, str]]:
    """The comparisons of a version (`demo@v2`) with one other side: the folder below the experiment, the other side."""
    drawn = [c for c in entry.comparisons if c.bundle and len(c.asked.sides) == 2 and name in c.asked.sides]
    return [(c.asked.slug, next(side for side in c.asked.sides if side != name)) for c in drawn]


def _head(load: Mapping[str, Sequence[str]]) -> str:
    tags = [Markup('<link rel="stylesheet" href="{}">').format(path) for path in load["styles"]]
    tags += [Markup('<script defer src="{}"></script>').format(path) for path in load["scripts"]]
    return "".join(f"{tag}\n" for tag in tags)


def escaped(text: str) -> str:
    """Plain text as HTML, for themes that do not escape titles."""
    return str(escape(text))
