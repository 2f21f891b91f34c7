"""What every process of a test session needs is made by one of them, in a folder that all find.

Nobody changes what lies there: a test that would takes a copy.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` of this session, filled by `make` in the first process that asks; the others wait for it.

    It is made where it stays, as runs and sites know their place. What a maker that failed left is removed.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # then it is a folder in that of the session
        root = root.parent
    folder, whole = root / "shared" / name, root / "shared" / f"{name}.whole"
    folder.parent.mkdir(exist_ok=True)
    with whole.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go at the end, also when this process dies
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            whole.touch()
    return folder
