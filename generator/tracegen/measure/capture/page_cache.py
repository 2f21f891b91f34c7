"""Which pages of a file are in the page cache (mincore); how to drop them, and how to read them in."""

import ctypes
import errno
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracegen.contract.errors import EnvironmentFailure, os_errors
from tracegen.storing.execute import output_of

PIECE = 1 << 30  # bytes mapped at a time
READINGS = 4  # how often `fill` reads the files before it gives up


@dataclass(frozen=True)
class Cached:
    """A file, and how many of its bytes were in the page cache; null where the kernel does not say."""

    path: Path
    size_bytes: int
    cached_bytes: int | None


def cached(path: Path) -> Cached:
    """Count the bytes of a file in the page cache, by mincore. Raises EnvironmentFailure when it cannot be read.

    Since Linux 5.2 the kernel answers only those who own the file or may write it; for others the count is null.
    """
    with os_errors(f"{path}: cannot be read"), path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stretches = ((at, min(PIECE, size - at)) for at in range(0, size, PIECE))
        pages = sum(int(resident_pages(stream.fileno(), *stretch).sum()) for stretch in stretches)
        known = residency_is_known(path)
    return Cached(path, size, min(pages * mmap.PAGESIZE, size) if known else None)


def residency_is_known(path: Path) -> bool:
    """Whether this user may learn from the kernel which pages of a file are in memory. Raises OSError."""
    return os.access(path, os.W_OK) or path.stat().st_uid == os.geteuid()


def resident_pages(fd: int, at: int, length: int) -> np.ndarray:
    """For each page of `length` bytes from byte `at` (a multiple of the page size): whether it is in memory.

    True for every page when `residency_is_known` is false. Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    n_pages = -(-length // mmap.PAGESIZE)
    state = np.zeros(n_pages, np.uint8)
    try:
        mapping = mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=at)
    except ValueError as error:  # raised by mmap when the file is shorter
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
    """Ask the kernel to drop the pages where `pages` (bool) is true; page 0 begins at byte `at`. Raises OSError."""
    edges = np.flatnonzero(np.diff(pages.astype(np.int8), prepend=0, append=0))
    for first, end in edges.reshape(-1, 2).tolist():
        os.posix_fadvise(fd, at + first * mmap.PAGESIZE, (end - first) * mmap.PAGESIZE, os.POSIX_FADV_DONTNEED)


def drop(paths: Sequence[Path]) -> None:
    """Drop the pages of these files from the page cache, and check that they are gone.

    Raises EnvironmentFailure when some stay (another process maps or locks them), or it cannot be checked.
    """
    for path in paths:
        with os_errors(f"{path}: cannot be dropped"), path.open("rb") as stream:
            os.fsync(stream.fileno())  # pages that are not written yet cannot be dropped
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        left = cached(path)
        if left.cached_bytes is None:
            raise EnvironmentFailure(
                f"{path}: you may not write it, so the kernel does not say whether its pages were dropped; make a copy"
                ' of your own, or set page_cache = "as it is"'
            )
        if left.cached_bytes:
            raise EnvironmentFailure(
                f"{path}: {left.cached_bytes} of {left.size_bytes} bytes stay in the page cache; end the programs that "
                "map it, or copy it to a file system whose pages can be dropped (not tmpfs)"
            )


def fill(paths: Sequence[Path]) -> None:
    """Read these files whole, and check that all their pages stay in memory. Raises EnvironmentFailure when not.

    The kernel may reclaim pages meanwhile; the files are therefore read up to READINGS times.
    """
    for _ in range(READINGS):
        for path in paths:
            _read(path)
        lacking = [
            state
            for state in map(cached, paths)
            if state.cached_bytes is not None and state.cached_bytes < state.size_bytes
        ]
        if not lacking:
            return
    first = lacking[0]
    raise EnvironmentFailure(
        f"{first.path}: only {first.cached_bytes} of {first.size_bytes} bytes stay in the page cache; free memory, or "
        "choose another page_cache"
    )


def fetch_code(program: Path, preloaded: Sequence[Path] = ()) -> None:
    """Read a program and its libraries into the page cache, also those of llama.cpp beside it, which it may load later.

    The kernel charges a page to the memory group that touches it first: the first execution under a limit would pay for
    this code, and later ones would not.
    """
    linked = [Path(word) for word in (output_of(["ldd", str(program)]) or "").split() if word.startswith("/")]
    beside = program.parent.glob("lib*.so*") if any(program.parent.glob("libggml*.so*")) else ()
    for path in dict.fromkeys((program, *preloaded, *linked, *beside)):
        if path.is_file():
            with suppress(EnvironmentFailure):  # one that cannot be read is not what runs
                _read(path)


def _read(path: Path) -> None:
    with os_errors(f"{path}: cannot be read"), path.open("rb", buffering=0) as stream:
        while stream.read(8 << 20):
            pass
