"""Drawings that a site has drawn before: equal charts are drawn once, by whichever process comes to them first.

Drafts of equal runs, and the pages of a matrix, share many charts. A drawing lies in the cache under the hash of what
it depends on: the program, the function that draws, and the chart with its data. While one process draws it, others
that need it wait.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import ExitStack, suppress
from functools import cache
from importlib.metadata import version
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from tracegen.contract import documents
from tracegen.contract.errors import StoreError
from tracegen.report import drawing
from tracegen.storing import resources

FOLDER = "drawings"  # below the cache of a site
MOST = 256 << 20  # bytes that the folder keeps

Drawn = TypeVar("Drawn")


class Drawings(Executor):
    """An executor that draws through another one what the folder does not have."""

    def __init__(self, folder: Path, draws: Executor) -> None:
        """Keep drawings in `folder`, which is made when the first is kept."""
        self._folder = folder
        self._draws = draws

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The drawing that `fn` makes of its argument; JSON can hold both."""
        return self._draws.submit(drawn_once, self._folder, fn, *args, **kwargs)


@cache
def charts(folder: Path) -> Executor:
    """What draws the charts of all bundles that this process draws, and keeps them in `folder`; it ends with this."""
    return Drawings(folder, drawing.process())


def drawn_once(folder: Path, draw: Callable[[Any], Drawn], document: Any) -> Drawn:
    """The drawing in the folder, or else the result of `draw(document)`, which is kept there."""
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((folder / _name(draw, document)).open("a+b", buffering=0))
        except OSError:  # nothing depends on the cache
            return draw(document)
        with suppress(OSError):  # a file system without locks: then some charts are drawn twice
            fcntl.flock(file, fcntl.LOCK_EX)  # waits while another process draws it
        found = _read(file)
        if found is None:
            found = [draw(document)]
            _write(file, found)
    drawn: Drawn = found[0]
    return drawn


def shrink(folder: Path, most: int = MOST) -> None:
    """Remove what was not used for longest, until at most `most` bytes are left."""
    files = []
    for path in folder.glob("*.json"):
        with suppress(OSError):  # another build removed it
            state = path.stat()
            files.append((state.st_mtime_ns, state.st_size, path))
    left = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if left <= most:
            break
        path.unlink(missing_ok=True)
        left -= size


def _name(draw: Callable[[Any], object], document: Any) -> str:
    digest = hashlib.sha256(resources.renderer_hash().encode())
    digest.update(f"{draw.__module__}.{draw.__qualname__} {version('vl-convert-python')}\0".encode())
    digest.update(json.dumps(document, separators=(",", ":")).encode())  # in its order, which the drawing has too
    return f"{digest.hexdigest()[:40]}.json"


def _read(file: FileIO) -> list[Any] | None:
    """A list of the one drawing; None if there is none, or the process that drew it was stopped while it wrote."""
    with suppress(OSError, StoreError):
        file.seek(0)
        digest, _, text = file.read().partition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() == digest:
            os.utime(file.fileno())  # it was used last: see `shrink`
            return list(documents.parse_json(text, "a drawing"))
    return None


def _write(file: FileIO, found: list[Any]) -> None:
    """Write the drawing over what the file holds; one that does not fit on the disk is not kept."""
    text = json.dumps(found, separators=(",", ":")).encode()
    with suppress(OSError):
        file.truncate(0)
        file.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
