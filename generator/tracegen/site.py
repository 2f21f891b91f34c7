"""What the site shows of the experiments: every version, the newest drafts, and pages that list them.

Gathered before anything is written. The bodies of versions stay in their
bundles, those of drafts in a cache below `.tracegen/cache` (see `drafts.py`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from markupsafe import Markup, escape

from tracegen import resources, site_files, store
from tracegen.bundle import CHROME, Bundle, HashCache, hashed_name, loading, shells, verify_bundle
from tracegen.charts.text import printable
from tracegen.drafts import Draft, Render, drawing
from tracegen.errors import SettingsError, StoreError, TracegenError
from tracegen.publish import LEDGER_FILE, NAME, Published, read_published
from tracegen.site_files import ASSETS

PAGE_BEGIN, PAGE_END = "<!-- tracegen:page -->", "<!-- /tracegen:page -->"
OFFLINE_SEARCH = "offline_search.js"


@dataclass(frozen=True)
class Entry:
    """One experiment as the site lists it; versions and drafts newest first."""

    name: str
    question: str
    published: list[Published]
    drafts: list[Draft]
    problems: list[str]
    older: int


@dataclass(frozen=True)
class _Found:
    """An experiment as it lies on disk; `newest` are the run folders that are shown, `older` the others."""

    folder: Path
    published: list[Published]
    newest: list[Path]
    older: int


@dataclass(frozen=True)
class SitePage:
    """A page that exists in no docs_dir: where it goes, what nav and search see, how its content is had."""

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

    @property
    def bundles(self) -> dict[str, Bundle]:
        """Every bundle by its address below `base`: `sample/v3`, `sample/run-004`."""
        made = {f"{e.name}/{one.version.name}": one.bundle for e in self.entries for one in e.published}
        return made | {f"{e.name}/{draft.run.name}": draft.bundle for e in self.entries for draft in e.drafts}

    @property
    def problems(self) -> list[str]:
        """What could not be shown, one line each."""
        return [problem for entry in self.entries for problem in entry.problems]

    @cached_property
    def own(self) -> Mapping[str, tuple[str, bytes]]:
        """(address, content) of the site's own CSS and JS, by name."""
        folder = resources.folder("templates") / "site"
        contents = {name: (folder / name).read_bytes() for name in (CHROME, OFFLINE_SEARCH)}
        return {name: (f"{ASSETS}/{hashed_name(name, content)}", content) for name, content in contents.items()}


def gather(
    experiments: Path,
    cache: Path,
    *,
    base: str = "experiments",
    drafts: int = 5,
    verify: bool = False,
    now_ns: int,
    known: tuple[str, ...] = (),
    render: Render | None = None,
) -> Site:
    """Read and check every version, render the newest drafts, and lay out the pages below `base`.

    `verify` hashes every published file anew. Raises StoreError when a
    published version is missing or changed; a draft that cannot be shown
    becomes a problem of its entry.
    """
    hashes = HashCache(cache / "hashes.json", trust=not verify)
    found = [_read(folder, drafts) for folder in _folders(experiments)]
    newest = [path for one in found for path in one.newest]
    with drawing(newest, cache / "drafts", known, render) as drafts_drawn:
        for published in (published for one in found for published in one.published):
            verify_bundle(published.bundle, hashes)
        hashes.save(now_ns)
        drawn = drafts_drawn()
    entries = [_entry(one, drawn) for one in found]
    pages = {page.source: page for page in _pages(entries, base)}
    return Site(base, entries, pages)


def placeholder(page: SitePage) -> str:
    """What stands for the page until its content is put in: title and summary, for search."""
    return f"{PAGE_BEGIN}<h1>{escape(page.title)}</h1>\n<p>{escape(page.summary)}</p>{PAGE_END}"


def compose(page: SitePage, output: str) -> str:
    """The theme's output with the page's content and what its head loads put in."""
    before, found, rest = output.partition(PAGE_BEGIN)
    _, ended, after = rest.partition(PAGE_END)
    if not found or not ended:
        raise StoreError(f"{page.path}: the theme shows no page content; use a theme that has {{{{ page.content }}}}")
    before = before.replace("<html", f'<html data-tracegen-assets="{page.root}{ASSETS}/"', 1)
    before = before.replace("</head>", f"{page.head(page.root)}</head>", 1)
    return before + page.content() + after


def write_files(site: Site, target: Path) -> None:
    """Bring the files of all bundles into the built site, and make its search work from a folder."""
    site_files.write_files(target, site.base, site.bundles)
    for name, content in site.own.values():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    index = target / "search" / "search_index.json"
    if index.is_file():  # a page opened from a folder may load scripts, but may not fetch
        index.with_suffix(".js").write_bytes(b"var __index = " + index.read_bytes())


