"""A cache of file hashes: a file whose device, inode, size and times are unchanged is not read again.

Models (capture) and published bundles (publishing) use it, each with its own cache file. It is a module of the ground
floor, as those two rooms must not import each other.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tracegen.contract import documents
from tracegen.contract.errors import StoreError, os_errors
from tracegen.storing import locks, store

SCHEMA = 1
# The hash of a file that changed less than this before it was hashed is not cached: the file may change again and
# keep its time stamp, as time stamps advance every few ms only (on some file systems every 2 s). git treats its
# index in the same way ("racily clean" entries).
SETTLED_NS = 2_000_000_000

Entry = tuple[int, int, int, str]  # size, time of the last change of content and of inode (ns), sha256


class HashCache:
    """The hashes in one cache file. It may be missing or broken, and several processes may write it at once."""

    def __init__(self, path: Path, *, trust: bool = True) -> None:
        """Read the cache file, unless `trust` is false: then every file is hashed again."""
        self._path = path
        self._known = _read(path) if trust else {}
        self._new: dict[str, Entry] = {}

    def known(self, state: os.stat_result) -> str | None:
        """The cached sha256 of the file with this state, or None."""
        entry = self._known.get(_key(state))
        return entry[3] if entry is not None and entry[:3] == _stamp(state) else None

    def sha256(self, path: Path, state: os.stat_result, hash_file: Callable[[Path], str] = store.sha256_of) -> str:
        """The sha256 of the file: cached for this state, or else computed by `hash_file`."""
        known_hash = self.known(state)
        if known_hash is not None:
            return known_hash
        begin_ns = time.time_ns()
        digest = hash_file(path)
        unchanged = _stamp(path.stat()) == _stamp(state)
        if unchanged and max(state.st_mtime_ns, state.st_ctime_ns) < begin_ns - SETTLED_NS:
            self._known[_key(state)] = self._new[_key(state)] = (*_stamp(state), digest)
        return digest

    def save(self) -> None:
        """Add the new hashes to the cache file. Raises EnvironmentFailure when it cannot be written."""
        if not self._new:
            return
        with os_errors(f"{self._path}: cannot be written"), locks.alone_at(self._path):
            document = {"schema": SCHEMA, "files": _read(self._path) | self._new}
            store.write_text(self._path, json.dumps(document, separators=(",", ":")))
        self._new = {}


def _key(state: os.stat_result) -> str:
    return f"{state.st_dev}:{state.st_ino}"


def _stamp(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read(path: Path) -> dict[str, Entry]:
    """The entries of the cache file; none when it is missing, broken or of another schema."""
    try:
        document = documents.read_json(path)
        if document["schema"] != SCHEMA:
            return {}
        return {
            str(key): (int(size), int(mtime_ns), int(ctime_ns), str(digest))
            for key, (size, mtime_ns, ctime_ns, digest) in document["files"].items()
        }
    except (OSError, StoreError, ValueError, KeyError, TypeError, AttributeError):
        return {}
