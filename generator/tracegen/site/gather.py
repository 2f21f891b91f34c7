"""What the site shows of the experiments: every version, the newest drafts, and pages that list them.

What is published is read and checked before anything is written. The bodies of
versions stay in their bundles; those of drafts lie in a cache below
`.tracegen/cache`, and may still be drawn while the other pages are made (`drafts.py`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any

from markupsafe import Markup, escape

from tracegen import resources, store
from tracegen.address import name_problem
from tracegen.charts.text import printable
from tracegen.errors import SettingsError, StoreError, TracegenError
from tracegen.hashes import HashCache
from tracegen.pages.page import Page, outline
from tracegen.publishing.bundle import CHROME, Bundle, hashed_name, loading, shells, verify_bundle
from tracegen.publishing.errata import errata_of
from tracegen.publishing.versions import LEDGER_FILE, Published, question_of, read_published
from tracegen.site import files as site_files
from tracegen.site import reference, vega
from tracegen.site import search as site_search
from tracegen.site.drafts import Draft, Drawing, Render
from tracegen.site.files import ASSETS

PAGE_BEGIN, PAGE_END = "<!-- tracegen:page -->", "<!-- /tracegen:page -->"
OFFLINE_SEARCH = "offline_search.js"
CONTENT = "tracegen-content"
SKIP = f'<a class="tracegen-skip" href="#{CONTENT}">Skip to the content</a>'  # themes have one for headings of theirs


@dataclass(frozen=True)
class Entry:
    """One experiment as the site lists it; versions and drafts newest first.

    `runs` are the folders of runs that drafts are made of, `older` counts the others.
    """

    name: str
    question: str
    published: list[Published]
    runs: list[Path]
    older: int
    drawing: Drawing

    @property
    def drafts(self) -> list[Draft]:
        """The drafts that could be drawn; waits for them."""
        return [one for path in self.runs if isinstance(one := self.drawing.drawn[path], Draft)]

    def bundle(self, run: Path) -> Bundle | None:
        """The draft of the run in this folder, None when it could not be drawn; waits for it."""
        one = self.drawing.drawn[run]
        return one.bundle if isinstance(one, Draft) else None

    @property
    def problems(self) -> list[str]:
        """Why a draft is missing, one line each; waits for them."""
        failed = [(path, one) for path in self.runs if isinstance(one := self.drawing.drawn[path], TracegenError)]
        # without the part of paths that belongs to this machine only
        return [printable(f"Run {p.name}: {str(e).replace(f'{p.parents[2]}/', '')}") for p, e in failed]


@dataclass(frozen=True)
class SitePage:
    """A page that exists in no docs_dir: where it goes, what nav and search see, how its content is had.

    `content` is empty when there is to be no page after all.
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
        """The Markdown file that MkDocs believes it was made from."""
        return f"{self.path.removesuffix('.html')}.md"

    @property
    def root(self) -> str:
        """What leads from the page's folder to the site's root."""
        return "../" * self.path.count("/")


@dataclass(frozen=True)
class Site:
    """All that tracegen adds to a site: the pages by their source, and the files of bundles."""

    base: str
    entries: list[Entry]
    pages: Mapping[str, SitePage]
    drawing: Drawing
    vega: bytes

    @property
    def bundles(self) -> dict[str, Bundle]:
        """Every bundle by its address below `base`: `sample/v3`, `sample/run-004`."""
        made = {f"{e.name}/{one.version.name}": one.bundle for e in self.entries for one in e.published}
        return made | {f"{e.name}/{draft.run.name}": draft.bundle for e in self.entries for draft in e.drafts}

    @property
    def searched(self) -> dict[str, tuple[str, Bundle]]:
        """Citation or name, and bundle, of what search finds, by its address in the site: no version that is past."""
        made: dict[str, tuple[str, Bundle]] = {}
        for e in self.entries:
            current = [one for one in e.published if one.version.status == "current"]
            made |= {f"{self.base}/{e.name}/{v.version.name}": (v.version.citation, v.bundle) for v in current}
            made |= {f"{self.base}/{e.name}/{d.run.name}": (f"{e.name}/{d.run.name}", d.bundle) for d in e.drafts}
        return made

    @property
    def problems(self) -> list[str]:
        """What could not be shown, one line each."""
        return [problem for entry in self.entries for problem in entry.problems]

    @cached_property
    def own(self) -> Mapping[str, tuple[str, bytes]]:
        """(address, content) of the site's own CSS and JS, by name."""
        folder = resources.folder("templates") / "site"
        contents = {name: (folder / name).read_bytes() for name in (CHROME, OFFLINE_SEARCH)} | {vega.NAME: self.vega}
        return {name: (f"{ASSETS}/{hashed_name(name, content)}", content) for name, content in contents.items()}


