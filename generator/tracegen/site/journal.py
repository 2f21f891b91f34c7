"""References from the journal to published versions, as an extension of Python-Markdown.

    [[sample@v1]]                           a link to the version
    [[sample@v1/file#fig-heatmap|text]]     a link to a page, an anchor, with its own text
    [[sample@v1#pass=3&node=12]]            a link to an op, to its threads with sample@v1/timeline#…
    [[sample@v1/file#tensor=17]]            a link to a tensor in the explorer, to a node with sample@v1/graph#g0-n12
    [[sample@v1~other@v2]]                  a link to the page that compares two versions, which the build makes
    {{ sample@v1:touched_share }}           a published value, as its page words it; of several runs the median
    {{ sample@v1:touched_share:range }}     the least and largest of several runs; `run`: the value of the run it draws
    {{ repack@v2:repack=true:KEY }}         the same, of a version that must be this cell of a matrix
    {{ sample@v1~other@v2:KEY:PART }}       what a comparison says of a key figure: a, b, range_a, shift, p, verdict …
    ![[sample@v1#fig-heatmap]]              a figure, alone in its paragraph, with its caption

The extension writes addresses from the site's root (`tracegen:/…`) and marks
unknown references; `settle` makes the addresses relative to the page and lists
the marked references with their lines in the journal file.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.blockparser import BlockParser
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString

from tracegen.contract.text import ended
from tracegen.site.pictured import SCHEME, pictured
from tracegen.site.references import (
    References,
    UnknownReferenceError,
    is_ours,
    pieces,
    quoted,
    resolve,
    resolve_difference,
    resolve_pair,
    withdrawn,
    without_version,
)

Handled = tuple[Element, int, int] | tuple[None, None, None]  # the result of a pattern of Python-Markdown

_LINK = r"(?<!!)\[\[(?P<reference>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]+))?\]\]"
_VALUE = r"\{\{\s*(?P<reference>[\w.@~-]+):(?P<value>[^{}\n]*?)\s*\}\}"
_KEYLESS = r"\{\{\s*(?P<reference>[\w.-]+@v\d+)\s*\}\}"
_FIGURE = re.compile(r"!\[\[(?P<reference>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]+))?\]\]")
_MARKED = re.compile(r'<mark class="tracegen-unknown" title="(?P<reason>[^"]*)">(?P<literal>.*?)</mark>', re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """An unknown reference: its line in the journal file (0: not known), its text and the reason."""

    line: int
    literal: str
    reason: str


Make = Callable[[References, re.Match[str]], Element]


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


def _anchor(text: str, attributes: dict[str, str]) -> Element:
    link = Element("a", attributes)
    link.text = AtomicString(text)
    return link


def _link(known: References, m: re.Match[str]) -> Element:
    if "~" in m["reference"]:
        url, text = resolve_pair(known, m["reference"])
        return _anchor(m["text"] or text, {"href": url})
    target = resolve(known, m["reference"])
    return _anchor(m["text"] + withdrawn(target.published) if m["text"] else target.text, {"href": target.url})


def _stray_figure(known: References, m: re.Match[str]) -> Element:
    """A figure inside a paragraph, which is an error; `_FigureProcessor` handles figures that stand alone."""
    raise UnknownReferenceError("a figure stands alone in its paragraph")


def _keyless_value(known: References, m: re.Match[str]) -> Element:
    """A version in braces without the name of a value, which is an error."""
    citation = m["reference"]
    raise UnknownReferenceError(f"a value is {{{{ {citation}:KEY }}}}; name one, or link with [[{citation}]]")


def _quoted_value(known: References, m: re.Match[str]) -> Element:
    name = m["value"].strip()
    if "~" in m["reference"]:
        url, words = resolve_difference(known, m["reference"], name)
        return _anchor(words, {"class": "tracegen-value", "href": url, "title": f"{m['reference']}: {name}"})
    cell, name, part = pieces(name)
    if cell and "@" not in m["reference"]:
        raise without_version(known, m["reference"], cell)
    target = resolve(known, m["reference"])
    of = quoted(known, target.published, name, part, cell)
    exact = f"{of.number} {of.unit}".strip()
    title = f"{target.published.version.citation}: {name} = {exact}{of.what}"
    link = Element("a", {"class": "tracegen-value", "href": target.url, "title": title})
    data = SubElement(link, "data", {"value": str(of.number)})
    data.text = AtomicString(f"{of.words}{withdrawn(target.published)}")
    return link


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
        origin = f"{target.published.version.citation}{withdrawn(target.published)}"
        caption.append(_anchor(origin, {"href": target.url}))


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
