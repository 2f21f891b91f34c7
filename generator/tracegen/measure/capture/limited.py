"""Limits the memory of the traced program by a cgroup (version 2) that is made for the run and removed after it.

The kernel enables controllers for the children of a cgroup only while the cgroup itself holds no process (except the
root). tracegen therefore first moves itself from its cgroup into a child of it, and back when the run is over.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture.cgroup import PROC, field_of, number_of, own_cgroup, version_1, words_of
from tracegen.measure.capture.locked import GIB, bytes_of, kib_of, plain

_PATIENCE_S = 5.0  # how long the kernel may take to remove the processes from a cgroup


@dataclass(frozen=True)
class Limited:
    """What the kernel reports about a limit; null where this kernel does not report it.

    The counts say how often the limit was reached, how often no memory could be freed then, and how many processes
    were killed for it.
    """

    asked_bytes: int
    limit_bytes: int | None
    swap_limit_bytes: int | None
    peak_bytes: int | None
    times_reached: int | None
    times_out_of_memory: int | None
    processes_killed: int | None


@dataclass(frozen=True)
class Limit:
    """A cgroup with a memory limit, for one program and all processes that it starts."""

    folder: Path
    asked_bytes: int

    def enter(self) -> None:
        """Move the calling process into the cgroup. Raises OSError."""
        (self.folder / "cgroup.procs").write_text("0")

    def read(self) -> Limited:
        """What the kernel reports now."""
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


def refuse_limit(gib: float) -> None:
    """Raise SettingsError, with what to do, when a program cannot be limited to `gib` GiB on this machine."""
    size, all_there_is = bytes_of(gib), kib_of(PROC / "meminfo", "MemTotal") * 1024
    if size >= all_there_is:
        raise SettingsError(
            f"memory_limit_gb: {plain(gib)} GiB would limit nothing, as this machine has "
            f"{plain(all_there_is / GIB)} GiB; set less"
        )
    cgroup = own_cgroup()
    if cgroup is None:
        raise SettingsError(
            "memory_limit_gb: needs cgroups of version 2, and this process is in none; boot with "
            "systemd.unified_cgroup_hierarchy=1, or in a container, ask its administrator for cgroup v2"
        )
    user = "" if os.geteuid() == 0 else "--user "
    scope = f"run tracegen in its own scope: systemd-run {user}--scope -p Delegate=yes tracegen run …"
    if "memory" not in words_of(cgroup / "cgroup.controllers"):
        if "memory" in version_1():
            scope = "cgroup v1 uses it; boot with systemd.unified_cgroup_hierarchy=1"
        raise SettingsError(f"memory_limit_gb: {cgroup}: has no memory controller; {scope}")
    for path in (cgroup, cgroup / "cgroup.procs", cgroup / "cgroup.subtree_control"):
        if not os.access(path, os.W_OK):
            raise SettingsError(f"memory_limit_gb: {path}: cannot be written; {scope}")
    other_processes = set(words_of(cgroup / "cgroup.procs")) - {str(os.getpid())}
    if "memory" not in words_of(cgroup / "cgroup.subtree_control") and other_processes:
        raise SettingsError(f"memory_limit_gb: {cgroup}: holds {len(other_processes)} other processes; {scope}")


@contextmanager
def memory_limit(gib: float | None) -> Iterator[Limit | None]:
    """During the block, a cgroup that limits memory to `gib` GiB and forbids swap; None without a limit.

    Raises SettingsError as `refuse_limit` does, EnvironmentFailure when the kernel refuses the cgroup or its removal.
    """
    if gib is None:
        yield None
        return
    refuse_limit(gib)
    cgroup = own_cgroup()
    assert cgroup is not None  # refuse_limit has checked it
    with _memory_for_children(cgroup):
        folder = _new(cgroup, "tracegen-run-")
        try:
            limit = Limit(folder, bytes_of(gib))
            _write(folder / "memory.max", str(limit.asked_bytes))
            if (folder / "memory.swap.max").exists():
                _write(folder / "memory.swap.max", "0")
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
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        raise EnvironmentFailure(
            f"memory_limit_gb: {parent}: cannot make a cgroup in it: {error.strerror}; run without memory_limit_gb"
        ) from error


def _remove(folder: Path) -> None:
    """Kill the processes left in a cgroup, and remove it. Raises EnvironmentFailure when it cannot be removed."""
    with suppress(OSError):  # Linux before 5.14 has no cgroup.kill; or the cgroup is gone
        if words_of(folder / "cgroup.procs"):
            (folder / "cgroup.kill").write_text("1")
    patience = time.monotonic() + _PATIENCE_S
    while True:
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
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFailure(
            f"memory_limit_gb: {path}: cannot write {text} to it: {error.strerror}; run without memory_limit_gb"
        ) from error