def gather(
    experiments: Path,
    cache: Path,
    *,
    base: str = "experiments",
    drafts: int = 5,
    verify: bool = False,
    known: tuple[str, ...] = (),
    render: Render | None = None,
) -> Site:
    """Read and check every version, render the newest drafts, and lay out the pages below `base`.

    `verify` hashes every published file anew. Raises StoreError when a
    published version is missing or changed; a draft that cannot be shown
    becomes a problem of its entry. `site.drawing` must be closed.
    """
    hashes = HashCache(cache / "hashes.json", trust=not verify)
    folders = _folders(experiments)
    published = [read_published(folder, None) for folder in folders]
    waiting = [_unpublished(folder, versions) for folder, versions in zip(folders, published, strict=True)]
    newest = [paths[: max(drafts, 0)] for paths in waiting]
    drawing = Drawing([path for paths in newest for path in paths], cache / "drafts", known, render)
    try:
        for versions in published:
            for one in versions:
                verify_bundle(one.bundle, hashes)
        hashes.save()
        engine = vega.script(cache)
    except BaseException:
        drawing.close()
        raise
    entries = [
        Entry(
            folder.name, _question(folder, versions, paths, drawing), versions, paths, len(found) - len(paths), drawing
        )
        for folder, versions, paths, found in zip(folders, published, newest, waiting, strict=True)
    ]
    pages = {page.source: page for page in _pages(entries, base, cache)}
    return Site(base, entries, pages, drawing, engine)


def placeholder(page: SitePage) -> str:
    """What stands for the page until its content is put in: title and summary, for search."""
    return f"{PAGE_BEGIN}<h1>{escape(page.title)}</h1>\n<p>{escape(page.summary)}</p>{PAGE_END}"


def compose(site: Site, page: SitePage, output: str) -> str:
    """The theme's output with the page's content and what its head loads put in."""
    before, found, rest = output.partition(PAGE_BEGIN)
    _, ended, after = rest.partition(PAGE_END)
    if not found or not ended:
        raise StoreError(f"{page.path}: the theme shows no page content; use a theme that has {{{{ page.content }}}}")
    content = page.content()
    if not content:
        return ""  # MkDocs writes no empty page
    before = before.replace("<html", f'<html data-tracegen-vega="{page.root}{site.own[vega.NAME][0]}"', 1)
    before = before.replace("</head>", f"{page.head(page.root)}</head>", 1)
    before = re.sub(r"<body\b[^>]*>", lambda body: f"{body.group()}\n{SKIP}", before, count=1)
    return before + content + after


def write_files(site: Site, target: Path) -> None:
    """Bring the files of all bundles into the built site, and make its search work from a folder.

    Search forgets the pages of drafts that could not be drawn.
    """
    site_files.write_files(target, site.base, site.bundles)
    for name, content in site.own.values():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    index = target / "search" / "search_index.json"
    if site.problems and index.is_file():
        missing = {page.path for page in site.pages.values() if not (target / page.path).is_file()}
        found = json.loads(index.read_bytes())
        found["docs"] = [doc for doc in found["docs"] if doc["location"].partition("#")[0] not in missing]
        index.write_text(json.dumps(found, separators=(",", ":")), encoding="utf-8")
    if index.is_file():
        site_search.add_tensors(index, site.searched)
        # a page opened from a folder may load scripts, but may not fetch
        index.with_suffix(".js").write_bytes(b"var __index = " + index.read_bytes())


def _folders(experiments: Path) -> list[Path]:
    if not experiments.is_dir():
        return []
    marks = ("experiment.toml", LEDGER_FILE, "versions", "runs")
    folders = sorted(p for p in experiments.iterdir() if any((p / mark).exists() for mark in marks))
    for folder in folders:
        problem = name_problem(folder.name)
        if problem:
            raise SettingsError(f"{folder}: the name of an experiment cannot be {problem}; rename the folder")
    return folders


def _unpublished(folder: Path, published: Sequence[Published]) -> list[Path]:
    """The folders of the runs that no version holds, newest first."""
    frozen = {number for one in published for number in one.version.runs}
    return [path for path in reversed(store.run_folders(folder)) if int(path.name) not in frozen]


