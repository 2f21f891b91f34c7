"""Where the bytes of a file lie, against `filefrag` and against the bytes of the device itself."""

import ctypes
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.loop_disk import PARTITION_BEGIN, loop_disk
from tests.small_disk import needs_root, small_disk
from tracegen.measure.capture.extents import Extent, NoPlacesError, device_number, disk_place, extents_of

PUNCH, KEEP_SIZE = 2, 1
BLOCK = 4096
MIB = 1 << 20
_ROW = re.compile(r"^\s*\d+:\s*(\d+)\.\.\s*(\d+):\s*(\d+)\.\.\s*\d+:\s*(\d+):", re.MULTILINE)


def fallocate(path: Path, mode: int, offset: int, size: int) -> None:
    with path.open("r+b") as stream:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.fallocate64(stream.fileno(), mode, ctypes.c_int64(offset), ctypes.c_int64(size)):
            pytest.skip(f"the file system cannot do this: {os.strerror(ctypes.get_errno())}")


def in_pieces(path: Path) -> Path:
    """A file of 256 blocks with holes in between, and blocks written in turns with those of another file."""
    blocks = random.Random(3)
    with path.open("wb") as stream, path.with_name("other").open("wb") as other:
        for _ in range(128):
            for each in (stream, other):
                each.write(blocks.randbytes(BLOCK))
                each.flush()
                os.fdatasync(each.fileno())
        stream.write(blocks.randbytes(128 * BLOCK))
    for block in range(130, 250, 8):
        fallocate(path, PUNCH | KEEP_SIZE, block * BLOCK, 3 * BLOCK)
    return path


def by_filefrag(path: Path) -> list[Extent]:
    """What filefrag says, neighbours joined."""
    program = shutil.which("filefrag", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None:
        pytest.skip("needs filefrag, of e2fsprogs")
    text = subprocess.run([program, "-s", "-v", "-b1", str(path)], capture_output=True, text=True, check=True).stdout
    joined: list[Extent] = []
    for first, _, place, size in (map(int, row) for row in _ROW.findall(text)):
        last = joined[-1] if joined else None
        if last and (last.offset + last.size_bytes, last.place + last.size_bytes) == (first, place):
            joined[-1] = Extent(last.offset, last.place, last.size_bytes + size)
        else:
            joined.append(Extent(first, place, size))
    return joined


def test_extents_are_those_that_filefrag_lists(on_disk: Path) -> None:
    path = in_pieces(on_disk / "model")
    extents = extents_of(path)
    assert list(extents) == by_filefrag(path) and len(extents) > 10


def test_extents_are_asked_for_until_the_last(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_pieces(on_disk / "model")
    whole = extents_of(path)
    for room in (1, 2, 7):
        monkeypatch.setattr("tracegen.measure.capture.extents._ROOM", room)
        assert extents_of(path) == whole


def test_bytes_that_were_only_just_written_have_a_place(on_disk: Path) -> None:
    path = on_disk / "model"
    path.write_bytes(random.Random(4).randbytes(3 * MIB + 17))
    extents = extents_of(path)
    assert sum(extent.size_bytes for extent in extents) == 3 * MIB + BLOCK


def test_a_stretch_that_was_reserved_and_not_written_has_a_place(on_disk: Path) -> None:
    path = on_disk / "model"
    path.write_bytes(random.Random(5).randbytes(MIB))
    fallocate(path, 0, MIB, MIB)
    extents = extents_of(path)
    assert sum(extent.size_bytes for extent in extents) == 2 * MIB and list(extents) == by_filefrag(path)


@pytest.mark.parametrize("size", [0, MIB])
def test_a_file_of_no_bytes_or_of_a_hole_has_no_extents(on_disk: Path, size: int) -> None:
    (on_disk / "bare").touch()
    os.truncate(on_disk / "bare", size)
    assert extents_of(on_disk / "bare") == ()


def test_links_lead_to_the_bytes_of_the_file(on_disk: Path) -> None:
    path = in_pieces(on_disk / "model")
    (on_disk / "soft").symlink_to(path)
    (on_disk / "hard").hardlink_to(path)
    for link in (on_disk / "soft", on_disk / "hard"):
        assert extents_of(link) == extents_of(path) and device_number(link) == path.stat().st_dev


def test_a_file_that_is_missing_raises_what_the_system_says(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        extents_of(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        device_number(tmp_path / "nowhere")


@needs_root
def test_a_file_in_memory_has_no_places(tmp_path: Path) -> None:
    with small_disk(tmp_path, "size=1m"):
        (tmp_path / "model").write_bytes(b"GGUF")
        with pytest.raises(NoPlacesError, match="no single block device"):
            device_number(tmp_path / "model")
        with pytest.raises(NoPlacesError, match="does not tell extents"):
            extents_of(tmp_path / "model")


@needs_root
def test_on_a_partition_places_count_from_the_beginning_of_the_disk(tmp_path: Path) -> None:
    with loop_disk(tmp_path) as (image, device, folder):
        path = folder / "model"
        content = random.Random(6).randbytes(5 * MIB + 99)
        path.write_bytes(content)
        extents = extents_of(path)
        number, first = disk_place(device_number(path))
        assert number == device.stat().st_rdev != path.stat().st_dev
        assert first == PARTITION_BEGIN
        subprocess.run(["sync", "--file-system", str(folder)], check=True)
        disk = bytearray(len(content) + BLOCK)
        with image.open("rb") as stream:
            for extent in extents:
                stream.seek(first + extent.place)
                disk[extent.offset : extent.offset + extent.size_bytes] = stream.read(extent.size_bytes)
        assert bytes(disk[: len(content)]) == content


def test_a_whole_disk_begins_at_its_first_byte(on_disk: Path) -> None:
    number = device_number(on_disk / "probe")
    if Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/partition").exists():
        pytest.skip("the temporary folder lies on a partition")
    assert disk_place(number) == (number, 0)
