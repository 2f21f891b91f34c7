"""Which version a file or a number came from.

Figures say so themselves, alone or in a compiled thesis, and are compared with that version.
"""

from collections.abc import Iterator
from pathlib import Path

from tracegen.charts.stamp import Stamp, stamps
from tracegen.contract.errors import SettingsError
from tracegen.publishing.versions import Published
from tracegen.site.references import References, nearest
from tracegen.site.thesis.documents import MOST_BYTES
from tracegen.site.thesis.findings import Finding, State, versions_near, why_withdrawn
from tracegen.site.thesis.mentions import Place
from tracegen.storing import store

SUFFIXES = (".pdf", ".svg", ".png")
SPACES = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " "})


def of_file(known: References, path: Path) -> list[tuple[Published, str]]:
    """The versions that hold a file with these bytes, and its name there. Raises EnvironmentFailure or OSError."""
    sha256 = store.sha256_of(path)
    return [
        (published, name)
        for published in known.published.values()
        for name, entry in published.bundle.document["manifest"].items()
        if entry["sha256"] == sha256
    ]


def of_value(known: References, text: str) -> Iterator[tuple[Published, str, str]]:
    """The versions with a value that reads so, or is this number exactly: version, key, the value's text."""
    wanted = " ".join(text.translate(SPACES).split())
    for published in known.published.values():
        for key, value in published.bundle.document["values"].items():
            shown = str(value.get("text", "")).translate(SPACES)
            if wanted in (shown, shown.replace(" ", ""), str(value.get("value"))):
                yield published, key, shown


def stamps_of(path: Path) -> list[Stamp]:
    """The stamps in a file. Raises SettingsError for one that cannot be read, or is too large."""
    try:
        if not path.is_file():
            raise SettingsError(f"{path}: is not a file")
        if path.stat().st_size > MOST_BYTES:
            raise SettingsError(f"{path}: has over {MOST_BYTES >> 20} MiB; check the figures that it was made of")
        return stamps(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error


def stamped(known: References, path: Path) -> Iterator[Finding]:
    """Each figure of a version in this file, which may be one itself. Raises SettingsError as `stamps_of`."""
    found, place = stamps_of(path), Place(path, 0, "figure")
    figures = of_file(known, path)
    if figures:
        published, name = figures[0]
        claim = f"{published.version.citation}: {name}"
        fine = f"is what {published.version.citation} holds"
        yield Finding(place, *_by_status(known, published, claim, fine, found[0] if found else None))
    for stamp in found if not figures else ():
        yield Finding(place, *_of(known, stamp, path))
    if not figures and not found:
        yield Finding(place, "no version", path.name, "names no version; XeLaTeX drops what figures say of themselves")


def _of(known: References, stamp: Stamp, path: Path) -> tuple[State, str, str]:
    """What a figure is: a state, what it says of itself, and why."""
    claim, published = f"{stamp.version}#fig-{stamp.figure}", known.published.get(stamp.version)
    if published is None:
        return "unknown", claim, f"{stamp.version} is not a published version; {versions_near(known, stamp.version)}"
    figures = {str(figure["key"]): figure for figure in published.bundle.document["figures"]}
    if stamp.figure not in figures:
        return (
            "unknown",
            claim,
            f"{stamp.version} has no such figure; {nearest(stamp.figure, list(figures), 'figures')}",
        )
    state = _by_status(known, published, claim, "", stamp)
    if state[0] == "withdrawn":
        return state
    own = stamps(published.bundle.file(figures[stamp.figure]["path_svg"]).read_bytes())
    if _digest(published, stamp.data) != stamp.sha256 or (own and stamp not in own):
        return "another file", claim, f"says of itself what this figure of {stamp.version} does not"
    if path.suffix.lower() != ".pdf":  # which may be a document that includes it
        return "another file", claim, f"is not what {stamp.version} holds; copy it out of the version again"
    return state


def _by_status(
    known: References, published: Published, claim: str, fine: str, stamp: Stamp | None = None
) -> tuple[State, str, str]:
    """A figure of a version that is withdrawn, superseded, or current, and then `fine`."""
    citation = published.version.citation
    if published.version.status == "withdrawn":
        return "withdrawn", claim, why_withdrawn(published)
    if published.version.status == "superseded":
        newer = known.published[f"{published.version.experiment}@v{published.successor}"]
        beside = ""
        if stamp and (now := _digest(newer, stamp.data)):
            beside = f"; its data {'are the same' if now == stamp.sha256 else 'differ'}"
        return "superseded", claim, f"{citation} is superseded by {newer.version.citation}{beside}"
    return "fine", claim, fine or f"names the data of {citation}; whether it was drawn from them cannot be seen"


def _digest(published: Published, path: str) -> str | None:
    entry = published.bundle.document["manifest"].get(path)
    return str(entry["sha256"]) if entry else None
