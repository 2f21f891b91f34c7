"""Model files that are complete or absent, and the names of the files of a split model."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, os_errors
from tracegen.storing import parts
from tracegen.storing.store import flush

GIB = 1 << 30
LITTLE = 1 << 20  # bytes free, below which a write has failed for want of room


@contextmanager
def whole_files(path: Path) -> Iterator[Path]:
    """Yield a path of the same name in a new folder beside `path`; afterwards move all files from there to `path`.

    When the block raises, nothing stays. Raises EnvironmentFailure when the disk refuses to write.
    """
    with os_errors(f"{path}: could not be written"), parts.new_folder(path.parent) as beside:
        try:
            yield beside / path.name
            for part in sorted(beside.iterdir(), reverse=True):  # the first file last: it says that all are there
                flush(part)
                part.replace(path.parent / part.name)
            flush(path.parent)
        except OSError as error:
            if error.errno is None and shutil.disk_usage(beside).free < LITTLE:  # numpy says how much, but not why
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise


def split_paths(path: Path) -> tuple[Path, Path]:
    """The two files that a split model NAME.gguf becomes, as llama.cpp names them."""
    return (
        path.with_name(f"{path.stem}-00001-of-00002.gguf"),
        path.with_name(f"{path.stem}-00002-of-00002.gguf"),
    )


def refuse_small_disk(folder: Path, needed_bytes: int, advice: str) -> None:
    """Raise EnvironmentFailure when fewer than `needed_bytes` are free where `folder` is or will be.

    `advice` ends the message: what the user can do.
    """
    folder = folder.absolute()
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    if free < needed_bytes:
        raise EnvironmentFailure(
            f"{folder}: {free / GIB:.1f} GiB of disk are free, and {needed_bytes / GIB:.1f} are needed; {advice}"
        )
