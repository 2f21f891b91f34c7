"""References from the journal to published versions, as an extension of Python-Markdown.

    [[sample@v1]]                           a link to the version
    [[sample@v1/memory#fig-heatmap|text]]   a link to a page, an anchor, with its own text
    [[sample@v1#pass=3&node=12]]            a link to an op, to its threads with sample@v1/timeline#…
    [[sample@v1/memory#tensor=17]]          a link to a tensor in the explorer, to a node with sample@v1/graph#g0-n12
    {{ sample@v1:touched_share }}           a published value, as its page words it
    ![[sample@v1#fig-heatmap]]              a figure, alone in its paragraph, with its caption

The extension writes addresses from the site's root (`tracegen:/…`) and marks
unknown references; `settle` makes the addresses relative to the page and lists
the marked references with their lines in the journal file.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.blockparser import BlockParser
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString

from tracegen.contract import address
from tracegen.contract.text import ended
from tracegen.publishing import anchors
from tracegen.publishing.held import addresses_of
from tracegen.publishing.versions import Published
from tracegen.site.pictured import SCHEME, pictured

Handled = tuple[Element, int, int] | tuple[None, None, None]  # the result of a pattern of Python-Markdown

_LINK = r"(?<!!)\[\[(?P<reference>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]+))?\]\]"
_VALUE = r"\{\{\s*(?P<reference>[\w.@-]+):(?P<value>[^{}\n]*?)\s*\}\}"
_KEYLESS = r"\{\{\s*(?P<reference>[\w.-]+@v\d+)\s*\}\}"
_NEAREST = 3  # names that a warning proposes
_FEW = 8  # names that a warning lists
_FIGURE = re.compile(r"!\[\[(?P<reference>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]+))?\]\]")
_MARKED = re.compile(r'<mark class="tracegen-unknown" title="(?P<reason>[^"]*)">(?P<literal>.*?)</mark>', re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """An unknown reference: its line in the journal file (0: not known), its text and the reason."""

    line: int
    literal: str
    reason: str


@dataclass(frozen=True)
class References:
    """The versions that the journal can refer to, by citation, and the folder `base` of their pages.

    `dark` collects the dark pictures of quoted figures: address from the site's root -> content.
    """

    published: Mapping[str, Published] = field(default_factory=dict)
    base: str = "experiments"
    dark: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """The target of a reference: version, page, anchor, and the figure if the anchor is one's."""

    published: Published
    page: Mapping[str, str]
    anchor: str
    figure: Mapping[str, Any] | None
    root: str

    @property
    def url(self) -> str:
        """The address from the site's root."""
        return f"{self.root}/{self.page['path']}" + (f"#{self.anchor}" if self.anchor else "")

    @property
    def text(self) -> str:
        """The text of the link if the journal gives none."""
        words = self.published.version.citation
        if self.figure:
            words += f", {self.figure['title']}"
        elif self.page["key"] != "overview":
            words += f", {self.page['title']}"
        return words + withdrawn(self.published)


Make = Callable[[References, re.Match[str]], Element]


class UnknownReferenceError(Exception):
    """A reference is unknown; the message says why."""


def references(published: Iterable[Published], base: str = "experiments") -> References:
    """The references to these versions."""
    return References({p.version.citation: p for p in published}, base)


def resolve(known: References, reference: str) -> Target:
    """The target of a reference such as `sample@v1/memory#fig-heatmap`. Raises UnknownReferenceError."""
    named = address.reference(reference)
    if not named:
        name = re.split("[@/#]", reference.strip(), maxsplit=1)[0]
        raise UnknownReferenceError(
            f"a reference is NAME@vN, NAME@vN/PAGE or NAME@vN#ANCHOR; {_published_of(known, name)}"
        )
    published = _version(known, named.citation)
    document, anchor = published.bundle.document, named.anchor
    pages = [page for page in published.bundle.pages if named.page in (None, page["key"])]
    if not pages:
        keys = ", ".join(page["key"] for page in published.bundle.pages)
        raise UnknownReferenceError(f"{named.citation} has no page {named.page!r}; it has {keys}")
    figure = next((f for f in document["figures"] if _anchor(f) == anchor and _holds(pages, f["page"])), None)
    if figure:
        pages = [page for page in pages if page["key"] == figure["page"]]
    elif anchor:
        pages = [page for page in pages if anchors.shows(published.bundle, page, anchor)]
        if not pages and address.op(anchor):
            raise UnknownReferenceError(f"{named.citation} lists no op at {anchor!r}; see its operations page")
        if not pages:
            raise UnknownReferenceError(_no_anchor(published, anchor))
    root = f"{SCHEME}{known.base}/{published.version.experiment}/{published.version.name}"
    return Target(published, pages[0], anchor, figure, root)


