"""The errors tracegen raises on purpose; `cli.main` catches `TracegenError` once.

    TracegenError              exit code 2: wrong use or bad input
    ├── SettingsError          an experiment.toml, a command line option
    ├── TraceFormatError       bytes that are not the trace they claim to be
    ├── ModelFormatError       a file that is not a GGUF, or a broken one
    ├── TableError             a table that breaks the contract of tables.py
    ├── StoreError             a run folder or a bundle that is incomplete or changed
    ├── FigureError            a figure that cannot be drawn from this run
    ├── CheckError             exit code 1: a check failed
    └── EnvironmentFailure     exit code 3: disk full, child killed, tool missing

A signal is not an error: Ctrl-C ends a command with 130, SIGTERM with 143 (`signals.py`).

A message says what is wrong, where (path, offset, line, key) and what to do.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a disk, of a user's share of it, and of a file


class TracegenError(Exception):
    """Base of all errors that are messages to the user, not bugs."""

    exit_code = 2


class SettingsError(TracegenError):
    """A setting is misspelt, of the wrong type, or not allowed."""


class TraceFormatError(TracegenError):
    """A trace is broken, incomplete, or of another version."""


class ModelFormatError(TracegenError):
    """A model file is not a GGUF file, or it is cut or inconsistent."""


class TableError(TracegenError):
    """A table does not have the columns, types or values its contract states."""


class StoreError(TracegenError):
    """A run folder or a published bundle is incomplete, changed or too new."""


class FigureError(TracegenError):
    """A figure has nothing to show for this run, or a failed check makes it meaningless."""


class CheckError(TracegenError):
    """A check failed."""

    exit_code = 1


class EnvironmentFailure(TracegenError):
    """The environment failed: disk full, child killed, tool missing."""

    exit_code = 3


@contextmanager
def os_errors(what: str, kind: type[TracegenError] = EnvironmentFailure, advice: str = "") -> Iterator[None]:
    """During the block, an OSError becomes an error of ours: what failed, why in the system's words, what to do."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}{advice and f'; {advice}'}") from error


def file_of(error: OSError) -> str:
    """The file that an error is about; empty where the system names none.

    Python names the source of a copy first, which is whole; on a full disk it is the copy that lacks room.
    """
    file = error.filename2 if error.errno in FULL and error.filename2 else error.filename
    return str(file) if file else ""


def out_of_memory(error: BaseException) -> str:
    """What to say, and to do, when memory ran out; empty for any other error.

    Where memory is short, an import may fail too: the loader of shared libraries says why, in words only.
    """
    loader = ("failed to map segment", "cannot allocate memory", "cannot create shared object")
    short = isinstance(error, ImportError | OSError) and any(words in str(error).lower() for words in loader)
    no_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    if isinstance(error, MemoryError) or short or no_thread:
        return "memory ran out; close other programs, or raise the limit (ulimit -v, or of the cgroup), and try again"
    return ""
