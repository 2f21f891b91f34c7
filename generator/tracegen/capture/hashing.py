"""The sha256 of model files: each is read once, and what the page cache holds of it stays as it was.

A run that takes the page cache "as it is" would else find the model warm because the run before it was recorded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tracegen.capture.page_cache import forget, is_told, resident_pages
from tracegen.errors import EnvironmentFailure
from tracegen.hashes import HashCache
from tracegen.progress import BYTES, Progress
from tracegen.resources import cache_folder

PIECE = 8 << 20  # bytes read at a time: whole pages of any size


def hash_files(paths: Sequence[Path], progress: Progress) -> list[str]:
    """The sha256 of each file, read only when it is not known from before; `progress` hears of both.

    Known hashes lie in `hashes.json` of the cache folder. Raises EnvironmentFailure when a file cannot be read.
    """
    cache = HashCache(cache_folder() / "hashes.json")
    try:
        states = [path.stat() for path in paths]
    except OSError as error:
        raise EnvironmentFailure(f"{error.filename}: cannot be read: {error.strerror or error}") from error
    known = [cache.known(state) is not None for state in states]
    sizes = [0 if is_known else state.st_size for state, is_known in zip(states, known, strict=True)]
    made = []
    for i, (path, state) in enumerate(zip(paths, states, strict=True)):
        read = partial(sha256_of_cold, done=partial(_tell, progress, sum(sizes[:i]), sum(sizes)))
        made.append(cache.sha256(path, state, read))
    if any(known):
        progress.note("the hash is known from before" if all(known) else "some hashes are known from before")
    try:
        cache.save()
    except EnvironmentFailure as error:
        progress.note(f"the hash cannot be remembered: {error}")
    return made


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress.update(before + done, total, BYTES)


def sha256_of_cold(path: Path, done: Callable[[int], None] = lambda _: None) -> str:
    """The sha256 of a file, after which the page cache holds of it what it held before; `done` hears bytes.

    Pages that were not in memory are dropped when they have been hashed, so at most two pieces are there at a time.
    Of a file that we neither own nor may write the kernel does not tell which pages are in memory: nothing is dropped
    then, and all of it may stay. Nor are pages dropped that another program has mapped meanwhile. Raises
    EnvironmentFailure when the file cannot be read or is cut meanwhile.
    """
    digest = hashlib.sha256()
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(fd).st_size
            told = is_told(path)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # no read-ahead but ours: nothing beyond a piece is read
            pieces = [(at, min(PIECE, size - at)) for at in range(0, size, PIECE)]
            ahead = [_asked_for(fd, piece) for piece in pieces[:1]]
            for i, (at, length) in enumerate(pieces):
                absent = ahead.pop()
                ahead = [_asked_for(fd, piece) for piece in pieces[i + 1 : i + 2]]
                digest.update(_whole(fd, at, length, path))
                if told:
                    forget(fd, at, absent)
                done(at + length)
        finally:
            os.close(fd)
    except OSError as error:
        raise EnvironmentFailure(f"{path}: cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def _asked_for(fd: int, piece: tuple[int, int]) -> np.ndarray:
    """Let the kernel begin to read a piece, and say which of its pages were not in memory until now."""
    absent = ~resident_pages(fd, *piece)
    os.posix_fadvise(fd, *piece, os.POSIX_FADV_WILLNEED)
    return absent


def _whole(fd: int, at: int, length: int, path: Path) -> bytearray:
    """The bytes of a piece."""
    made = bytearray(length)
    view, read = memoryview(made), 0
    while read < length:
        n = os.preadv(fd, [view[read:]], at + read)
        if n == 0:
            raise EnvironmentFailure(f"{path}: was cut at byte {at + read} while it was hashed; run again")
        read += n
    return made
