"""Sets the read-ahead of the device that holds the model during a run, and restores it after: also after a kill.

What it was stands in a file of the cache while it is changed. The file is locked by the process that changed it, and
the kernel releases the lock when that ends, however it ends: who finds the file unlocked restores what it says.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError, os_errors
from tracegen.storing.locks import taken
from tracegen.storing.resources import cache_folder

DEVICES = Path("/sys/class/bdi")
_FILE = "read_ahead_kb"


def refuse_read_ahead(path: Path) -> None:
    """Raise SettingsError when the read-ahead of the device below a file cannot be set here."""
    knob = _knob(_number(path))
    if not knob.exists():
        raise SettingsError(
            f"read_ahead_kib: {path}: the kernel names no device below it; put the model on a disk (ext4, XFS)"
        )
    if not os.access(knob, os.W_OK):
        raise SettingsError(f"read_ahead_kib: {knob}: cannot be written; run tracegen as root")


@contextmanager
def read_ahead(kib: int | None, path: Path) -> Iterator[None]:
    """During the block, the device below a file reads `kib` KiB ahead; None: as it is.

    Raises SettingsError as `refuse_read_ahead` does, EnvironmentFailure when another run has set it, or the kernel
    refuses.
    """
    if kib is None:
        yield
        return
    refuse_read_ahead(path)
    number = _number(path)
    knob, record = _knob(number), _records() / number.replace(":", "-")
    with os_errors(f"read_ahead_kib: {record}: cannot be written", advice="make room, or run without read_ahead_kib"):
        record.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(record, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not taken(descriptor):
            raise EnvironmentFailure(f"read_ahead_kib: another run has set it on this device ({record}); wait for it")
        _restore(descriptor, knob)
        before = knob.read_text(encoding="ascii").strip()
        os.pwrite(descriptor, before.encode(), 0)
        os.fsync(descriptor)
        try:
            _write(knob, str(kib))
            yield
        finally:
            _restore(descriptor, knob)
    finally:
        os.close(descriptor)


def restore_left(say: Callable[[str], None]) -> None:
    """Restore what runs that were killed have left changed; `say` hears of each."""
    for record in sorted(_records().glob("*-*")):
        knob = _knob(record.name.replace("-", ":"))
        with suppress(OSError):
            descriptor = os.open(record, os.O_RDWR | os.O_CLOEXEC)
            try:
                if taken(descriptor) and (before := _restore(descriptor, knob)):
                    say(f"{knob}: {before} again, as a run that was killed had left it changed")
            finally:
                os.close(descriptor)


def _records() -> Path:
    return cache_folder() / "read-ahead"


def _number(path: Path) -> str:
    device = path.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def _knob(number: str) -> Path:
    return DEVICES / number / _FILE


def _restore(descriptor: int, knob: Path) -> str:
    """Set what the record says, and empty it; returns that, empty if it said nothing."""
    before = os.pread(descriptor, 32, 0).decode("ascii", "replace")
    if before.isdigit():
        _write(knob, before)
    os.ftruncate(descriptor, 0)
    return before if before.isdigit() else ""


def _write(knob: Path, kib: str) -> None:
    with os_errors(f"read_ahead_kib: {knob}: cannot write {kib} to it", advice="run as root, or without it"):
        knob.write_text(kib, encoding="ascii")
