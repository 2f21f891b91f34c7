"""Archives of versions, which anybody may have made: unpacked, and checked whole, before anything in them is read."""

import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracegen.contract.address import name_problem
from tracegen.contract.errors import SettingsError, StoreError, os_errors
from tracegen.contract.text import visible
from tracegen.publishing import versions
from tracegen.publishing.versions import Published
from tracegen.storing import store
from tracegen.storing.hashes import HashCache

SUMS = "SHA256SUMS"
MOST_FILES = 100_000
MOST_BYTES = 1 << 30  # of all files, unpacked: a version has some MB
MOST_SIGNS = 200  # bytes, of a name
KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # files of other kinds Python reads at once, whatever their size
# What Python's reader raises at a damaged ZIP file; OSError where it is led to a place before the file.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError, OSError)
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Unpacked:
    """An archive that was unpacked and checked: where it lies, its SHA-256, and its version."""

    folder: Path
    sha256: str
    published: Published


@contextmanager
def unpacked(archive: Path, beside: Path) -> Iterator[Unpacked]:
    """During the block, the archive lies unpacked in a hidden part of `beside`, which is deleted unless it is renamed.

    Raises SettingsError for no such file, StoreError for what is not a whole archive of one version.
    """
    if not archive.is_file():
        raise SettingsError(f"{archive}: there is no such file; name the archive of a version")
    with store.part_folder(beside) as part:
        digest = unpack(archive, part)
        yield Unpacked(part, digest, version_in(part, archive))


def unpack(archive: Path, folder: Path) -> str:
    """Unpack an archive into an empty folder, without the folder that its names begin with; returns its SHA-256.

    Nothing is written before all names and sizes are looked at. Raises StoreError where it is not an archive, leads out
    of the folder, is too large, or lacks a listed file; SettingsError where it cannot be read.
    """
    with os_errors(f"{archive}: cannot be read", SettingsError):
        digest = store.sha256_of(archive)
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = _entries(archive, opened)
            sums = {name: _write(opened, entry, folder / name) for name, entry in entries.items()}
            listed = _listed(archive, folder / SUMS)
    except DAMAGED as error:
        raise StoreError(f"{archive}: is not a ZIP file, or a damaged one: {error}; get it again") from error
    del sums[SUMS]
    for name in sorted({*sums, *listed}):
        if sums.get(name) != listed.get(name):
            what = "is missing" if name not in sums else "is not listed" if name not in listed else "has changed"
            raise StoreError(f"{archive}: {visible(name)} {what} (its list of hashes is {SUMS}); get it again")
    return digest


def version_in(project: Path, archive: Path) -> Published:
    """The one version in an unpacked archive, compared with its ledger. Raises StoreError for anything else."""
    found = sorted((project / "experiments").glob("*/" + versions.LEDGER_FILE))
    if len(found) != 1 or name_problem(found[0].parent.name):
        raise StoreError(
            f"{archive}: holds {len(found)} experiments with versions, not one; it is not an archive of one"
        )
    try:
        published = versions.read_published(found[0].parent, HashCache(project / "hashes.json", trust=False))
    except StoreError as error:
        where = str(error).removeprefix(f"{project}/").partition("; ")[0]
        raise StoreError(f"{archive}: {where}; get it again") from error
    if len(published) != 1:
        raise StoreError(f"{archive}: holds {len(published)} versions, not one; it is not an archive of one")
    version = published[0].version
    if (
        version.folder != found[0].parent / "versions" / str(version.number)
        or name_problem(version.experiment)
        or (version.experiment != found[0].parent.name)
    ):
        raise StoreError(f"{archive}: its version says that it is {visible(version.citation)}, and its folder another")
    return published[0]


def _entries(archive: Path, opened: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """The files of an archive by their path below its one folder."""
    entries: dict[str, zipfile.ZipInfo] = {}
    tops = set()
    infos = opened.infolist()
    if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > MOST_BYTES:
        raise StoreError(f"{archive}: has more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB; it is not unpacked")
    for info in infos:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.filename.endswith("/"):  # a folder
            continue
        top, _, name = info.filename.partition("/")
        parts = [top, *name.split("/")]
        shown = f"{archive}: {visible(info.filename)[:MOST_SIGNS]}"
        if kind not in (0, stat.S_IFREG) or visible(info.filename) != info.filename or "\\" in info.filename:
            raise StoreError(f"{shown} is not a plain file; the archive is not unpacked")
        if info.compress_type not in KINDS or info.flag_bits & 1:
            raise StoreError(f"{shown} is encrypted, or compressed in an unusual way; the archive is not unpacked")
        if not {"", ".", ".."}.isdisjoint(parts) or any(len(os.fsencode(each)) > MOST_SIGNS for each in parts):
            raise StoreError(f"{shown} has a name that leads elsewhere, or is too long; the archive is not unpacked")
        if name in entries:
            raise StoreError(f"{shown} occurs twice; the archive is not unpacked")
        tops.add(top)
        entries[name] = info
    for name in entries:
        if any(parent.as_posix() in entries for parent in PurePosixPath(name).parents):
            raise StoreError(f"{archive}: {visible(name)} lies in a file; the archive is not unpacked")
    if len(tops) != 1 or SUMS not in entries:
        raise StoreError(f"{archive}: is not an archive of a version: `tracegen export NAME@v2 archive` makes one")
    return entries


def _write(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> str:
    """Write a file of the archive, no longer than the archive lists it; returns its SHA-256."""
    digest = hashlib.sha256()
    with os_errors(f"{path}: cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            for chunk in _chunks(opened, entry):
                digest.update(chunk)
                file.write(chunk)
    return digest.hexdigest()


def _chunks(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a file of the archive. Raises what DAMAGED has: here an OSError is a fault of the archive."""
    try:
        with opened.open(entry) as packed:
            while chunk := packed.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise zipfile.BadZipFile(str(error)) from error


def _listed(archive: Path, path: Path) -> Mapping[str, str]:
    """What the list of hashes says: path -> SHA-256."""
    lines = [_LINE.fullmatch(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    if not all(lines):
        raise StoreError(f"{archive}: its {SUMS} is not a list of hashes; get it again")
    return {line[2]: line[1] for line in lines if line}
