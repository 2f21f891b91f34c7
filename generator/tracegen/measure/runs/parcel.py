"""Folders and files that travel between machines: listed with sizes and hashes, sent in pieces, verified at the end."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracegen.contract.errors import EnvironmentFailure, StoreError
from tracegen.storing.store import sha256_of

PIECE = 16 << 20  # bytes sent at a time


@dataclass(frozen=True)
class Item:
    """A file of a parcel: its path below the folder, its size in bytes and its sha256."""

    name: str
    size_bytes: int
    sha256: str


def listed(folder: Path) -> tuple[Item, ...]:
    """Every file below a folder, sorted by path. Raises OSError."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return tuple(Item(p.relative_to(folder).as_posix(), p.stat().st_size, sha256_of(p)) for p in paths)


def read_piece(path: str, offset: int, length: int = PIECE) -> bytes:
    """At most `length` bytes of a file from byte `offset` on. Raises OSError."""
    with Path(path).open("rb") as stream:
        stream.seek(offset)
        return stream.read(length)


def receive(
    items: Iterable[Item], target: Path, read: Callable[[str, int], bytes], done: Callable[[int], None] = lambda _: None
) -> None:
    """Write the files below the folder `target`; `read(name, offset)` fetches the next piece of one.

    `done` is called with the number of bytes received so far. Raises StoreError when a name leads out of the folder, or
    a file does not arrive as it was listed; EnvironmentFailure when it cannot be written.
    """
    received = 0
    for item in items:
        path, digest, size = target / _confined(item.name), hashlib.sha256(), 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as stream:
                while size < item.size_bytes and (piece := read(item.name, size)):
                    stream.write(piece)
                    digest.update(piece)
                    size += len(piece)
                    done(received + size)
        except OSError as error:
            raise EnvironmentFailure(f"{path}: could not be written: {error.strerror or error}") from error
        if size != item.size_bytes or digest.hexdigest() != item.sha256:
            raise StoreError(f"{path}: {size} of {item.size_bytes} bytes arrived, or others; run again")
        received += size


def _confined(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or str(path) != name or "\0" in name:
        raise StoreError(f"{name!r}: leads out of the folder that was sent; nothing was stored")
    return name


def refuse_no_room(folder: Path, size_bytes: int) -> None:
    """Raise EnvironmentFailure when a file of this size has no room in the file system of `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    state = os.statvfs(folder)
    free = state.f_bavail * state.f_frsize
    if free < size_bytes:
        raise EnvironmentFailure(f"{folder}: has {free} bytes free and needs {size_bytes}; free space, run again")


def found(items: Sequence[Item], folders: Iterable[Path], hashed: Callable[[list[Path]], Sequence[str]]) -> Path | None:
    """The first of the files in the first folder that holds all of them, by name, size and hash.

    A single file may have another name. `hashed` returns the sha256 of files. Unreadable folders are passed over.
    """
    for folder in folders:
        for paths in _candidates(items, folder):
            if [item.sha256 for item in items] == list(hashed(paths)):
                return paths[0]
    return None


def _candidates(items: Sequence[Item], folder: Path) -> list[list[Path]]:
    """Files of the right sizes: those with the right names, and for a single item each of its size."""
    try:
        sizes: Mapping[Path, int] = {path: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    except OSError:
        return []
    named = [folder / item.name for item in items]
    if all(sizes.get(path) == item.size_bytes for path, item in zip(named, items, strict=True)):
        return [named]
    return [[path] for path, size in sizes.items() if len(items) == 1 and size == items[0].size_bytes]
