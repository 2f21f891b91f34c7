"""What of a file is in the page cache: ask (mincore), drop, fill. Linux counts in pages of its own size."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracegen.errors import EnvironmentFailure

PIECE = 1 << 30  # bytes mapped at a time
READINGS = 4  # of files that are to stay in memory, before that is given up


@dataclass(frozen=True)
class Cached:
    """A file and how many of its bytes the page cache held; `cached_bytes` is null where the kernel does not tell."""

    path: Path
    size_bytes: int
    cached_bytes: int | None


def cached(path: Path) -> Cached:
    """Ask mincore about every page of a file. Raises EnvironmentFailure when it cannot be read.

    Since Linux 5.2 only who may write a file is told the truth about it; others get null.
    """
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            told = os.access(path, os.W_OK) or path.stat().st_uid == os.geteuid()
            pages = sum(_resident(stream.fileno(), at, min(PIECE, size - at)) for at in range(0, size, PIECE))
    except OSError as error:
        raise EnvironmentFailure(f"{path}: cannot be read: {error.strerror or error}") from error
    return Cached(path, size, min(pages * mmap.PAGESIZE, size) if told else None)


def _resident(fd: int, at: int, length: int) -> int:
    """Pages of a stretch of a file that are in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    n_pages = -(-length // mmap.PAGESIZE)
    state = np.zeros(n_pages, np.uint8)
    with mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=at) as mapped:
        view = np.frombuffer(mapped, np.uint8)
        failed = libc.mincore(
            ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(length), state.ctypes.data_as(ctypes.c_void_p)
        )
        del view  # else the mapping cannot be closed
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int((state & 1).sum())


def drop(paths: Sequence[Path]) -> None:
    """Make the kernel forget the pages of these files, and check that it did.

    Raises EnvironmentFailure when some stay (another process maps or locks them), or nobody can tell.
    """
    for path in paths:
        try:
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)  # pages that are not written yet cannot be dropped
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)
        except OSError as error:
            raise EnvironmentFailure(f"{path}: cannot be dropped: {error.strerror or error}") from error
        left = cached(path)
        if left.cached_bytes is None:
            raise EnvironmentFailure(
                f"{path}: only who may write it can check that its pages were dropped; copy it, or use page_cache = "
                '"as it is"'
            )
        if left.cached_bytes:
            raise EnvironmentFailure(
                f"{path}: {left.cached_bytes} of {left.size_bytes} bytes stay in the page cache; end the programs that "
                "map it, or put it on a file system whose pages can be dropped"
            )


def fill(paths: Sequence[Path]) -> None:
    """Read these files whole, and check that all of it stays in memory. Raises EnvironmentFailure when not.

    A kernel that takes pages back meanwhile is asked again, a few times: some reclaim what nobody used for a moment.
    """
    for _ in range(READINGS):
        for path in paths:
            _read(path)
        lacking = [
            one for one in map(cached, paths) if one.cached_bytes is not None and one.cached_bytes < one.size_bytes
        ]
        if not lacking:
            return
    found = lacking[0]
    raise EnvironmentFailure(
        f"{found.path}: only {found.cached_bytes} of {found.size_bytes} bytes stay in the page cache; free memory, or "
        "choose another page_cache"
    )


def _read(path: Path) -> None:
    try:
        with path.open("rb", buffering=0) as stream:
            while stream.read(8 << 20):
                pass
    except OSError as error:
        raise EnvironmentFailure(f"{path}: cannot be read: {error.strerror or error}") from error
