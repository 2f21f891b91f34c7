"""Results that were computed before from the same files by the same program, kept in the user's cache.

Key figures of a run never change while its files and the program stay the same, and reading the tables again takes
far longer than everything else that `tracegen show` does. Nothing depends on the cache: it may be lost, broken or
read-only, and then the result is computed again.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tracegen.contract import documents
from tracegen.contract.errors import EnvironmentFailure, StoreError
from tracegen.storing import store
from tracegen.storing.resources import SOURCES, cache_folder

_PACKAGE = Path(__file__).parents[1]


def remembered(subject: Path, files: Iterable[Path], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `compute()` for `subject`, or what it returned last time for the same files.

    subject: what the result is about; there is one file in the cache for each subject.
    files: what the result is computed from. Files are the same when their size and the times of their last changes
        are the same; the program is the same when all its sources are.
    compute: returns a dictionary of values that JSON can hold.
    """
    path = cache_folder() / "results" / f"{_digest([str(subject.resolve())])}.json"
    program = sorted(path for kind in SOURCES for path in _PACKAGE.rglob(kind))
    result = kept(path, _digest([*map(_state, sorted(files)), *map(_state, program)]), compute)
    assert result is not None
    return result


def kept(
    path: Path,
    state: object,
    compute: Callable[[], dict[str, Any] | None],
    *,
    is_whole: Callable[[dict[str, Any]], bool] = lambda result: True,
) -> dict[str, Any] | None:
    """What the file keeps of the same `state`, which JSON can hold, else the result of `compute()`, kept from then on.

    `is_whole`: whether a kept result is one that can be, and was not damaged. A result of None is not kept.
    """
    with contextlib.suppress(OSError, StoreError, KeyError, TypeError):
        document = documents.read_json(path, nan=True)
        kept_result = document["result"]
        if document["state"] == state and isinstance(kept_result, dict) and is_whole(kept_result):
            return kept_result
    result = compute()
    if result is not None:
        with contextlib.suppress(OSError, EnvironmentFailure):
            store.write_text(path, json.dumps({"state": state, "result": result}))
    return result


def _state(path: Path) -> str:
    """What changes when the file does; a file that is missing has a state too."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return f"{path} is missing"
    return f"{path} {state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
