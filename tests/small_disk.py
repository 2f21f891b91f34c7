"""A disk so small that a test can fill it. Only root may mount one."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")


@contextmanager
def small_disk(folder: Path, *options: str) -> Iterator[Path]:
    """A file system in memory over `folder` until the block ends: `size=1500k`, `ro`."""
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "none", str(folder)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("this machine lets nobody mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def make_read_only(folder: Path) -> None:
    """From now on nobody writes to the disk at `folder`, root included."""
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Take what room there is below `folder`."""
    with (folder / "filler").open("ab", buffering=0) as stream:
        for size in (1 << 20, 1 << 12):
            try:
                while stream.write(bytes(size)) == size:
                    pass
            except OSError as error:
                assert error.errno == errno.ENOSPC


def filling(folder: Path, then: Callable[..., Any]) -> Callable[..., Any]:
    """`then`, which finds the disk full."""

    def call(*arguments: Any, **named: Any) -> Any:
        fill(folder)
        return then(*arguments, **named)

    return call
