"""Limits the memory of the traced program by a cgroup that is made for the run and removed after it.

In version 2 the kernel enables controllers for the children of a cgroup only while the cgroup itself holds no process
(except the root). tracegen therefore first moves itself from its cgroup into a child of it, and back when the run is
over. In version 1, which systems that mount both use for memory, a child is enough; it counts mapped files as well.
"""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError, os_errors
from tracegen.contract.facts import Limited
from tracegen.measure.capture.cgroup import PROC, field_of, number_of, own_cgroup, words_of
from tracegen.measure.capture.locked import GIB, bytes_of, kib_of, plain

# by version: the file of the limit of memory, and that of swap (version 1: of memory and swap together)
_FILES = {1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), 2: ("memory.max", "memory.swap.max")}
# Version 1 limits memory and swap together, and counts how often a limit was reached for memory alone (Linux 6.18). So
# that this is the limit that is reached, the other is larger by the most that is charged at once: a large folio.
_SWAP_SLACK = 2 << 20
_PATIENCE_S = 5.0  # how long the kernel may take to remove the processes from a cgroup


@dataclass(frozen=True)
class Limit:
    """A cgroup with a memory limit, for one program and all processes that it starts."""

    folder: Path
    asked_bytes: int
    version: int = 2

    def enter(self) -> None:
        """Move the calling process into the cgroup. Raises OSError."""
        (self.folder / "cgroup.procs").write_text("0")

    @property
    def usage(self) -> Path:
        """The kernel's file that says how much memory the program is charged with now."""
        return self.folder / ("memory.usage_in_bytes" if self.version == 1 else "memory.current")

    def read(self) -> Limited:
        """What the kernel reports now."""
        if self.version == 1:
            return self._read_1()
        events = self.folder / "memory.events"
        return Limited(
            asked_bytes=self.asked_bytes,
            limit_bytes=number_of(self.folder / "memory.max"),
            swap_limit_bytes=number_of(self.folder / "memory.swap.max"),
            peak_bytes=number_of(self.folder / "memory.peak"),
            times_reached=field_of(events, "max"),
            times_out_of_memory=field_of(events, "oom"),
            processes_killed=field_of(events, "oom_kill"),
        )

    def _read_1(self) -> Limited:
        """Version 1 counts memory and swap together, and does not say how often no memory could be freed."""
        limit = number_of(self.folder / "memory.limit_in_bytes")
        with_swap = number_of(self.folder / "memory.memsw.limit_in_bytes")
        peak = number_of(self.folder / "memory.max_usage_in_bytes")
        reached = number_of(self.folder / "memory.failcnt")
        # some kernels count nothing
        counted = reached or (peak is not None and limit is not None and peak < limit)
        return Limited(
            asked_bytes=self.asked_bytes,
            limit_bytes=limit,
            swap_limit_bytes=None if limit is None or with_swap is None else with_swap - limit,
            peak_bytes=peak,
            times_reached=reached if counted else None,
            times_out_of_memory=None,
            processes_killed=field_of(self.folder / "memory.oom_control", "oom_kill"),
        )


