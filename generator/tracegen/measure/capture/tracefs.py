"""An instance of the kernel's trace events (tracefs) of our own: made, read while events come, removed.

Instances of runs that were killed are removed by the next run; their names say which process made them.
"""

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, os_errors

_PREFIX = "tracegen"
_OURS = re.compile(rf"{_PREFIX}-(\d+)-(\d+)")  # number of the process, and when it began
_BUFFER_BYTES = 64 << 20  # of all processors together
_LEAST_KB = 1024  # of one processor
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432  # system calls, the same on all processors
_CLOEXEC, _CONFIG_CREATE = 1, 6  # FSOPEN_CLOEXEC and FSMOUNT_CLOEXEC, FSCONFIG_CMD_CREATE


def tracefs_folder() -> Path | None:
    """Where tracefs is mounted; None when it is not."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
            fields, _, rest = line.partition(b" - ")
            if rest.split()[:1] == [b"tracefs"]:
                root, folder = fields.split()[3:5]
                if root == b"/":
                    return Path(os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), folder)))
    return None


@contextmanager
def _tracefs() -> Iterator[Path]:
    """A folder of tracefs: where it is mounted, or else a mount that only this process has, until the block ends.

    Raises EnvironmentFailure where the kernel refuses it.
    """
    mounted = tracefs_folder()
    if mounted is not None:
        yield mounted
        return
    with os_errors(
        "tracefs is not mounted, and cannot be", advice="as root: `mount -t tracefs nodev /sys/kernel/tracing`"
    ):
        mount = _detached_mount(b"tracefs")
    try:
        yield Path(f"/proc/self/fd/{mount}")
    finally:
        os.close(mount)


def _detached_mount(kind: bytes) -> int:
    """A descriptor of a mount at no place, which goes when it is closed (Linux 5.2). Raises OSError."""
    configured = _system_call(_FSOPEN, kind, _CLOEXEC)
    try:
        _system_call(_FSCONFIG, configured, _CONFIG_CREATE, None, None, 0)
        return _system_call(_FSMOUNT, configured, _CLOEXEC, 0)
    finally:
        os.close(configured)


def _system_call(number: int, *arguments: bytes | int | None) -> int:
    kernel = ctypes.CDLL(None, use_errno=True)
    result: int = kernel.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Instance:
    """Events of the kernel, in a buffer of their own for each processor. `lost`: how many did not fit."""

    def __init__(self, folder: Path) -> None:
        """Use the instance in this folder."""
        self.folder = folder
        self.processors = sorted(int(path.name[3:]) for path in (folder / "per_cpu").glob("cpu*"))
        self._pipes: list[int] = []
        self.page_bytes = 4096

    def begin(self, events: Sequence[str], condition: str) -> None:
        """Record the events (`block/block_rq_issue`) that fulfil a condition, timed by CLOCK_MONOTONIC."""
        kb = max(_LEAST_KB, (_BUFFER_BYTES >> 10) // max(1, len(self.processors)))
        self._write("trace_clock", "mono")
        self._write("buffer_size_kb", str(kb))
        with suppress(OSError, ValueError):
            self.page_bytes = int((self.folder / "buffer_subbuf_size_kb").read_text()) << 10  # since Linux 6.8
        self._pipes = [
            os.open(self.folder / f"per_cpu/cpu{number}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            for number in self.processors
        ]
        for event in events:
            self._write(f"events/{event}/filter", condition)
            self._write(f"events/{event}/enable", "1")
        self._write("tracing_on", "1")

    def pages(self) -> Iterator[tuple[int, bytes]]:
        """The pages that came since: (processor, page of the ring buffer)."""
        for number, pipe in zip(self.processors, self._pipes, strict=True):
            while True:
                try:
                    page = os.read(pipe, self.page_bytes)
                except BlockingIOError:
                    break
                if not page:
                    break
                yield number, page

    def end(self) -> None:
        """Record no more events; those that came can still be read."""
        self._write("tracing_on", "0")

    @property
    def lost(self) -> int:
        """Events that found no room, on all processors."""
        total = 0
        for number in self.processors:
            for line in (self.folder / f"per_cpu/cpu{number}/stats").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in ("overrun", "dropped events", "commit overrun"):
                    total += int(value)
        return total

    def close(self) -> None:
        """Close the buffers."""
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = []

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)


@contextmanager
def instance() -> Iterator[Instance]:
    """An instance that is removed at the end of the block. Raises EnvironmentFailure when it cannot be made."""
    with _tracefs() as mounted:
        instances = mounted / "instances"
        _remove_orphans(instances)
        folder = instances / f"{_PREFIX}-{os.getpid()}-{_began(os.getpid())}"
        try:
            folder.mkdir()
        except OSError as error:
            raise EnvironmentFailure(
                f"{instances}: {error.strerror}: only root may record the kernel's events"
            ) from error
        recording = Instance(folder)
        try:
            yield recording
        finally:
            recording.close()
            with suppress(OSError):
                folder.rmdir()  # the next run removes it


def _remove_orphans(instances: Path) -> None:
    """Remove the instances of processes that have ended."""
    with suppress(OSError):
        for folder in instances.iterdir():
            match = _OURS.fullmatch(folder.name)
            if match and _began(int(match[1])) != int(match[2]):
                with suppress(OSError):
                    folder.rmdir()


def _began(pid: int) -> int | None:
    """When a process began, in ticks since the system did; None when there is none with this number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return int(stat.rpartition(b")")[2].split()[19])
