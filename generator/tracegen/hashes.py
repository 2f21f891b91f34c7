"""Hashes of files, remembered: a file whose device, inode, size and times are the same is not read again.

Published bundles and models share it, each with a cache file of its own. It stands on the ground floor, beside
store: capture (models) and bundle (what is published) may not know each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tracegen import store
from tracegen.errors import EnvironmentFailure

SCHEMA = 1
# A file that changed this short a time before it was hashed may change again without another time stamp: the clock
# that stamps files ticks every few ms (or, on some file systems, every 2 s). Its hash is not remembered. git does
# the same with its index ("racily clean" entries).
SETTLED_NS = 2_000_000_000

Entry = tuple[int, int, int, str]  # size, time of the last change of content and of inode (ns), sha256


class HashCache:
    """Hashes in one cache file, which may be lost or broken, and be written by several processes at once."""

    def __init__(self, path: Path, *, trust: bool = True) -> None:
        """Read what was remembered; `trust` false hashes every file anew."""
        self._path = path
        self._known = _read(path) if trust else {}
        self._made: dict[str, Entry] = {}

    def known(self, state: os.stat_result) -> str | None:
        """The remembered hash of the file with this state."""
        entry = self._known.get(_key(state))
        return entry[3] if entry is not None and entry[:3] == _stamp(state) else None

    def sha256(self, path: Path, state: os.stat_result, hash_file: Callable[[Path], str] = store.sha256_of) -> str:
        """The hash of the file, from memory when its state is the same."""
        found = self.known(state)
        if found is not None:
            return found
        begun_ns = time.time_ns()
        digest = hash_file(path)
        unchanged = _stamp(path.stat()) == _stamp(state)
        if unchanged and max(state.st_mtime_ns, state.st_ctime_ns) < begun_ns - SETTLED_NS:
            self._known[_key(state)] = self._made[_key(state)] = (*_stamp(state), digest)
        return digest

    def save(self) -> None:
        """Add the hashes that were made since to the cache file. Raises EnvironmentFailure."""
        if not self._made:
            return
        try:
            with _alone(self._path):
                document = {"schema": SCHEMA, "files": _read(self._path) | self._made}
                store.write_text(self._path, json.dumps(document, separators=(",", ":")))
        except OSError as error:
            raise EnvironmentFailure(f"{self._path}: cannot be written: {error.strerror or error}") from error
        self._made = {}


def _key(state: os.stat_result) -> str:
    return f"{state.st_dev}:{state.st_ino}"


def _stamp(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read(path: Path) -> dict[str, Entry]:
    """What the cache file holds; nothing when it is missing, broken or of another schema."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            return {}
        return {
            str(key): (int(size), int(mtime_ns), int(ctime_ns), str(digest))
            for key, (size, mtime_ns, ctime_ns, digest) in document["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the cache file against other processes while it is read and written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
