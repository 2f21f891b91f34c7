"""The sha256 of model files. Each file is read once, and afterwards the same of its pages are in the page cache.

Otherwise a run with page_cache = "as it is" would find the model in memory because an earlier run was recorded.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tracegen.contract.errors import EnvironmentFailure, os_errors
from tracegen.measure.capture.page_cache import forget, residency_is_known, resident_pages
from tracegen.storing.hashes import HashCache
from tracegen.storing.progress import BYTES, Progress
from tracegen.storing.resources import cache_folder

PIECE = 8 << 20  # bytes read at a time: whole pages of any size


def hash_files(paths: Sequence[Path], progress: Progress) -> list[str]:
    """The sha256 of each file, in their order. A file is read only when its hash is not yet known.

    Known hashes are stored in `hashes.json` of the cache folder. Raises EnvironmentFailure when a file cannot be read.
    """
    cache = HashCache(cache_folder() / "hashes.json")
    try:
        states = [path.stat() for path in paths]
    except OSError as error:
        raise EnvironmentFailure(f"{error.filename}: cannot be read: {error.strerror or error}") from error
    known = [cache.known(state) is not None for state in states]
    sizes = [0 if is_known else state.st_size for state, is_known in zip(states, known, strict=True)]
    hashes = []
    for i, (path, state) in enumerate(zip(paths, states, strict=True)):
        read = partial(sha256_of_cold, done=partial(_show_progress, progress, sum(sizes[:i]), sum(sizes)))
        hashes.append(cache.sha256(path, state, read))
    if any(known):
        progress.note("the hash is known from before" if all(known) else "some hashes are known from before")
    try:
        cache.save()
    except EnvironmentFailure as error:
        progress.note(f"the hash cannot be stored for the next run: {error}")
    return hashes


def changed_since(paths: Sequence[Path], since_ns: int) -> tuple[str, ...]:
    """The names of the files that were written to, cut, replaced or removed after a time, ns of the wall clock."""
    return tuple(path.name for path in paths if not path.is_file() or path.stat().st_ctime_ns > since_ns)


def known_hashes(paths: Sequence[Path], changed: Sequence[str], progress: Progress) -> list[str | None]:
    """The sha256 of each file, as `hash_files`; None for one that `changed`: the program read other bytes."""
    whole = [path for path in paths if path.name not in changed]
    hashes = dict(zip(whole, hash_files(whole, progress), strict=True))
    return [hashes.get(path) for path in paths]


def _show_progress(progress: Progress, before: int, total: int, done: int) -> None:
    progress.update(before + done, total, BYTES)


def sha256_of_cold(path: Path, done: Callable[[int], None] = lambda _: None) -> str:
    """The sha256 of a file; `done` is called with the number of bytes read so far.

    Pages that were not in memory are dropped after they have been hashed: at most two pieces more are in memory at a
    time. Nothing is dropped when this user neither owns nor may write the file, as the kernel then does not say which
    pages were in memory; nor are pages dropped that another program maps meanwhile. Raises EnvironmentFailure when
    the file cannot be read or is cut meanwhile.
    """
    digest = hashlib.sha256()
    with os_errors(f"{path}: cannot be read"), path.open("rb", buffering=0) as stream:
        fd = stream.fileno()
        size = os.fstat(fd).st_size
        residency_known = residency_is_known(path)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # no read-ahead of the kernel: only pieces are read
        pieces = [(at, min(PIECE, size - at)) for at in range(0, size, PIECE)]
        ahead = [_begin_read(fd, piece) for piece in pieces[:1]]
        for i, (at, length) in enumerate(pieces):
            absent = ahead.pop()
            ahead = [_begin_read(fd, piece) for piece in pieces[i + 1 : i + 2]]
            digest.update(_read_piece(fd, at, length, path))
            if residency_known:
                forget(fd, at, absent)
            done(at + length)
    return digest.hexdigest()


def _begin_read(fd: int, piece: tuple[int, int]) -> np.ndarray:
    """Ask the kernel to begin reading a piece (byte, length); for each of its pages whether it was not in memory."""
    absent = ~resident_pages(fd, *piece)
    os.posix_fadvise(fd, *piece, os.POSIX_FADV_WILLNEED)
    return absent


def _read_piece(fd: int, at: int, length: int, path: Path) -> bytearray:
    """The `length` bytes from byte `at` on. Raises EnvironmentFailure when the file ends before."""
    piece = bytearray(length)
    view, read = memoryview(piece), 0
    while read < length:
        n = os.preadv(fd, [view[read:]], at + read)
        if n == 0:
            raise EnvironmentFailure(f"{path}: was cut at byte {at + read} while it was hashed; run again")
        read += n
    return piece
