"""Hidden parts: what is written beside its place until it is whole, `.tracegen-XXXXXXXX.part`.

The process that makes a part holds a lock on it. The kernel releases the lock when that process ends, however it
ends; then the next command that uses the folder removes the part, and says so.
"""

import errno
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracegen.storing import locks

_NAME = re.compile(r"\.tracegen-[0-9a-f]{8}\.part")
# A file system without such locks. What no lock tells is never removed.
_NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def is_part(path: Path) -> bool:
    """Whether the path is something that is still being written, or lies in it."""
    return any(name.startswith(".") and name.endswith(".part") for name in path.parts)


@contextmanager
def new_folder(parent: Path) -> Iterator[Path]:
    """Yield a new hidden folder in `parent`; after the block it is removed, unless it was renamed. Raises OSError.

    `parent` is made where it is missing; what killed processes left in it is removed.
    """
    with _new(parent, lambda path: path.mkdir(), os.O_RDONLY | os.O_DIRECTORY) as (part, descriptor):
        try:
            yield part
        finally:
            if locks.is_at(part, descriptor):
                shutil.rmtree(part, ignore_errors=True)


@contextmanager
def new_file(parent: Path) -> Iterator[tuple[Path, int]]:
    """Yield a new hidden file in `parent` and its descriptor, which is closed after the block. Raises OSError.

    After the block the file is removed, unless it was renamed. `parent` is as for `new_folder`.
    """
    make = os.O_CREAT | os.O_EXCL
    with _new(parent, lambda path: os.close(os.open(path, make, 0o666)), os.O_RDWR) as (part, descriptor):
        try:
            yield part, descriptor
        finally:
            if locks.is_at(part, descriptor):
                part.unlink(missing_ok=True)


@contextmanager
def _new(parent: Path, make: Callable[[Path], None], flags: int) -> Iterator[tuple[Path, int]]:
    while True:
        with suppress(FileExistsError):  # another process made it at the same moment, or it is not a folder
            parent.mkdir(parents=True, exist_ok=True)
        remove_left(parent)
        part = parent / f".tracegen-{secrets.token_hex(4)}.part"
        with suppress(FileNotFoundError):  # `parent` was empty, and another process removed it
            make(part)
            descriptor = os.open(part, flags | os.O_CLOEXEC)
            if _locked(descriptor) and locks.is_at(part, descriptor):
                break
            os.close(descriptor)  # another process saw it without its lock, and removes it
    try:
        yield part, descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        return locks.taken(descriptor)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return True
        raise


def remove_left(folder: Path) -> None:
    """Remove the parts in `folder` that no living process holds, and name each on standard error with its size.

    An empty part is not named. Parts of other users are left, and those that cannot be removed.
    """
    try:
        names = [entry.name for entry in os.scandir(folder) if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            _remove_if_left(folder / name)


def _remove_if_left(part: Path) -> None:
    descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        own = os.fstat(descriptor).st_uid == os.geteuid()
        if not (own and locks.taken(descriptor) and locks.is_at(part, descriptor)):
            return
        size = sum(path.lstat().st_size for path in (part, *part.rglob("*")) if not path.is_dir())
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
    finally:
        os.close(descriptor)
    if size:  # a new part that is not locked yet is empty: whoever makes it, makes another one
        shown = "".join(c if c.isprintable() else "\ufffd" for c in str(part))
        print(f"removed {shown}, {size:,} bytes: left by a tracegen that was killed", file=sys.stderr)
