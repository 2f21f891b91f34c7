"""What of a file is in the page cache: ask (mincore), drop, fill. Linux counts in pages of its own size."""

from __future__ import annotations

import ctypes
import errno
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
            stretches = ((at, min(PIECE, size - at)) for at in range(0, size, PIECE))
            pages = sum(int(resident_pages(stream.fileno(), *stretch).sum()) for stretch in stretches)
            told = is_told(path)
    except OSError as error:
        raise EnvironmentFailure(f"{path}: cannot be read: {error.strerror or error}") from error
    return Cached(path, size, min(pages * mmap.PAGESIZE, size) if told else None)


def is_told(path: Path) -> bool:
    """Whether the kernel tells us which pages of a file are in memory. Raises OSError."""
    return os.access(path, os.W_OK) or path.stat().st_uid == os.geteuid()


def resident_pages(fd: int, at: int, length: int) -> np.ndarray:
    """Which pages of a stretch of a file, which begins with a page, are in memory: bool. Raises OSError.

    All of them where `is_told` says no.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    n_pages = -(-length // mmap.PAGESIZE)
    state = np.zeros(n_pages, np.uint8)
    try:
        mapping = mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=at)
    except ValueError as error:  # of mmap.py, which asks for the size of the file first
        raise OSError(errno.ENODATA, f"it ends before byte {at + length}: it was cut meanwhile") from error
    with mapping as mapped:
        view = np.frombuffer(mapped, np.uint8)
        failed = libc.mincore(
            ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(length), state.ctypes.data_as(ctypes.c_void_p)
        )
        del view  # else the mapping cannot be closed
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return (state & 1).astype(bool)


def forget(fd: int, at: int, pages: np.ndarray) -> None:
    """Let the kernel drop these pages (bool) of the stretch that begins at byte `at`. Raises OSError."""
    edges = np.flatnonzero(np.diff(pages.astype(np.int8), prepend=0, append=0))
    for first, end in edges.reshape(-1, 2).tolist():
        os.posix_fadvise(fd, at + first * mmap.PAGESIZE, (end - first) * mmap.PAGESIZE, os.POSIX_FADV_DONTNEED)


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
