"""What this machine lets tracegen record and set, each tried, and what to do for more."""

import ctypes
import os
import platform
import shutil
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.quantities import size
from tracegen.measure.capture import limited, locked, requests
from tracegen.measure.capture.attach import comes_compiled
from tracegen.measure.capture.cgroup import PROC, text_of
from tracegen.measure.capture.llama_cpp import pinned_build
from tracegen.storing.resources import cache_folder

State = Literal["yes", "in part", "no"]
COMPILERS = ("cc", "gcc", "clang")
BUILD_BYTES = 2 << 30  # what llama.cpp's source and build take
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_SOFTWARE, _PAGE_FAULTS, _SIZE, _EXCLUDE_KERNEL = 1, 2, 64, 1 << 5


@dataclass(frozen=True)
class Finding:
    """What can be recorded or set: whether it can be here, what was found, and what to do where it cannot."""

    what: str
    state: State
    found: str
    advice: str = ""


def findings() -> Iterator[Finding]:
    """All findings, in the order in which a newcomer needs them."""
    yield _system()
    yield _compiler()
    yield _hooks()
    for tried in (_faults, _footprint, _requests, _limit, _lock, _read_ahead):
        yield tried()
    yield _room()


def _system() -> Finding:
    what = "traces of programs (run, exec)"
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform != "linux":
        return Finding(what, "no", machine, "the tracer uses calls of Linux; pages, imports and exports work anywhere")
    if platform.machine() != "x86_64":
        return Finding(what, "in part", machine, "the tests run on x86-64, and emulated on aarch64")
    return Finding(what, "yes", machine)


def _compiler() -> Finding:
    what = "any program with llama.cpp in shared libraries (exec --attach)"
    found = "it came with this wheel" if comes_compiled() else next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        return Finding(what, "no", "no C compiler", "on Debian: apt install gcc; or install a wheel with the library")
    if set(" :") & set(str(cache_folder())):
        advice = "set XDG_CACHE_HOME to a path without space and colon"
        return Finding(what, "no", f"{cache_folder()} cannot be preloaded from", advice)
    return Finding(what, "yes", found)


def _hooks() -> Finding:
    what = "llama.cpp with the hooks (run; exec)"
    build = pinned_build()
    if os.access(build.programs / "llama-completion", os.X_OK):
        return Finding(what, "yes", f"llama.cpp {build.version} is built")
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return Finding(what, "no", "no C++ compiler", "on Debian: apt install g++")
    return Finding(
        what, "yes", f"llama.cpp {build.version} is not built yet", "`tracegen llama-cpp build` takes minutes"
    )


def _faults() -> Finding:
    what = "page faults by thread, and waiting for a processor"
    error = _perf_error()
    if not error:
        return Finding(what, "yes", "perf_event_open works")
    level = (text_of(PROC / "sys/kernel/perf_event_paranoid") or "").strip() or "not known"
    found = f"perf_event_open: {os.strerror(error)} (kernel.perf_event_paranoid is {level})"
    allow = "an administrator can allow it: `sysctl kernel.perf_event_paranoid=2`; a container may forbid it by itself"
    return Finding(what, "no", found, allow)


def _perf_error() -> int:
    """The error number of the call that records page faults; 0 where it works."""
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return 38  # ENOSYS
    attributes = struct.pack("<IIQQQQQ", _SOFTWARE, _SIZE, _PAGE_FAULTS, 0, 0, 0, _EXCLUDE_KERNEL).ljust(_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attributes, 0, -1, -1, 8)  # PERF_FLAG_FD_CLOEXEC
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def _footprint() -> Finding:
    what = "what fills the memory"
    unread = [name for name in ("smaps", "pagemap") if not _readable(PROC / "self" / name)]
    if unread:
        return Finding(what, "no", f"{', '.join(str(PROC / 'self' / name) for name in unread)} cannot be read")
    return Finding(what, "yes", "/proc/self/smaps and pagemap can be read")


def _readable(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return len(file.read(8)) > 0
    return False


def _requests() -> Finding:
    what = "requests of disks (disk = true)"
    if why := requests.why_refused():
        return Finding(what, "no", why, "run tracegen as root")
    return Finding(what, "yes", "the kernel's block events can be recorded")


def _limit() -> Finding:
    what = "a limit of memory (memory_limit_gb)"
    try:
        _, version = limited.refuse_limit(0.1)
    except (SettingsError, EnvironmentFailure) as error:
        found, _, advice = str(error).removeprefix("memory_limit_gb: ").partition("; ")
        return Finding(what, "no", found, advice)
    return Finding(what, "yes", f"cgroup version {version}")


def _lock() -> Finding:
    what = "memory that other programs lack (mlock_gb)"
    try:
        allowed = locked.allowed_bytes()
    except EnvironmentFailure as error:
        return Finding(what, "no", str(error))
    if allowed is None:
        return Finding(what, "yes", "no limit of locked memory")
    advice = "raise it as root: `ulimit -l unlimited`, or run tracegen as root"
    return Finding(what, "in part" if allowed else "no", f"at most {size(allowed)} may be locked", advice)


def _read_ahead() -> Finding:
    what = "read-ahead of the disk (read_ahead_kib)"
    knobs = sorted(Path("/sys/block").glob("*/queue/read_ahead_kb"))
    if not knobs:
        return Finding(what, "no", "no disk is seen here")
    if not all(os.access(knob, os.W_OK) for knob in knobs):
        return Finding(what, "no", f"{knobs[0]} cannot be written", "run tracegen as root")
    return Finding(what, "yes", "can be set")


def _room() -> Finding:
    what = "room for builds and traces"
    folder = next(path for path in (cache_folder(), *cache_folder().parents) if os.access(path, os.F_OK))
    free = shutil.disk_usage(folder).free
    state: State = "yes" if free >= BUILD_BYTES else "in part"
    advice = "" if state == "yes" else f"llama.cpp and its build take {size(BUILD_BYTES)}; set XDG_CACHE_HOME"
    return Finding(what, state, f"{size(free)} free in the cache folder", advice)
