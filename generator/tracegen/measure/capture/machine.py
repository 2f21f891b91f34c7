"""Tells machines apart without their names, and how large the last-level caches of their processors are."""

import hashlib
import hmac
import socket
from functools import cache
from pathlib import Path

_DIGITS = 8


@cache
def machine_id(path: Path = Path("/etc/machine-id")) -> str:
    """Eight hexadecimal digits that stay the same on this machine, and tell nothing about it.

    They are a keyed hash of systemd's machine-id, as its manual asks of programs that publish one; of the name of the
    host where there is no machine-id. Containers of one image have the same.
    """
    try:
        secret = path.read_bytes().strip()
    except OSError:
        secret = b""
    return hmac.new(secret or socket.gethostname().encode(), b"tracegen", hashlib.sha256).hexdigest()[:_DIGITS]


_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def kernel_id(path: Path = Path("/proc/sys/kernel/random/boot_id")) -> str:
    """What containers and processes on one running kernel share, and no other machine has."""
    try:
        return path.read_text().strip()
    except OSError:
        return f"host {socket.gethostname()}"


def last_level_cache_bytes(folder: Path = Path("/sys/devices/system/cpu")) -> int | None:
    """The bytes of all last-level caches, each counted once however many processors share it.

    In a virtual machine the kernel tells what the host lets it see, which may be less than there is. None where it does
    not tell of a processor's caches, or of one of them not its size or who shares it.
    """
    caches: dict[tuple[int, str], int] = {}
    processors = sorted(folder.glob("cpu[0-9]*/cache"))
    try:
        for processor in processors:
            levels = [(int(_text_of(index / "level")), index) for index in sorted(processor.glob("index[0-9]*"))]
            last, index = max(pair for pair in levels if _text_of(pair[1] / "type") != "Instruction")
            caches[last, _text_of(index / "shared_cpu_list")] = _bytes(_text_of(index / "size"))
    except (OSError, ValueError, KeyError):
        return None
    return sum(caches.values()) or None


def _text_of(path: Path) -> str:
    """What a file says; ValueError where it is empty."""
    text = path.read_text(encoding="ascii").strip()
    if not text:
        raise ValueError(f"{path} is empty")
    return text


def _bytes(size: str) -> int:
    """The number of bytes of `32768K`."""
    return int(size[:-1]) * _UNITS[size[-1]]