def _folders(experiments: Path) -> list[Path]:
    if not experiments.is_dir():
        return []
    marks = ("experiment.toml", LEDGER_FILE, "versions", "runs")
    folders = sorted(p for p in experiments.iterdir() if any((p / mark).exists() for mark in marks))
    for folder in folders:
        if not NAME.fullmatch(folder.name):
            raise SettingsError(f"{folder}: the name may hold letters, digits, '.', '_' and '-' only; rename it")
    return folders


def _read(folder: Path, drafts: int) -> _Found:
    published = read_published(folder, None)
    frozen = {number for one in published for number in one.version.runs}
    waiting = [path for path in reversed(store.run_folders(folder)) if int(path.name) not in frozen]
    newest = waiting[: max(drafts, 0)]
    return _Found(folder, published, newest, len(waiting) - len(newest))


def _entry(found: _Found, drawn: Mapping[Path, Draft | TracegenError]) -> Entry:
    folder, published = found.folder, found.published
    made, problems = [], []
    for path in found.newest:
        one = drawn[path]
        if isinstance(one, Draft):
            made.append(one)
        else:
            problems.append(printable(f"Run {path.name}: {_relative(str(one), folder.parent)}"))
    question = _question(folder) or (published[0].bundle.document.get("question") if published else None)
    question = question or (made[0].bundle.document.get("question") if made else None)
    shown = printable(question or "No question is written down.")
    return Entry(folder.name, shown, published, made, problems, found.older)


def _relative(text: str, experiments: Path) -> str:
    """The message without the part of paths that belongs to this machine only."""
    return text.replace(f"{experiments}/", "")


def _question(folder: Path) -> str | None:
    try:
        settings = tomllib.loads((folder / "experiment.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # `tracegen run` says what is wrong with it
        return None
    question = settings.get("question")
    return question if isinstance(question, str) and question.strip() else None


def _pages(entries: list[Entry], base: str) -> Iterator[SitePage]:
    templates = shells()

    def listing(path: str, title: str, summary: str, template: str, listed: bool, **values: Any) -> SitePage:
        def content() -> str:
            inner = templates.get_template(template).render(**values)
            return f'<div class="tracegen tracegen-site">\n{inner}</div>'

        return SitePage(path, title, summary, listed, True, lambda root: "", content)

    summary = "Every experiment with its question, its published versions and its newest drafts."
    yield listing(f"{base}/index.html", "Experiments", summary, "experiments.html", True, experiments=entries)
    for entry in entries:
        path = f"{base}/{entry.name}/index.html"
        yield listing(path, entry.name, entry.question, "experiment.html", False, experiment=entry)
        for one in entry.published:
            facts = {"status": one.version.status, "reason": one.reason, "successor": one.successor}
            yield from _bundle_pages(one.bundle, base, entry.name, one.version.name, one.version.citation, facts)
        for draft in entry.drafts:
            facts = {"status": "draft", "reason": "", "successor": None}
            name = f"{entry.name}/{draft.run.name}"
            yield from _bundle_pages(draft.bundle, base, entry.name, draft.run.name, name, facts)


def _bundle_pages(
    bundle: Bundle, base: str, experiment: str, folder: str, name: str, facts: Mapping[str, Any]
) -> Iterator[SitePage]:
    document = bundle.document
    before = shells().get_template("before_body.html")
    assets = {n: f"{ASSETS}/{PurePosixPath(p).name}" for n, p in document["assets"].items() if n != CHROME}
    for page in bundle.pages:
        yield SitePage(
            f"{base}/{experiment}/{folder}/{page['path']}",
            f"{page['title']} · {name}",
            page["summary"],
            False,
            facts["status"] in ("current", "draft"),
            lambda root: _head(loading(assets, root)),
            lambda page=page: (  # type: ignore[misc]
                '<div class="tracegen">\n'
                + before.render(
                    pages=bundle.pages,
                    current=page["key"],
                    up="../" * page["path"].count("/"),
                    to_experiment="../" * (page["path"].count("/") + 1),
                    experiment=experiment,
                    name=name,
                    verdict=document["verdict"],
                    **facts,
                )
                + bundle.body(page["path"]).decode()
                + "\n</div>"
            ),
        )


def _head(load: Mapping[str, Any]) -> str:
    tags = [Markup('<meta name="{}" content="{}">').format(name, path) for name, path in load["later"].items()]
    tags += [Markup('<link rel="stylesheet" href="{}">').format(path) for path in load["styles"]]
    tags += [Markup('<script defer src="{}"></script>').format(path) for path in load["scripts"]]
    return "".join(f"{tag}\n" for tag in tags)


def escaped(text: str) -> str:
    """Plain text as HTML, for themes that print titles as they stand."""
    return str(escape(text))