def _no_anchor(published: Published, anchor: str) -> str:
    """Why an anchor is unknown, with what there is of its kind."""
    citation = published.version.citation
    for kind, noun, page in (
        ("tensor=", "tensor", "memory"),
        ("pass=", "operation", "operations"),
        ("g", "node", "graph"),
    ):
        if anchor.startswith(kind) and (kind != "g" or address.node(anchor)):
            return f"{citation} has no {noun} at {anchor!r}; see its {page} page"
    return f"{citation} has no anchor {anchor!r}; {_nearest(anchor, _quotable(published), 'figures and tables')}"


def _quotable(published: Published) -> list[str]:
    """The anchors of figures and tables: of those in the list of figures, and all that its pages are known to have."""
    listed = (addresses_of(published.bundle) or {"ids": {}})["ids"]
    on_pages = [name for page in published.bundle.pages for name in listed.get(page["key"], ())]
    names = [*(_anchor(f) for f in published.bundle.document["figures"]), *on_pages]
    return list(dict.fromkeys(name for name in names if name.startswith(("fig-", "tab-"))))


def _nearest(name: str, names: Sequence[str], noun: str) -> str:
    """Which of the names are near, and how many there are: `did you mean tab-disk? it has 31 figures and tables`."""
    if len(names) <= _FEW:
        return f"its {noun} are {', '.join(names) or 'none'}"
    near = difflib.get_close_matches(name, names, _NEAREST)
    guess = f"did you mean {', '.join(near)}? " if near else ""
    return f"{guess}it has {len(names)} {noun}"


def is_ours(known: References, reference: str) -> bool:
    """Whether text in double brackets or braces is a reference to tracegen: it has an `@`, or names an experiment."""
    name = re.split("[/#]", reference.strip(), maxsplit=1)[0]
    return "@" in name or any(name == p.version.experiment for p in known.published.values())


def settle(html: str, *, path: str, source: str) -> tuple[str, list[Problem]]:
    """The page's HTML with addresses relative to `path`, and its unknown references."""
    up = "../" * path.count("/")
    problems, searched = [], 0
    for match in _MARKED.finditer(html):
        literal = unescape(match["literal"])
        place = source.find(literal, searched)
        if place < 0:
            place = source.find(literal)
        searched = max(searched, place + 1)
        line = source.count("\n", 0, place) + 1 if place >= 0 else 0
        problems.append(Problem(line, literal, unescape(match["reason"])))
    return re.sub(rf'\b(href|src|srcset)="{SCHEME}', rf'\1="{up}', html), problems


def withdrawn(published: Published) -> str:
    """The words that follow a quotation from a withdrawn version."""
    return " (withdrawn)" if published.version.status == "withdrawn" else ""


def _version(known: References, citation: str) -> Published:
    if citation not in known.published:
        there = _published_of(known, citation.partition("@")[0])
        raise UnknownReferenceError(f"{citation} is no published version; {there}")
    return known.published[citation]


def _published_of(known: References, name: str) -> str:
    others = [c for c in known.published if c.partition("@")[0] == name]
    return f"published are {', '.join(others)}" if others else f"nothing of {name!r} is published"


def _anchor(figure: Mapping[str, str]) -> str:
    """The id that a figure has on its page: `fig-heatmap` for the key `heatmap`."""
    key = figure["key"]
    return key if key.startswith("fig-") else f"fig-{key}"


def _holds(pages: list[Mapping[str, str]], key: str) -> bool:
    return any(page["key"] == key for page in pages)


def _unknown(literal: str, reason: object) -> Element:
    mark = Element("mark", {"class": "tracegen-unknown", "title": str(reason)})
    mark.text = AtomicString(literal)
    return mark


class _Reference(InlineProcessor):
    """Puts what `make` makes of a reference in its place; one that is not ours stays, an unknown one is marked."""

    def __init__(self, md: Markdown, pattern: str, known: References, make: Make) -> None:
        super().__init__(pattern, md)
        self.known, self.make = known, make

    def handleMatch(self, m: re.Match[str], data: str) -> Handled:  # type: ignore[override]  # noqa: N802
        if not is_ours(self.known, m["reference"]):
            return None, None, None
        try:
            return self.make(self.known, m), m.start(), m.end()
        except UnknownReferenceError as error:
            return _unknown(m.group(), error), m.start(), m.end()


