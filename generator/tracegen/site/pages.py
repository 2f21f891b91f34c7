"""The pages of a site about experiments: those of versions, comparisons and drafts, and lists of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from markupsafe import Markup

from tracegen.contract.address import EXPERIMENTS
from tracegen.contract.facts import Tried
from tracegen.contract.text import printable
from tracegen.publishing.bundle import CHROME, Bundle, loading, own, shells
from tracegen.publishing.errata import Erratum, errata_of
from tracegen.site import reference
from tracegen.site.about import MEASURES
from tracegen.site.cards import card, newest_first
from tracegen.site.comparisons import Compared
from tracegen.site.entry import Entry, announced
from tracegen.site.files import ASSETS, address
from tracegen.site.search import BOOST, WORDS
from tracegen.site.trials import Ways, links, ways_of

CONTENT = "tracegen-content"
INDEX = ("index.css", "index.js")  # what the list of experiments loads


@dataclass(frozen=True)
class SitePage:
    """A page without a file in docs_dir: its path, title and summary, and functions that give its HTML.

    `listed`: navigation has it; `searched`: search finds it, `boost` times as well as others. `head` takes the relative
    path to the site's root. If `content` returns an empty text, no page is written.
    """

    path: str
    title: str
    summary: str
    listed: bool
    searched: bool
    head: Callable[[str], str]
    content: Callable[[], str]
    boost: float = 1.0

    @property
    def source(self) -> str:
        """The name of the Markdown file that MkDocs takes for its source."""
        return f"{self.path.removesuffix('.html')}.md"

    @property
    def root(self) -> str:
        """The relative path from the page's folder to the site's root."""
        return "../" * self.path.count("/")


@dataclass(frozen=True)
class _Shown:
    """A version, comparison or draft that has pages; `outline` lists them.

    `folder` is that of it below the experiment. `bundle` is called when the pages are written; None makes them empty.
    """

    entry: Entry
    folder: str
    name: str
    status: str
    outline: Sequence[Mapping[str, str]]
    bundle: Callable[[], Bundle | None]
    reason: str = ""
    successor: int | None = None


def pages_of(entries: Sequence[Entry], cache: Path, journal: bool, trials: Sequence[Tried] = ()) -> Iterator[SitePage]:
    """Every page that tracegen adds; last those that wait for drafts. `journal`: the site has a front page."""
    ways = ways_of(entries, trials)
    yield _own(reference.PATH, reference.TITLE, reference.SUMMARY, partial(reference.content, cache))
    every = [of for entry in entries for of in entry.comparisons]
    for entry in entries:
        for shown in (*_versions(entry), *_comparisons(entry)):
            yield from _of_report(shown, journal, every, ways)
    for entry in entries:
        path = f"{EXPERIMENTS}/{entry.name}/index.html"
        withdrawn = any(published.version.status == "withdrawn" for published in entry.published)
        summary = f"{entry.question} One of its versions is withdrawn." if withdrawn else entry.question
        yield _own(path, entry.name, summary, partial(_experiment, entry, ways), listed=False)
        for shown in _drafts(entry):
            yield from _of_report(shown, journal, every, ways)
    summary = "Every experiment with its question, its published versions and its newest drafts."
    yield _own(f"{EXPERIMENTS}/index.html", "Experiments", summary, partial(_index, entries), INDEX)


def _own(
    path: str, title: str, summary: str, inner: Callable[[], str], loads: Sequence[str] = (), *, listed: bool = True
) -> SitePage:
    """A page that belongs to no report."""
    assets = {name: address(name, own(name)) for name in loads}

    def content() -> str:
        return f'<div class="tracegen tracegen-site" id="{CONTENT}">\n{inner()}</div>'

    return SitePage(path, title, summary, listed, True, lambda root: _head(loading(assets, root)), content)


def _experiment(entry: Entry, ways: Ways) -> str:
    of = links(ways, entry.name, "")
    return shells().get_template("experiment.html").render(experiment=entry, measures=MEASURES, ways=of)


def _index(entries: Sequence[Entry]) -> str:
    cards = newest_first([card(entry) for entry in entries])
    tags = Counter(tag for each in cards for tag in each.tags)
    return shells().get_template("experiments.html").render(cards=cards, tags=sorted(tags.items()))


def _versions(entry: Entry) -> Iterator[_Shown]:
    for published in entry.published:
        version, bundle = published.version, published.bundle
        yield _Shown(
            entry,
            version.name,
            version.citation,
            version.status,
            bundle.pages,
            partial(_itself, bundle),
            published.reason,
            published.successor,
        )


def _comparisons(entry: Entry) -> Iterator[_Shown]:
    for of in entry.comparisons:
        if of.bundle:
            yield _Shown(entry, of.planned.slug, of.title, "comparison", of.bundle.pages, partial(_itself, of.bundle))


def _drafts(entry: Entry) -> Iterator[_Shown]:
    for folder in entry.runs:
        if folder in entry.drawing.runs:
            run = entry.drawing.runs[folder]
            name = f"{entry.name}/{run.name}"
            yield _Shown(entry, run.name, name, "draft", announced(run), partial(entry.bundle, folder))


def _itself(bundle: Bundle) -> Bundle:
    return bundle


def errata_on(status: str, bundle: Bundle, page: str) -> tuple[Erratum, ...]:
    """The faults that a page may show; drafts and comparisons are drawn by this tracegen, and have none."""
    if status in ("draft", "comparison"):
        return ()
    document = bundle.document
    return errata_of(str(document.get("generator", "")), page, created=str(document.get("created", "")))


def _of_report(shown: _Shown, journal: bool, every: Sequence[Compared], ways: Ways) -> Iterator[SitePage]:
    """The pages of a version, comparison or draft."""
    before = shells().get_template("before_body.html")
    entry = shown.entry

    def tags(page: Mapping[str, str], root: str) -> str:
        bundle = shown.bundle()
        if bundle is None:
            return ""
        assets = {n: f"{ASSETS}/{PurePosixPath(p).name}" for n, p in bundle.document["assets"].items() if n != CHROME}
        return _head(loading(assets, root, page["key"]))

    def content(page: Mapping[str, str]) -> str:
        bundle = shown.bundle()
        if bundle is None:
            return ""
        up = page["path"].count("/")
        header = before.render(
            pages=bundle.pages,
            current=page["key"],
            up="../" * up,
            to_experiment="../" * (up + 1),
            to_base="../" * (up + 2),
            root="../" * (up + 3),
            experiment=entry.name,
            switch=entry.switch(page["key"], "../" * (up + 1), shown.folder),
            ways=[*_compared_with(every, shown.name), *links(ways, entry.name, shown.folder)],
            name=shown.name,
            status=shown.status,
            reason=shown.reason,
            successor=shown.successor,
            journal=journal,
            verdict=bundle.document["verdict"],
            generator=printable(bundle.document.get("generator") or "An unknown tracegen"),
            errata=errata_on(shown.status, bundle, page["key"]),
        )
        kind = "tracegen tracegen-withdrawn" if shown.status == "withdrawn" else "tracegen"
        return f'<div class="{kind}" id="{CONTENT}">\n{header}{bundle.body(page["path"]).decode()}\n</div>'

    searched = shown.status in ("current", "draft")
    for page in shown.outline:
        path, title = f"{EXPERIMENTS}/{entry.name}/{shown.folder}/{page['path']}", f"{page['title']} · {shown.name}"
        summary = f"{page['summary']} {WORDS.get(page['key'], '')}".strip()
        boost = BOOST if page["key"] in WORDS else 1.0
        yield SitePage(path, title, summary, False, searched, partial(tags, page), partial(content, page), boost)


def _head(load: Mapping[str, Sequence[str]]) -> str:
    """The tags of a page's head for these stylesheets and scripts."""
    tags = [Markup('<link rel="stylesheet" href="{}">').format(path) for path in load["styles"]]
    tags += [Markup('<script defer src="{}"></script>').format(path) for path in load["scripts"]]
    return "".join(f"{tag}\n" for tag in tags)


def _compared_with(every: Sequence[Compared], name: str) -> list[tuple[str, str]]:
    """The comparisons of a version (`demo@v2`) with one other side: the address of the page, and its words."""
    drawn = [c for c in every if c.bundle and len(c.planned.sides) == 2 and name in c.planned.sides]
    found = [(c.planned, next(side for side in c.planned.sides if side != name)) for c in drawn]
    return [(f"{planned.experiment}/{planned.slug}/index.html", f"compare with {side}") for planned, side in found]
