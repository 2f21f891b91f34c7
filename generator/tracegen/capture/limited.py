"""A limit to the memory of the traced program: a cgroup (v2) of its own, made for the run and removed after it.

The kernel allows controllers for the children of a cgroup only when no process is in it, the topmost aside. In a
cgroup that was delegated to us we therefore move ourselves into a child first, and back when the run is over.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tracegen.capture.cgroup import PROC, field_of, number_of, own_cgroup, version_1, words_of
from tracegen.capture.locked import GIB, bytes_of, kib_of
from tracegen.errors import EnvironmentFailure, SettingsError

_PATIENCE_S = 5.0  # until the kernel has forgotten the processes of a cgroup


@dataclass(frozen=True)
class Limited:
    """What the kernel says of a limit: bytes, and how often it was reached, missed for want of memory, and killed for.

    Null is what this kernel does not tell.
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
    """A cgroup with a limit, for one program and all that it starts."""

    folder: Path
    asked_bytes: int

    def enter(self) -> None:
        """Move the calling process into it. Raises OSError."""
        (self.folder / "cgroup.procs").write_text("0")

    def read(self) -> Limited:
        """What the kernel has counted until now."""
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
    """Raise SettingsError when a program cannot be limited to so many GiB here, with what to do."""
    size, all_there_is = bytes_of(gib), kib_of(PROC / "meminfo", "MemTotal") * 1024
    if size >= all_there_is:
        raise SettingsError(
            f"memory_limit_gb: {gib:g} GiB would limit nothing, this machine has {all_there_is / GIB:.3g} GiB; "
            "ask for less"
        )
    own = own_cgroup()
    if own is None:
        raise SettingsError(
            "memory_limit_gb: no cgroup of version 2 holds this process, and only such a one can limit memory; boot "
            "with systemd.unified_cgroup_hierarchy=1, or in a container, ask who runs it for cgroup v2"
        )
    user = "" if os.geteuid() == 0 else "--user "
    scope = f"run it in a scope of its own: systemd-run {user}--scope -p Delegate=yes tracegen run …"
    if "memory" not in words_of(own / "cgroup.controllers"):
        if "memory" in version_1():
            scope = "cgroup v1 has it: boot with systemd.unified_cgroup_hierarchy=1"
        raise SettingsError(f"memory_limit_gb: {own}: has no memory controller; {scope}")
    for path in (own, own / "cgroup.procs", own / "cgroup.subtree_control"):
        if not os.access(path, os.W_OK):
            raise SettingsError(f"memory_limit_gb: {path}: cannot be written; {scope}")
    others = set(words_of(own / "cgroup.procs")) - {str(os.getpid())}
    if "memory" not in words_of(own / "cgroup.subtree_control") and others:
        raise SettingsError(f"memory_limit_gb: {own}: holds {len(others)} other processes; {scope}")


@contextmanager
def memory_limit(gib: float | None) -> Iterator[Limit | None]:
    """A cgroup of so many GiB, without swap, while the block runs; null: nothing is done.

    Raises SettingsError as `refuse_limit`, EnvironmentFailure when the kernel refuses, or the cgroup stays behind.
    """
    if gib is None:
        yield None
        return
    refuse_limit(gib)
    own = own_cgroup()
    assert own is not None  # refuse_limit has seen it
    with _memory_for_children(own):
        folder = _new(own, "tracegen-run-")
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
def _memory_for_children(own: Path) -> Iterator[None]:
    """Allow the children of our cgroup limits of memory while the block runs, from within a child where it must be."""
    if "memory" in words_of(own / "cgroup.subtree_control"):
        yield
        return
    ours = _new(own, "tracegen-own-")
    try:
        _write(ours / "cgroup.procs", str(os.getpid()))
        _write(own / "cgroup.subtree_control", "+memory")
        yield
    finally:
        with suppress(EnvironmentFailure):  # it was never allowed, or the cgroup has gone
            _write(own / "cgroup.subtree_control", "-memory")
        _write(own / "cgroup.procs", str(os.getpid()))
        _remove(ours)


def _new(parent: Path, prefix: str) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        raise EnvironmentFailure(f"memory_limit_gb: {parent}: no cgroup can be made in it: {error.strerror}") from error


def _remove(folder: Path) -> None:
    """End what is left in a cgroup, and remove it. Raises EnvironmentFailure when it stays."""
    with suppress(OSError):  # older than Linux 5.14, or gone
        if words_of(folder / "cgroup.procs"):
            (folder / "cgroup.kill").write_text("1")
    patience = time.monotonic() + _PATIENCE_S
    while True:
        try:
            folder.rmdir()
            return
        except OSError as error:
            if time.monotonic() > patience:
                raise EnvironmentFailure(f"{folder}: cannot be removed: {error.strerror}; rmdir it") from error
            time.sleep(0.05)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFailure(f"memory_limit_gb: {path}: cannot be set to {text}: {error.strerror}") from error
