"""Where a document mentions versions: links, values, references and names, and the sentences around them."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tracegen.site.references import pieces
from tracegen.site.thesis.documents import Document, Paragraph

_LINK = re.compile(
    r"(?:https?://(?:(?!https?://)[^\s\"'<>{}|\\])*?/|(?<![\w/.@-])(?:\.{0,2}/)*)experiments/(?P<experiment>[\w.-]+)/"
    r"(?:v(?P<version>[0-9]{1,9})|(?P<draft>run-[0-9]+))(?![\w-])"
    r"(?:/(?P<page>[a-z][a-z0-9-]*)(?=[/#\s\"'<>)}\],;]|$))?(?:/)?(?:index\.html)?(?:#(?P<anchor>[^\s\"'<>{}|\\)\],;]*[^\s\"'<>{}|\\)\],;.:!?]))?"
)
_MACRO = re.compile(r"\\tracegen(?:exact|unit)?\s*+\{\s*+(?P<of>[^{}]++)\}\s*+\{\s*+(?P<key>[^{}]++)\}")
_VALUE = re.compile(r"\{\{\s*+(?P<of>[\w.@-]++):(?P<value>[^{}]*+)\}\}")
_IS_KEY = re.compile(r"[\w.-]+")
_REFERENCE = re.compile(r"\[\[\s*+(?P<reference>[\w.-]++@v[0-9]{1,9}+[^\[\]|~\n]*+)\s*+(?:\|[^\[\]\n]*+)?\]\]")
# The key of a version in its `citation.bib`, and that of one of its figures on its pages.
_CITE = re.compile(r"\\(?=[A-Za-z]*cite)[A-Za-z]++\*?\s*+(?:\[[^][]*+\]\s*+){0,2}\{(?P<keys>[^{}]*+)\}")
_KEY = re.compile(
    r"(?<![^,\s])(?P<name>[A-Za-z0-9][\w.-]{0,63}?)-v(?P<version>[0-9]{1,9})(?:-(?:fig|tab)-[\w-]+)?(?![^,\s])"
)
_NAME = re.compile(r"(?<![\w.@/-])(?P<citation>[A-Za-z0-9][\w.-]{0,63}@v[0-9]{1,9})(?![\w-])")
_END = re.compile(r"(?<=[.!?])[)\]}'’”\"]*(?:\s|\\\\)+(?=[A-Z\\\[({“\"]|[\w.-]{1,64}@v[0-9]|$)")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|cf|Fig|Sec|Tab|vs|approx|ca|Eq|No|resp|incl|z\.B)\.$")
_LONGEST_ABBREVIATED = 16  # signs, and one before it


@dataclass(frozen=True)
class Mention:
    """A mention of a version: `citation` (`fits@v1`; of a value without a version `fits`), and what of it.

    `kind` is link, value, reference, draft, cite or name. `written` is what stands there, at `at` in its paragraph.
    """

    kind: str
    citation: str
    written: str
    at: int
    page: str = ""
    anchor: str = ""
    key: str = ""
    cell: str = ""  # of a matrix, which the version of a value must be
    part: str = "run"  # of a value of several runs, as `site.references.quoted` has it; macros of LaTeX have one run's


def mentions(paragraph: Paragraph) -> list[Mention]:
    """Each mention once, in order; the name of a version inside a value or a link is none of its own."""
    found: list[Mention] = []
    free = list(paragraph.text)
    for mention in _found(paragraph.text):
        inside = free[mention.at : mention.at + len(mention.written)]
        if "\0" not in inside:
            found.append(mention)
            free[mention.at : mention.at + len(mention.written)] = "\0" * len(mention.written)
    return sorted(found, key=lambda mention: mention.at)


def _found(text: str) -> Iterator[Mention]:
    for m in _LINK.finditer(text):
        if m["draft"]:
            yield Mention("draft", f"{m['experiment']}/{m['draft']}", m[0], m.start())
            continue
        page = "" if m["page"] in (None, "index") else m["page"]
        anchor = unquote((m["anchor"] or "").replace("&amp;", "&"))
        yield Mention("link", f"{m['experiment']}@v{m['version']}", m[0], m.start(), page, anchor)
    for m in _MACRO.finditer(text):
        if "#" not in m[0]:  # else the body of a macro
            yield Mention("value", m["of"].strip(), m[0], m.start(), key=m["key"].strip())
    for m in _VALUE.finditer(text):
        cell, key, part = pieces(m["value"].rstrip())
        if _IS_KEY.fullmatch(key):
            yield Mention("value", m["of"], m[0], m.start(), key=key, part=part, cell=cell)
    for m in _REFERENCE.finditer(text):
        reference = m["reference"].rstrip()
        citation, _, rest = reference.partition("@v")
        number = re.match("[0-9]+", rest)
        assert number is not None
        yield Mention("reference", f"{citation}@v{number[0]}", m[0], m.start(), page=reference)
    for m in _CITE.finditer(text):
        for named in _KEY.finditer(m["keys"]):
            at = m.start("keys") + named.start()
            yield Mention("cite", f"{named['name']}@v{named['version']}", named[0], at)
    for m in _NAME.finditer(text):
        yield Mention("name", m["citation"], m[0], m.start())


@dataclass(frozen=True)
class Place:
    """Where something stands: a document, and its line; 0 and `cell 3` in a notebook."""

    path: Path
    line: int
    cell: str = ""

    def __str__(self) -> str:
        """`chapter.tex:12`, `notes.ipynb: cell 3`."""
        return f"{self.path}: {self.cell}" if self.cell else f"{self.path}:{self.line}"


def place_of(document: Document, paragraph: Paragraph, at: int = 0) -> Place:
    """The place of a sign of a paragraph."""
    return Place(document.path, 0 if paragraph.place else paragraph.line_at(at), paragraph.place)


@dataclass(frozen=True)
class Sentence:
    """A sentence, where it begins in its paragraph, and the versions that it mentions; `free`: without the mentions."""

    text: str
    free: str
    at: int
    cited: tuple[Mention, ...]

    @property
    def citations(self) -> list[str]:
        """The versions in their order, each once."""
        return list(dict.fromkeys(one.citation for one in self.cited if "@" in one.citation))


def sentences(paragraph: Paragraph) -> Iterator[Sentence]:
    """The sentences that cite a version."""
    every = mentions(paragraph)
    places = [one.at for one in every]
    text, begin = paragraph.text, 0
    for end in [*_ends(text, every, places), len(text)]:
        cited = tuple(every[bisect_left(places, begin) : bisect_left(places, end)])
        if any("@" in one.citation for one in cited):
            free = list(text[begin:end])
            for one in cited:
                free[one.at - begin : one.at - begin + len(one.written)] = " " * len(one.written)
            yield Sentence(text[begin:end], "".join(free), begin, cited)
        begin = end


def _ends(text: str, every: list[Mention], places: list[int]) -> Iterator[int]:
    for match in _END.finditer(text):
        before = bisect_left(places, match.start()) - 1
        inside = before >= 0 and match.start() < places[before] + len(every[before].written)
        last_word = text[max(0, match.start() - _LONGEST_ABBREVIATED) : match.start()]
        if not inside and not _ABBREVIATED.search(last_word):
            yield match.end()
