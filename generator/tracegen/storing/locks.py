"""The lock of a folder or file: of several processes that change it, one does so at a time.

The kernel releases the lock when its process ends, however it ends.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKS = Path("/proc/locks")


@contextmanager
def alone(folder: Path, waits: Callable[[str], None] = lambda holder: None) -> Iterator[None]:
    """During the block, this process has the lock of the folder.

    If another one has it, calls `waits` with who that is, and waits. Raises OSError, FileNotFoundError without the
    folder.
    """
    while True:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not taken(descriptor):
                waits(_holder(descriptor))
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if is_at(folder, descriptor):  # else it was removed meanwhile
                yield
                return
        finally:
            os.close(descriptor)


@contextmanager
def alone_at(path: Path, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """During the block, this process has the lock of `path`, which it may replace: a file beside it is locked.

    If another one has it, calls `waits`, and waits. A lock that is there can be taken where nothing can be written.
    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        if not file.is_file():
            raise
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not taken(descriptor):
            waits()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_at(path: Path, descriptor: int) -> bool:
    """Whether the path leads to the open file or folder."""
    try:
        there, here = path.stat(), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def taken(descriptor: int) -> bool:
    """Take the lock of an open file or folder; False if another process has it. Raises OSError."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Who has the lock, as the kernel lists it: `process 1234`, or `another process` where it does not say."""
    inode = str(os.fstat(descriptor).st_ino)
    try:
        locks = [line.split() for line in LOCKS.read_text().splitlines() if "->" not in line]
    except OSError:
        locks = []
    pids = [words[4] for words in locks if words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode]
    return f"process {pids[0]}" if pids and int(pids[0]) > 0 else "another process"
