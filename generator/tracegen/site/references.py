"""What references from the journal mean: versions, their pages, figures and operations, and comparisons of two."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracegen.contract import address, documents
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import cell_name
from tracegen.publishing.run_data import addresses_of, shows
from tracegen.publishing.versions import Published
from tracegen.site.about import About
from tracegen.site.comparisons import Compared
from tracegen.site.pictured import SCHEME

MOST_BYTES = 64 << 20  # of a journal's page
_NEAREST = 3  # names that a warning proposes
_FEW = 8  # names that a warning lists
_PAIR = re.compile(r"\s*(?P<a>[\w.-]+@v[0-9]+)\s*~\s*(?P<b>[\w.-]+@v[0-9]+)\s*")
_NAMED_PAIR = re.compile(rf"(?:\[\[|\{{\{{){_PAIR.pattern}(?=[|:\]])")
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class References:
    """The versions that the journal can refer to, by citation.

    `comparisons` are those of the site, by their sides.

    `dark` collects the dark pictures of quoted figures: address from the site's root -> content. `abouts` keeps what
    was read of the runs of quoted versions.
    """

    published: Mapping[str, Published] = field(default_factory=dict)
    dark: dict[str, bytes] = field(default_factory=dict)
    abouts: dict[str, About] = field(default_factory=dict)
    comparisons: Mapping[tuple[str, ...], Compared] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Quoted:
    """A value as a text quotes it: the exact number, its unit, the words, and which number of several runs it is."""

    number: object
    unit: str
    words: str
    what: str = ""


class UnknownReferenceError(Exception):
    """A reference is unknown; the message says why."""


def references(published: Iterable[Published], comparisons: Iterable[Compared] = ()) -> References:
    """The references to these versions and comparisons."""
    by_sides = {of.planned.sides: of for of in comparisons if not of.planned.matrix}
    return References({p.version.citation: p for p in published}, comparisons=by_sides)


def resolve(known: References, reference: str) -> Target:
    """The target of a reference such as `sample@v1/file#fig-heatmap`. Raises UnknownReferenceError."""
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
        listed = ", ".join(page["key"] for page in published.bundle.pages)
        raise UnknownReferenceError(f"{named.citation} has no page {named.page!r}; it has {listed}")
    keys = [page["key"] for page in pages]
    figure = next((f for f in document["figures"] if f"fig-{f['key']}" == anchor and f["page"] in keys), None)
    if figure:
        pages = [page for page in pages if page["key"] == figure["page"]]
    elif anchor:
        pages = [page for page in pages if shows(published.bundle, page, anchor)]
        pages.sort(key=lambda page: page["key"] == "timeline")  # it has the operations too: their own page comes first
        if not pages:
            raise UnknownReferenceError(_no_anchor(published, anchor))
    root = f"{SCHEME}{address.EXPERIMENTS}/{published.version.experiment}/{published.version.name}"
    return Target(published, pages[0], anchor, figure, root)


def quoted(known: References, published: Published, name: str, part: str = "", cell: str = "") -> Quoted:
    """A published value; where the version knows it of several runs their median, unless a part of it is asked for.

    `part`: `range`, the least and the largest of the runs, or `run`, the value of the run that the version draws.
    `cell`: `repack=true`, which the version must be of a matrix. Raises UnknownReferenceError.
    """
    citation, values = published.version.citation, published.bundle.document["values"]
    if cell and not _is_cell(published, cell):
        here = cell_name(published.bundle.cell.get("factors", {}))
        what = f"is {here}" if here else "belongs to no matrix"
        raise UnknownReferenceError(f"{citation} {what}; {_where(known, published.version.experiment, cell)}")
    if name not in values:
        near = nearest(name, list(values), "values")
        raise UnknownReferenceError(f"{citation} has no value {name!r}; {near} (data/values.json lists them)")
    value: Mapping[str, Any] = values[name]
    unit = str(value.get("unit") or "")
    of_runs = known.abouts.setdefault(citation, About(published.bundle)).range(name)
    if part not in ("", "run", "range") or (part == "range" and not of_runs):
        there = "run and range" if of_runs else "run"
        raise UnknownReferenceError(f"{citation}: {name} has no {part!r}; it has {there}")
    if part == "run" or not of_runs:
        return Quoted(value.get("value"), unit, str(value["text"]))
    median = int(of_runs.median) if of_runs.median.is_integer() else of_runs.median
    return Quoted(median, unit, of_runs.words if part else of_runs.text, f", the median: {of_runs.words}")


def pieces(value: str) -> tuple[str, str, str]:
    """The cell, the key and the part in `repack=true:KEY:range`; cell and part may be empty."""
    before, colon, after = value.partition(":")
    cell, rest = (before, after) if colon and "=" in before else ("", value)
    key, _, part = rest.partition(":")
    return cell.strip(), key.strip(), part.strip()


def without_version(known: References, experiment: str, cell: str) -> UnknownReferenceError:
    """What is wrong with a reference to a cell that names no version: its number says which runs are meant."""
    return UnknownReferenceError(f"a reference names a version; {_where(known, experiment, cell)}")


def _is_cell(published: Published, cell: str) -> bool:
    """Whether a version has these values of factors: `repack=true, threads=2`, or some of its factors."""
    wanted = (piece.partition("=") for piece in cell.split(","))
    factors = published.bundle.cell.get("factors", {})
    return all(factors.get(factor.strip()) == value.strip() for factor, _, value in wanted)


def _where(known: References, experiment: str, cell: str) -> str:
    """Which versions have these values of factors."""
    of = [p for p in known.published.values() if p.version.experiment == experiment and _is_cell(p, cell)]
    there = ", ".join(f"{p.version.citation} ({p.version.status})" for p in of)
    return f"{cell} is {there}" if there else f"no version of {experiment} has {cell}"


def _no_anchor(published: Published, anchor: str) -> str:
    """Why an anchor is unknown, with what there is of its kind."""
    citation = published.version.citation
    if address.op(anchor):
        return f"{citation} lists no op at {anchor!r}; see its operations page"
    kinds = ("tensor=", "tensor", "file"), ("pass=", "operation", "operations"), ("g", "node", "graph")
    for begin, noun, page in kinds:
        if anchor.startswith(begin) and (begin != "g" or address.node(anchor)):
            return f"{citation} has no {noun} at {anchor!r}; see its {page} page"
    return f"{citation} has no anchor {anchor!r}; {nearest(anchor, _quotable(published), 'figures and tables')}"


def _quotable(published: Published) -> list[str]:
    """The anchors of figures and tables on its pages."""
    listed = addresses_of(published.bundle)["ids"]
    names = [name for page in published.bundle.pages for name in listed.get(page["key"], ())]
    return [name for name in names if name.startswith(("fig-", "tab-"))]


def nearest(name: str, names: Sequence[str], noun: str) -> str:
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


def pairs_in(journal: Path, suffixes: Sequence[str] = (".md",)) -> list[tuple[str, str]]:
    """The comparisons that the files with these suffixes below a folder name, each once; code names none.

    Raises SettingsError for what is not a regular file, where MkDocs would wait, or read without an end.
    """
    found: dict[tuple[str, str], None] = {}
    advice = f"put a text of at most {MOST_BYTES >> 20} MiB there"
    for path in sorted(path for path in journal.rglob("*") if path.suffix in suffixes):
        if path.is_dir() or not path.exists():  # MkDocs says which link leads nowhere
            continue
        text = documents.content(path, MOST_BYTES, SettingsError, advice).decode("utf-8", "replace")
        if "~" in text:
            found |= dict.fromkeys((m["a"], m["b"]) for m in _NAMED_PAIR.finditer(_CODE.sub("", text)))
    return list(found)


def resolve_pair(known: References, reference: str) -> tuple[str, str]:
    """The address of the comparison that a reference names, and the text of the link. Raises UnknownReferenceError."""
    found, url = _compared(known, reference)
    a, b = (withdrawn(known.published[citation]) for citation in found.planned.sides)
    return url, f"{found.planned.sides[0]}{a} → {found.planned.sides[1]}{b}"


def resolve_difference(known: References, reference: str, name: str) -> tuple[str, str]:
    """The address of a comparison, and its words for `KEY` or `KEY:PART`. Raises UnknownReferenceError."""
    from tracegen.comparing.quoted import WHOLE  # which takes long to import

    found, url = _compared(known, reference)
    quoted: Mapping[str, Mapping[str, str]] = found.bundle.document.get("quoted", {}) if found.bundle else {}
    key, _, part = (piece.strip() for piece in name.partition(":"))
    if key not in quoted:
        near = nearest(key, list(quoted), "key figures of both sides")
        raise UnknownReferenceError(f"{reference} has no key figure {key!r}; {near}")
    if (part or WHOLE) not in quoted[key]:
        raise UnknownReferenceError(f"{reference}: {key} has no {part!r}; it has {', '.join(quoted[key])}")
    return url, quoted[key][part or WHOLE]


def _compared(known: References, reference: str) -> tuple[Compared, str]:
    """The comparison that a reference names, and its address. Raises UnknownReferenceError."""
    pair = _PAIR.fullmatch(reference)
    if pair is None:
        raise UnknownReferenceError("a comparison is NAME@vN~NAME@vN, without a page or an anchor")
    a, b = (_version(known, citation) for citation in pair.groups())
    if a is b:
        raise UnknownReferenceError(f"{pair['a']} is on both sides; a comparison is of two versions")
    found = known.comparisons.get(pair.groups())
    if found is None or found.bundle is None:
        raise UnknownReferenceError(found.problem if found else "this comparison was not drawn")
    return found, f"{SCHEME}{address.EXPERIMENTS}/{found.planned.experiment}/{found.planned.slug}/index.html"


def withdrawn(published: Published) -> str:
    """The words that follow a quotation from a withdrawn version."""
    return " (withdrawn)" if published.version.status == "withdrawn" else ""


def _version(known: References, citation: str) -> Published:
    if citation not in known.published:
        there = _published_of(known, citation.partition("@")[0])
        raise UnknownReferenceError(f"{citation} is not a published version; {there}")
    return known.published[citation]


def _published_of(known: References, name: str) -> str:
    others = [c for c in known.published if c.partition("@")[0] == name]
    if others:
        return f"published are {', '.join(others)}"
    near = difflib.get_close_matches(name, {p.version.experiment for p in known.published.values()}, 1)
    return f"nothing of {name!r} is published{f'; did you mean {near[0]}?' if near else ''}"
