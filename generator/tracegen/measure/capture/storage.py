"""Facts about the device below a file, and about the kernel's settings for memory and processor."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracegen.measure.capture.cgroup import number_of, text_of
from tracegen.measure.capture.extents import FIEMAP, HEADER

SECTOR = 512  # bytes: the kernel's unit, whatever the device's sectors


def storage_of(path: Path) -> dict[str, Any]:
    """Device, file system, read-ahead, scheduler and fragments of a file; null where the system does not report it."""
    number = path.stat().st_dev
    mount = _mount(path, number)
    block = _block(number)
    queue = block / "queue" if block else None
    readahead = _number(queue, "read_ahead_kb")
    rotational = _number(queue, "rotational")
    return {
        "device": mount[0] if mount else None,
        "file_system": mount[1] if mount else None,
        "readahead_bytes": None if readahead is None else readahead * 1024,
        "rotational": None if rotational is None else bool(rotational),
        "scheduler": _chosen(_text(queue, "scheduler")),
        "fragments": fragments_of(path),
    }


def hardware_of(path: Path) -> dict[str, Any]:
    """Model of the device below a file, and its largest request in bytes; null when the system does not say."""
    block = _block(path.stat().st_dev)
    largest = _number(block / "queue", "max_sectors_kb") if block else None
    return {
        "model": _text(block / "device", "model") or None if block else None,
        "max_request_bytes": None if largest is None else largest * 1024,
    }


def kernel_settings() -> dict[str, Any]:
    """The kernel's swappiness, huge pages and frequency governor; null where the system does not report it."""
    swappiness = _text(Path("/proc/sys/vm"), "swappiness")
    return {
        "swappiness": int(swappiness) if swappiness and swappiness.isdigit() else None,
        "transparent_hugepages": _chosen(_text(Path("/sys/kernel/mm/transparent_hugepage"), "enabled")),
        "governor": _text(Path("/sys/devices/system/cpu/cpu0/cpufreq"), "scaling_governor"),
    }


def fragments_of(path: Path) -> int | None:
    """Number of extents of a file on its device (FIEMAP); null where the file system does not report it."""
    request = bytearray(HEADER.pack(0, (1 << 64) - 1, 0, 0, 0, 0))  # room for no extent: only count them
    try:
        with path.open("rb") as stream:
            fcntl.ioctl(stream.fileno(), FIEMAP, request)
    except OSError:
        return None
    return int(HEADER.unpack(request)[3])


def _mount(path: Path, device: int) -> tuple[str, str] | None:
    """(Source, type) of the mount that a file was opened through; btrfs gives its files a device number of their own.

    Where the kernel does not name that mount, the first one with this device number.
    """
    mount, name = _mount_id(path), f"{os.major(device)}:{os.minor(device)}"
    for line in (_text(Path("/proc/self"), "mountinfo") or "").splitlines():
        fields, _, rest = line.partition(" - ")
        same = fields.split()[2:3] == [name] if mount is None else fields.split()[:1] == [mount]
        if same and len(rest.split()) >= 2:
            kind, source = rest.split()[:2]
            return source, kind
    return None


def _mount_id(path: Path) -> str | None:
    """The number of a file's mount in /proc/self/mountinfo; null where the kernel does not report it."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        lines = (_text(Path("/proc/self/fdinfo"), str(fd)) or "").splitlines()
    finally:
        os.close(fd)
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), None)


def _block(device: int) -> Path | None:
    """The folder in /sys of the block device with this number; for a partition that of its disk."""
    path = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not path.exists():
        return None
    path = path.resolve()
    return path if (path / "queue").is_dir() else path.parent if (path.parent / "queue").is_dir() else None


def _text(folder: Path | None, name: str) -> str | None:
    text = text_of(folder / name) if folder else None
    return None if text is None else text.strip()


def _number(folder: Path | None, name: str) -> int | None:
    return number_of(folder / name) if folder else None


def _chosen(text: str | None) -> str | None:
    """The choice that the kernel marks with brackets: `mq-deadline kyber [none]` -> `none`."""
    words: Sequence[str] = (text or "").split()
    return next((word[1:-1] for word in words if word.startswith("[") and word.endswith("]")), text)


def written_bytes(path: Path) -> int | None:
    """Bytes that were ever written to the device below a file, by anyone; null where the system does not say it."""
    block = _block(path.stat().st_dev)
    words = (_text(block, "stat") or "").split()
    return int(words[6]) * SECTOR if len(words) > 6 and words[6].isdigit() else None