def _question(folder: Path, published: Sequence[Published], runs: Sequence[Path], drawing: Drawing) -> str:
    """What the settings ask, else what the newest version or run asked."""
    try:
        asked = tomllib.loads((folder / "experiment.toml").read_text(encoding="utf-8")).get("question")
    except (OSError, ValueError):  # `tracegen run` says what is wrong with it
        asked = None
    candidates = [asked, *(one.bundle.document.get("question") for one in published[:1])]
    candidates += [question_of(drawing.runs[path]) for path in runs if path in drawing.runs][:1]
    chosen = next((text for text in candidates if isinstance(text, str) and text.strip()), None)
    return printable(chosen or "No question is written down.")


def _pages(entries: list[Entry], base: str, cache: Path) -> Iterator[SitePage]:
    templates = shells()

    def own(path: str, title: str, summary: str, listed: bool, inner: Callable[[], str]) -> SitePage:
        def content() -> str:
            return f'<div class="tracegen tracegen-site" id="{CONTENT}">\n{inner()}</div>'

        return SitePage(path, title, summary, listed, True, lambda root: "", content)

    def listing(path: str, title: str, summary: str, template: str, listed: bool, **values: Any) -> SitePage:
        return own(path, title, summary, listed, lambda: templates.get_template(template).render(**values))

    yield own(reference.PATH, reference.TITLE, reference.SUMMARY, True, partial(reference.content, cache))

    for entry in entries:
        for one in entry.published:
            facts = {"status": one.version.status, "reason": one.reason, "successor": one.successor}
            address = f"{entry.name}/{one.version.name}"
            yield from _report_pages(
                one.bundle.pages, partial(_itself, one.bundle), base, address, one.version.citation, facts
            )
    for entry in entries:  # last of all: their drafts are waited for when the first of them is written
        path = f"{base}/{entry.name}/index.html"
        yield listing(path, entry.name, entry.question, "experiment.html", False, experiment=entry)
        facts = {"status": "draft", "reason": "", "successor": None}
        for folder in entry.runs:
            if folder in entry.drawing.runs:
                run = entry.drawing.runs[folder]
                name = f"{entry.name}/{run.name}"
                announced = [Page(*one, body="").described for one in outline(run)]
                yield from _report_pages(announced, partial(entry.bundle, folder), base, name, name, facts)
    summary = "Every experiment with its question, its published versions and its newest drafts."
    yield listing(f"{base}/index.html", "Experiments", summary, "experiments.html", True, experiments=entries)


def _itself(bundle: Bundle) -> Bundle:
    return bundle


def _report_pages(
    outline: Sequence[Mapping[str, str]],
    bundle: Callable[[], Bundle | None],
    base: str,
    address: str,
    name: str,
    facts: Mapping[str, Any],
) -> Iterator[SitePage]:
    """The pages of a version or a draft; `bundle` is asked when they are written, they are empty when it has none."""
    before = shells().get_template("before_body.html")
    experiment = address.partition("/")[0]

    def head(root: str) -> str:
        made = bundle()
        if made is None:
            return ""
        assets = {n: f"{ASSETS}/{PurePosixPath(p).name}" for n, p in made.document["assets"].items() if n != CHROME}
        return _head(loading(assets, root))

    def content(page: Mapping[str, str]) -> str:
        made = bundle()
        if made is None:
            return ""
        up = page["path"].count("/")
        shown = before.render(
            pages=made.pages,
            current=page["key"],
            up="../" * up,
            to_experiment="../" * (up + 1),
            experiment=experiment,
            name=name,
            verdict=made.document["verdict"],
            generator=printable(made.document.get("generator") or "An unknown tracegen"),
            errata=errata_of(str(made.document.get("generator", "")), page["key"]),
            **facts,
        )
        return f'<div class="tracegen" id="{CONTENT}">\n{shown}{made.body(page["path"]).decode()}\n</div>'

    searched = facts["status"] in ("current", "draft")
    for page in outline:
        path, title = f"{base}/{address}/{page['path']}", f"{page['title']} · {name}"
        yield SitePage(path, title, page["summary"], False, searched, head, partial(content, page))


def _head(load: Mapping[str, Sequence[str]]) -> str:
    tags = [Markup('<link rel="stylesheet" href="{}">').format(path) for path in load["styles"]]
    tags += [Markup('<script defer src="{}"></script>').format(path) for path in load["scripts"]]
    return "".join(f"{tag}\n" for tag in tags)


def escaped(text: str) -> str:
    """Plain text as HTML, for themes that print titles as they stand."""
    return str(escape(text))
