"""Figures that say themselves which version they are of, alone or in a compiled thesis, held against that version."""

from collections.abc import Iterator
from pathlib import Path

from tracegen.charts.stamp import Stamp, stamps
from tracegen.contract.errors import SettingsError
from tracegen.publishing.versions import Published
from tracegen.site.references import References, nearest
from tracegen.site.thesis.documents import MOST_BYTES
from tracegen.site.thesis.judged import Judged, State, instead, versions_near
from tracegen.site.thesis.mentions import Place
from tracegen.storing.store import sha256_of

SUFFIXES = (".pdf", ".svg", ".png")


def stamps_of(path: Path) -> list[Stamp]:
    """The stamps in a file. Raises SettingsError for one that cannot be read, or is too large."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SettingsError(f"{path}: has over {MOST_BYTES >> 20} MiB; check the figures that it was made of")
        return stamps(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error


def stamped(known: References, path: Path) -> Iterator[Judged]:
    """Each figure of a version in this file. Raises SettingsError as `stamps_of`, and for a file without any."""
    found = stamps_of(path)
    if not found:
        why = "it is none of a version, or XeLaTeX dropped what its figures say"
        raise SettingsError(f"{path}: holds no figure that names its version: {why}; check the text that it is of")
    for stamp in found:
        yield Judged(Place(path, 0, "figure"), *_of(known, stamp, path))


def _of(known: References, stamp: Stamp, path: Path) -> tuple[State, str, str]:
    """What a figure is: a state, what it says of itself, and why."""
    said, published = f"{stamp.version}#fig-{stamp.figure}", known.published.get(stamp.version)
    if published is None:
        return "unknown", said, f"{stamp.version} is no published version; {versions_near(known, stamp.version)}"
    manifest = published.bundle.document["manifest"]
    figures = [str(figure["key"]) for figure in published.bundle.document["figures"]]
    if stamp.figure not in figures:
        return "unknown", said, f"{stamp.version} has no such figure; {nearest(stamp.figure, figures, 'figures')}"
    if _digest(published, stamp.data) != stamp.sha256:
        return "another file", said, f"draws other data than {stamp.data} of {stamp.version}"
    whole = sha256_of(path) in {entry["sha256"] for entry in manifest.values()}
    if not whole and path.suffix.lower() != ".pdf":  # which may be a document that includes it
        return "another file", said, f"is not what {stamp.version} holds; copy it out of the version again"
    if published.version.status == "withdrawn":
        return "withdrawn", said, f"{stamp.version} is withdrawn: {published.reason}{instead(published)}"
    if published.version.status == "superseded":
        newer = known.published[f"{published.version.experiment}@v{published.successor}"]
        same = "the same" if _digest(newer, stamp.data) == stamp.sha256 else "others"
        return "superseded", said, f"{stamp.version} is superseded by {newer.version.citation}; its data are {same}"
    drawn = f"names the data of {stamp.version}; whether it was drawn from them cannot be seen"
    return "fine", said, f"is what {stamp.version} holds, byte for byte" if whole else drawn


def _digest(published: Published, path: str) -> str | None:
    entry = published.bundle.document["manifest"].get(path)
    return str(entry["sha256"]) if entry else None