def _link(known: References, m: re.Match[str]) -> Element:
    target = resolve(known, m["reference"])
    link = Element("a", {"href": target.url})
    link.text = AtomicString(m["text"] + withdrawn(target.published) if m["text"] else target.text)
    return link


def _stray_figure(known: References, m: re.Match[str]) -> Element:
    """A figure inside a paragraph, which is an error; `_FigureProcessor` handles figures that stand alone."""
    raise UnknownReferenceError("a figure stands alone in its paragraph")


def _keyless_value(known: References, m: re.Match[str]) -> Element:
    """A version in braces without the name of a value, which is an error."""
    citation = m["reference"]
    raise UnknownReferenceError(f"a value is {{{{ {citation}:KEY }}}}; name one, or link with [[{citation}]]")


def _quoted_value(known: References, m: re.Match[str]) -> Element:
    target, name = resolve(known, m["reference"]), m["value"].strip()
    value = _value(target, name)
    exact = f"{value.get('value')} {value.get('unit') or ''}".strip()
    title = f"{target.published.version.citation}: {name} = {exact}"
    link = Element("a", {"class": "tracegen-value", "href": target.url, "title": title})
    data = SubElement(link, "data", {"value": str(value.get("value"))})
    data.text = AtomicString(f"{value['text']}{withdrawn(target.published)}")
    return link


def _value(target: Target, name: str) -> Mapping[str, Any]:
    values = target.published.bundle.document["values"]
    if name not in values:
        nearest = _nearest(name, list(values), "values")
        raise UnknownReferenceError(
            f"{target.published.version.citation} has no value {name!r}; {nearest} (data/values.json lists them)"
        )
    value: Mapping[str, Any] = values[name]
    return value


class _FigureProcessor(BlockProcessor):
    def __init__(self, parser: BlockParser, known: References) -> None:
        super().__init__(parser)
        self.known = known

    def test(self, parent: Element, block: str) -> bool:
        return _FIGURE.fullmatch(block.strip()) is not None

    def run(self, parent: Element, blocks: list[str]) -> None:
        literal = blocks.pop(0).strip()
        match = _FIGURE.fullmatch(literal)
        assert match is not None
        try:
            target = resolve(self.known, match["reference"])
            if target.figure is None:
                raise UnknownReferenceError("only a figure can be shown here: ![[NAME@vN#FIGURE]]")
        except UnknownReferenceError as error:
            SubElement(parent, "p").append(_unknown(literal, error))
            return
        figure = SubElement(parent, "figure", {"class": "tracegen-quote"})
        link = SubElement(figure, "a", {"href": target.url})
        pictured(link, target.figure, target.published.bundle.folder, target.root, self.known.dark)
        caption = SubElement(figure, "figcaption")
        words = match["text"] or f"{ended(target.figure['title'])} {target.figure['caption']}"
        caption.text = AtomicString(f"{words} ")
        origin = SubElement(caption, "a", {"href": target.url})
        origin.text = AtomicString(f"{target.published.version.citation}{withdrawn(target.published)}")


_INLINE: tuple[tuple[int, str, str, Make], ...] = (  # priority, name, pattern, what it becomes
    (177, "stray", _FIGURE.pattern, _stray_figure),
    (176, "link", _LINK, _link),
    (175, "value", _VALUE, _quoted_value),
    (174, "keyless", _KEYLESS, _keyless_value),
)


class JournalExtension(Extension):
    """Python-Markdown extension; its option `references` has the published versions."""

    def __init__(self, **kwargs: Any) -> None:
        """Take `references` as its only option."""
        self.config = {"references": [References(), "the published versions"]}
        super().__init__(**kwargs)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register after code spans (190) and before Markdown's own links (170)."""
        known: References = self.getConfig("references")
        for priority, name, pattern, make in _INLINE:
            md.inlinePatterns.register(_Reference(md, pattern, known, make), f"tracegen-{name}", priority)
        md.parser.blockprocessors.register(_FigureProcessor(md.parser, known), "tracegen-figure", 75)


def makeExtension(**kwargs: Any) -> JournalExtension:  # noqa: N802
    """The function that Python-Markdown calls for the extension named `tracegen`."""
    return JournalExtension(**kwargs)
