"""Where the bytes of a file lie on its block device (FIEMAP)."""

import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIEMAP = 0xC020660B  # <linux/fiemap.h>
HEADER = struct.Struct("=QQIIII")  # start, length, flags, extents filled in, room for extents, reserved
_EXTENT = struct.Struct("=QQQQQIIII")  # offset in the file, place, length, two reserved, flags, three reserved
_ROOM = 1000  # extents asked for at a time
_SYNC = 1  # write the file to the device first, so that every byte has a place
_LAST = 1
_NO_PLACE = {  # flags of an extent whose bytes do not lie at its place as they are
    0x2: "its place is unknown",
    0x4: "not written to the device yet",
    0x8: "compressed or encrypted",
    0x80: "encrypted",
    0x100: "not aligned to blocks",
    0x200: "kept with the file's metadata",
    0x400: "packed with other files",
}


@dataclass(frozen=True)
class Extent:
    """A stretch of a file, and where it begins on the device; bytes."""

    offset: int
    place: int
    size_bytes: int


class NoPlacesError(Exception):
    """Why the bytes of a file have no known places on a block device."""


def device_number(path: Path) -> int:
    """The number (`st_dev`) of the block device of a file. Raises NoPlacesError when its file system has none."""
    number = path.stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if os.major(number) == 0 or not folder.is_dir():
        raise NoPlacesError("its file system lies on no single block device (btrfs, overlay, tmpfs, network)")
    if (folder / "dm").is_dir() or (folder / "md").is_dir():
        raise NoPlacesError("its device is made of others (device mapper, RAID)")
    return number


def disk_place(number: int) -> tuple[int, int]:
    """(Number of the whole disk, first byte on it) of a device, which may be a partition. Raises OSError."""
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not (folder / "partition").exists():
        return number, 0
    major, _, minor = (folder.parent / "dev").read_text().strip().partition(":")
    return os.makedev(int(major), int(minor)), int((folder / "start").read_text()) * 512


def extents_of(path: Path) -> tuple[Extent, ...]:
    """The extents of a file by offset, neighbours joined. Raises NoPlacesError, and OSError when it cannot be read."""
    joined: list[Extent] = []
    with path.open("rb") as stream:
        try:
            for extent in _extents(stream.fileno()):
                before = joined[-1] if joined else None
                if before and (before.offset + before.size_bytes, before.place + before.size_bytes) == (
                    extent.offset,
                    extent.place,
                ):
                    joined[-1] = Extent(before.offset, before.place, before.size_bytes + extent.size_bytes)
                else:
                    joined.append(extent)
        except OSError as error:
            raise NoPlacesError(f"its file system does not tell extents ({error.strerror})") from error
    return tuple(joined)


def _extents(fd: int) -> Iterator[Extent]:
    begin = 0
    while True:
        request = bytearray(HEADER.pack(begin, (1 << 64) - 1 - begin, _SYNC, 0, _ROOM, 0) + bytes(_ROOM * _EXTENT.size))
        fcntl.ioctl(fd, FIEMAP, request)
        n = HEADER.unpack_from(request)[3]
        for number in range(n):
            offset, place, size, _, _, flags, *_ = _EXTENT.unpack_from(request, HEADER.size + number * _EXTENT.size)
            for flag, why in _NO_PLACE.items():
                if flags & flag:
                    raise NoPlacesError(f"bytes of it are {why}" if flag != 2 else why)
            yield Extent(offset, place, size)
            begin = offset + size
            if flags & _LAST:
                return
        if n == 0:
            return
