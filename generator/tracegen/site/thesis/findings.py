"""What a text says of versions, compared with them: what stands in a text that is no longer true, or never was."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tracegen.contract import documents
from tracegen.contract.errors import SettingsError
from tracegen.publishing.errata import errata_of
from tracegen.publishing.versions import Published
from tracegen.site.references import References, UnknownReferenceError, quoted, resolve
from tracegen.site.thesis.documents import EXPORTED, Document, Included, exported
from tracegen.site.thesis.mentions import Mention, Place, mentions, place_of
from tracegen.storing import store

State = Literal[
    "fine",
    "superseded",
    "superseded, another number",
    "withdrawn",
    "erratum",
    "another file",
    "unknown",
    "no version",
    "typed by hand",
    "near a value",
    "matches no value",
    "no difference shown",
]
HARMLESS = {"fine", "superseded", "no version", "typed by hand", "matches no value"}  # a reader is not misled
COUNTED = {"fine", "matches no value"}  # of these the places stand in the whole list only


@dataclass(frozen=True)
class Finding:
    """What was found at a place of a text: `written` is what stands there, `why` what is true of it.

    `fixed` is what may stand there instead without saying anything else; empty: nothing is safe.
    """

    place: Place
    state: State
    written: str
    why: str = ""
    fixed: str = ""

    @property
    def misleads(self) -> bool:
        """Whether a reader of the text would take something for true that is not."""
        return self.state not in HARMLESS

    @property
    def data(self) -> dict[str, object]:
        """The finding for a program."""
        return {**vars(self), "place": str(self.place), "misleads": self.misleads}


def findings_of(known: References, document: Document) -> Iterator[Finding]:
    """Each mention of a version in a document, and each file of a version that it includes."""
    experiments = {p.version.experiment for p in known.published.values()}
    for paragraph in document.paragraphs:
        for mention in mentions(paragraph):
            name = mention.citation.partition("@")[0]
            if mention.kind == "name" and not _is_ours(name, experiments):
                continue
            if mention.kind == "cite" and name not in experiments:  # a key of something else
                continue
            place = place_of(document, paragraph, mention.at)
            state, why, fixed = _of_mention(known, mention)
            yield Finding(place, state, mention.written, why, fixed)
    for included in document.included:
        if found := _of_file(known, included):
            state, why = found
            yield Finding(Place(document.path, included.line), state, included.written, why)


def _is_ours(name: str, experiments: set[str]) -> bool:
    """Whether a bare `NAME@vN` means an experiment, or nearly: other tools name versions so, too."""
    return name in experiments or bool(difflib.get_close_matches(name, experiments, 1, 0.8))


Outcome = tuple[State, str, str]


def _of_mention(known: References, of: Mention) -> Outcome:
    if of.kind == "draft":
        return "unknown", "a draft is not citable, and goes when newer runs come; publish it", ""
    if of.kind == "value" and "@" not in of.citation:
        why = f"names no version, so it changes with the file that is read last; {_newest(known, of)}"
        return "no version", why, ""
    published = known.published.get(of.citation)
    if published is None:
        return "unknown", f"{of.citation} is not a published version; {versions_near(known, of.citation)}", ""
    lacking = _lacking(known, published, of)
    if lacking:
        return "unknown", lacking, ""
    if published.version.status == "withdrawn":
        return "withdrawn", why_withdrawn(published), ""
    generator, page = str(published.bundle.document.get("generator", "")), of.page or "overview"
    faults = errata_of(generator, page, created=published.version.created) if of.kind == "link" else ()
    if faults:
        return "erratum", f"the page has known faults: {'; '.join(fault.title for fault in faults)}", ""
    if published.version.status == "superseded":
        return _superseded(known, published, of)
    return "fine", "", ""


def _newest(known: References, of: Mention) -> str:
    citations = [p.version.citation for p in known.published.values() if p.version.experiment == of.citation]
    return f"write {citations[0]}" if citations else f"nothing of {of.citation!r} is published"


def versions_near(known: References, citation: str) -> str:
    """The published versions that may be meant."""
    name = citation.partition("@")[0]
    others = [c for c in known.published if c.partition("@")[0] == name]
    if others:
        return f"published are {', '.join(others)}"
    near = difflib.get_close_matches(citation, list(known.published), 3)
    return f"did you mean {', '.join(near)}?" if near else "nothing with such a name is published"


def _lacking(known: References, published: Published, of: Mention) -> str:
    """What a mention names that its version does not have; empty if it has it."""
    if of.kind == "value":
        try:
            quoted(known, published, of.key, of.part, of.cell)
        except UnknownReferenceError as error:
            return str(error)
    if of.kind in ("value", "name", "cite"):
        return ""
    reference = of.page
    if of.kind == "link":
        reference = of.citation + (f"/{of.page}" if of.page else "") + (f"#{of.anchor}" if of.anchor else "")
    try:
        resolve(known, reference)
    except UnknownReferenceError as error:
        return str(error)
    return ""


def why_withdrawn(published: Published) -> str:
    """That a version is withdrawn, why, and which one to see instead."""
    return f"{published.version.citation} is withdrawn: {published.reason}{_instead(published)}"


def _instead(published: Published) -> str:
    """Which version to see instead of this one; empty: none is named."""
    return f"; see {published.version.experiment}@v{published.successor}" if published.successor else ""


def _superseded(known: References, published: Published, of: Mention) -> Outcome:
    """What the newer version says in place of this one, and whether the text may name that one instead."""
    newer = known.published[f"{published.version.experiment}@v{published.successor}"]
    citation = newer.version.citation
    superseded = f"{of.citation} is superseded by {citation}"
    moved = replace(of, citation=citation, page=of.page.replace(of.citation, citation))
    if of.kind == "value":
        before = quoted(known, published, of.key, of.part, of.cell).words
        try:
            now = quoted(known, newer, of.key, of.part, of.cell).words
        except UnknownReferenceError as error:
            return "superseded", f"{superseded}; {error}", ""
        if before != now:
            return "superseded, another number", f"{superseded}, where it is {now} instead of {before}", ""
        return "superseded", f"{superseded}; the number is the same", _moved(of, citation)
    if lacking := _lacking(known, newer, moved):
        return "superseded", f"{superseded}; there {lacking}", ""
    return "superseded", superseded, _moved(of, citation) if of.kind not in ("name", "cite") else ""


def _moved(of: Mention, citation: str) -> str:
    """What is written, with another version."""
    if of.kind == "link":
        return re.sub(r"(?<=/)v[0-9]+(?![\w-])", citation.rpartition("@")[2], of.written, count=1)
    return of.written.replace(of.citation, citation, 1)


_OF_VERSION = re.compile(
    r"(?P<experiment>[\w.-]+?)(?:/versions/|/v|@v|-v)(?P<number>[0-9]+)/(?P<file>(?:data|figures)/[^/]+)$"
)


def _of_file(known: References, included: Included) -> tuple[State, str] | None:
    """Whether an included file is what a version holds; None for a file that has to do with none."""
    named = _OF_VERSION.search(str(included.path or included.written).replace("\\", "/"))
    claimed = known.published.get(f"{named['experiment']}@v{named['number']}") if named else None
    if included.path is None:
        if named is None and not included.is_text:
            return None
        why = "there is no such file" + ("; copy it out of the version" if claimed else "")
        return "unknown", why
    if folder := exported(included.path):
        found, claimed = _of_export(known, folder, included.path)
        named = None
        if claimed is None:
            return "unknown", "its version is not known here"
        if found is None:
            return "another file", f"is not what was exported of {claimed.version.citation}"
    else:
        found = _holding(known, store.sha256_of(included.path), included.path.name, claimed)
    if found is not None:
        citation, status = found.version.citation, found.version.status
        if status == "withdrawn":
            return "withdrawn", f"is of {citation}, which is withdrawn: {found.reason}{_instead(found)}"
        return ("superseded", f"is of {citation}{_instead(found)}") if status == "superseded" else ("fine", "")
    if claimed is not None and named is not None:
        name = next((f for f in claimed.bundle.document["manifest"] if f.startswith(named["file"])), None)
        why = "is not what the version holds" if name else "is not a file of the version"
        return "another file", f"{why}: {claimed.version.citation}"
    return None


def _of_export(known: References, folder: Path, path: Path) -> tuple[Published | None, Published | None]:
    """The version that an exported file is of, if it is as it was exported; and the one that its folder names."""
    listed = documents.read_json(folder / EXPORTED, SettingsError, "export it again")
    listed = listed if isinstance(listed, dict) else {}
    version, files = known.published.get(str(listed.get("version"))), listed.get("files")
    wanted = files.get(path.relative_to(folder).as_posix()) if isinstance(files, dict) else None
    return (version if wanted == store.sha256_of(path) else None), version


def _holding(known: References, sha256: str, name: str, first: Published | None) -> Published | None:
    """The version that holds a file with this hash and name: the claimed one before others, newer before older."""
    for published in (*([first] if first else []), *known.published.values()):
        manifest: Mapping[str, Mapping[str, Any]] = published.bundle.document["manifest"]
        if any(path.endswith(f"/{name}") and entry["sha256"] == sha256 for path, entry in manifest.items()):
            return published
    return None


def summary(found: Sequence[Finding]) -> str:
    """`12 mentions: 9 fine, 2 superseded, 1 withdrawn`."""
    states = [one.state for one in found]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states)))
    return f"{len(found)} found: {counted}" if found else "no version is mentioned"
