"""What every process of a test session needs is made by one of them, in a folder that all find.

Nobody changes what lies there: a test that would takes a copy.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder of this session that all its processes have."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # then it is a folder in that of the session
        root = root.parent
    (root / "shared").mkdir(exist_ok=True)
    return root / "shared"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else has the lock of `path` in this block; the kernel lets go when this process dies."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def shared_folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` of this session, filled by `make` in the first process that asks; the others wait for it.

    It is made where it stays, as runs and sites know their place. What a maker that failed left is removed.
    """
    folder = session_folder(factory) / name
    whole = folder.with_name(f"{name}.whole")
    with locked(folder):
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            whole.touch()
    return folder
