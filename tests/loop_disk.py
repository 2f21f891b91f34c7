"""A small disk with a partition: a file as a loop device, which only root may make."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1 << 20
PARTITION_BEGIN = 2 * MIB
DISK_BYTES = 40 * MIB


def _run(*command: str) -> str:
    """What a program prints; the test is skipped when this machine has no such program or refuses."""
    program = shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None:
        pytest.skip(f"needs {command[0]}")
    ended = subprocess.run([program, *command[1:]], capture_output=True, text=True)
    if ended.returncode:
        pytest.skip(f"{command[0]}: {ended.stderr.strip()}")
    return ended.stdout.strip()


@contextmanager
def loop_disk(tmp_path: Path) -> Iterator[tuple[Path, Path, Path]]:
    """(Image, device, mounted folder) of an ext4 in the partition of a loop device."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    image.touch()
    os.truncate(image, DISK_BYTES)
    folder.mkdir()
    device = Path(_run("losetup", "--find", "--show", "--partscan", str(image)))
    try:
        _run("addpart", str(device), "1", str(PARTITION_BEGIN // 512), str(36 * MIB // 512))
        partition = device.with_name(f"{device.name}p1")
        if not partition.exists():
            pytest.skip("nobody makes nodes of devices here")
        _run("mkfs.ext4", "-q", "-b", "4096", str(partition))
        _run("mount", str(partition), str(folder))
        try:
            yield image, device, folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    finally:
        subprocess.run(["losetup", "--detach", str(device)], check=True)
