"""Locks memory while the traced program runs, so that less is left for the program and the page cache.

This process itself locks the pages: the kernel frees them when it ends, for whatever reason.
"""

import ctypes
import math
import mmap
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.facts import Locked
from tracegen.measure.capture.cgroup import PROC, field_of, headroom_bytes, words_of

GIB = 1 << 30
MARGIN = GIB  # bytes that stay available for the program, the kernel and tracegen: the machine keeps working
_PIECE = 256 << 20  # bytes locked at a time; Ctrl-C is handled between two pieces
_CAP_IPC_LOCK = 14  # <linux/capability.h>


def bytes_of(gib: float) -> int:
    """GiB (2^30 bytes) as bytes, rounded up to whole pages."""
    return -(-round(gib * GIB) // mmap.PAGESIZE) * mmap.PAGESIZE


def refuse_lock(gib: float, needed: int = 0) -> None:
    """Raise SettingsError when `gib` GiB cannot be locked here; `needed` bytes and MARGIN must stay available."""
    size = bytes_of(gib)
    refuse_more_than_allowed("mlock_gb", size)
    free = available_bytes()
    reserve = MARGIN + needed
    if size + reserve > free:
        for_model = f", {_gib(needed)} of it for the model, which is read without mmap" if needed else ""
        most = (free - reserve) // (GIB // 10) / 10
        advice = f"set at most {most:.1f}".removesuffix(".0") if most > 0 else "end other programs first"
        raise SettingsError(
            f"mlock_gb: {_gib(size)} cannot be locked, as {_gib(free)} of memory are available and {_gib(reserve)} "
            f"must stay available{for_model}; {advice}"
        )


def refuse_more_than_allowed(setting: str, size: int) -> None:
    """Raise SettingsError when this process may not lock `size` bytes, as `setting` asks."""
    allowed = allowed_bytes()
    if allowed is not None and size > allowed:
        raise SettingsError(
            f"{setting}: {_gib(size)} cannot be locked, as you may lock {_gib(allowed)} (`ulimit -l`); raise `memlock` "
            "in /etc/security/limits.conf and log in again, or run as root"
        )


@contextmanager
def locked_memory(gib: float | None, needed: int = 0) -> Iterator[Locked | None]:
    """Keep `gib` GiB locked during the block; `needed` bytes and MARGIN stay available. None: lock nothing.

    Raises SettingsError as `refuse_lock` does, EnvironmentFailure when the kernel refuses or memory runs short.
    """
    if gib is None:
        yield None
        return
    refuse_lock(gib, needed)  # again: less may be available than when the command began
    size, before = bytes_of(gib), _own_locked()
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        pages.madvise(mmap.MADV_DONTFORK)  # the traced program must not start with a copy of these page tables
        _lock(pages, size)
        locked = _own_locked() - before
        if locked < size:
            raise EnvironmentFailure(f"mlock_gb: the kernel locked {locked} of {size} bytes; try again")
        yield Locked(size, locked, available_bytes())


def _lock(pages: mmap.mmap, size: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    view = np.frombuffer(pages, np.uint8)
    begin = view.ctypes.data
    del view  # else the mapping cannot be closed
    for at in range(0, size, _PIECE):
        length = min(_PIECE, size - at)
        if available_bytes() < MARGIN:
            raise EnvironmentFailure(
                f"mlock_gb: memory ran short after {_gib(at)} of {_gib(size)}; end other programs, or set less"
            )
        if libc.mlock(ctypes.c_void_p(begin + at), ctypes.c_size_t(length)):
            why = os.strerror(ctypes.get_errno())
            raise EnvironmentFailure(f"mlock_gb: cannot lock {_gib(size)} of memory: {why}; set less, or run as root")


def available_bytes() -> int:
    """Bytes available without swapping: the kernel's estimate, or what the cgroup leaves when that is less.

    Raises EnvironmentFailure when the kernel does not report it.
    """
    estimate, headroom = kib_of(PROC / "meminfo", "MemAvailable") * 1024, headroom_bytes()
    return estimate if headroom is None else min(estimate, headroom)


def oom_kills() -> int:
    """How many processes the kernel has killed for lack of memory since it started. Raises EnvironmentFailure."""
    return kib_of(PROC / "vmstat", "oom_kill")


def allowed_bytes() -> int | None:
    """Bytes that this process may still lock; None without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    words = words_of(PROC / "self/status")
    if "CapEff:" not in words:
        raise EnvironmentFailure(f"{PROC / 'self/status'}: lacks CapEff, which mlock_gb needs; run without it")
    capable = int(words[words.index("CapEff:") + 1], 16) >> _CAP_IPC_LOCK & 1
    if capable or limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - _own_locked())


def _own_locked() -> int:
    return kib_of(PROC / "self/status", "VmLck") * 1024


def kib_of(path: Path, name: str) -> int:
    """The number after `name` in a file below /proc; KiB if it is memory. Raises EnvironmentFailure."""
    number = field_of(path, name)
    if number is None:
        raise EnvironmentFailure(
            f"{path}: cannot be read, or lacks {name}, which mlock_gb and memory_limit_gb need; run without them"
        )
    return number


def _gib(size: int) -> str:
    return f"{plain(size / GIB)} GiB"


def plain(number: float) -> str:
    """A number with three digits, or all before the point, and never a power of ten: 1,024, 0.5, 0.000061."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    decimals = 2 - math.floor(math.log10(abs(number))) if number else 0
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