def refuse_limit(gib: float) -> tuple[Path, int]:
    """The cgroup whose child can limit a program to `gib` GiB, and its version.

    Raises SettingsError, with what to do, when this machine does not allow it.
    """
    size, all_there_is = bytes_of(gib), kib_of(PROC / "meminfo", "MemTotal") * 1024
    if size >= all_there_is:
        raise SettingsError(
            f"memory_limit_gb: {plain(gib)} GiB would limit nothing, as this machine has "
            f"{plain(all_there_is / GIB)} GiB; set less"
        )
    first = own_cgroup("memory")
    if first is not None:
        if not os.access(first, os.W_OK):
            raise SettingsError(
                f"memory_limit_gb: {first}: cannot be written; run tracegen as root, or boot with "
                "systemd.unified_cgroup_hierarchy=1 and run it in a scope of its own"
            )
        return first, 1
    cgroup = own_cgroup()
    if cgroup is None:
        raise SettingsError(
            "memory_limit_gb: needs cgroups, and this process is in none; in a container, ask its administrator"
        )
    user = "" if os.geteuid() == 0 else "--user "
    scope = f"run tracegen in its own scope: systemd-run {user}--scope -p Delegate=yes tracegen run …"
    if "memory" not in words_of(cgroup / "cgroup.controllers"):
        raise SettingsError(f"memory_limit_gb: {cgroup}: has no memory controller; {scope}")
    for path in (cgroup, cgroup / "cgroup.procs", cgroup / "cgroup.subtree_control"):
        if not os.access(path, os.W_OK):
            raise SettingsError(f"memory_limit_gb: {path}: cannot be written; {scope}")
    other_processes = set(words_of(cgroup / "cgroup.procs")) - {str(os.getpid())}
    is_root = not (cgroup / "cgroup.type").exists()  # the only one in which the kernel lets processes beside children
    if "memory" not in words_of(cgroup / "cgroup.subtree_control") and other_processes and not is_root:
        raise SettingsError(f"memory_limit_gb: {cgroup}: holds {len(other_processes)} other processes; {scope}")
    return cgroup, 2


@contextmanager
def memory_limit(gib: float | None, *, lifted: bool = False) -> Iterator[Limit | None]:
    """During the block, a cgroup that limits memory to `gib` GiB and forbids swap; None without a limit.

    With `lifted` the cgroup counts, and limits nothing: what would the program take? Raises SettingsError as
    `refuse_limit` does, EnvironmentFailure when the kernel refuses the cgroup or its removal.
    """
    if gib is None:
        yield None
        return
    cgroup, version = refuse_limit(gib)
    with _memory_for_children(cgroup) if version == 2 else nullcontext():
        folder = _new(cgroup, "tracegen-run-")
        try:
            limit = Limit(folder, bytes_of(gib), version)
            swap = folder / _FILES[version][1]
            if lifted:
                yield limit
                return
            _write(folder / _FILES[version][0], str(limit.asked_bytes))
            if swap.exists():
                _write(swap, "0" if version == 2 else str(limit.asked_bytes + _SWAP_SLACK))
            elif kib_of(PROC / "meminfo", "SwapTotal"):
                raise EnvironmentFailure(
                    f"memory_limit_gb: {folder}: cannot limit swap; turn swap off (swapoff -a), or boot with "
                    "swapaccount=1"
                )
            yield limit
        finally:
            _remove(folder)


@contextmanager
def _memory_for_children(cgroup: Path) -> Iterator[None]:
    """During the block, let children of `cgroup` have memory limits; moves this process into a child if needed."""
    if "memory" in words_of(cgroup / "cgroup.subtree_control"):
        yield
        return
    child = _new(cgroup, "tracegen-own-")
    try:
        _write(child / "cgroup.procs", str(os.getpid()))
        _write(cgroup / "cgroup.subtree_control", "+memory")
        yield
    finally:
        with suppress(EnvironmentFailure):  # it was not enabled, or the cgroup is gone
            _write(cgroup / "cgroup.subtree_control", "-memory")
        _write(cgroup / "cgroup.procs", str(os.getpid()))
        _remove(child)


def _new(parent: Path, prefix: str) -> Path:
    with os_errors(f"memory_limit_gb: {parent}: cannot make a cgroup in it", advice="run without memory_limit_gb"):
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))


def _remove(folder: Path) -> None:
    """Kill the processes left in a cgroup, and remove it. Raises EnvironmentFailure when it cannot be removed."""
    patience = time.monotonic() + _PATIENCE_S
    while True:
        for process in map(int, words_of(folder / "cgroup.procs")):
            if process not in (0, os.getpid()):  # 0: one that this process cannot see
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        try:
            folder.rmdir()
            return
        except OSError as error:
            if time.monotonic() > patience:
                raise EnvironmentFailure(
                    f"{folder}: this cgroup cannot be removed: {error.strerror}; remove it with rmdir"
                ) from error
            time.sleep(0.05)


def _write(path: Path, text: str) -> None:
    with os_errors(f"memory_limit_gb: {path}: cannot write {text} to it", advice="run without memory_limit_gb"):
        path.write_text(text, encoding="utf-8")
