"""Holds ranges of files in memory until its input ends: a program of its own, of the standard library alone.

It reads one line, `{"enter": PATH, "leave": PATH, "ranges": [[FILE, BEGIN, END], …]}`, and writes one: `held N` (bytes)
or what went wrong. It is in the cgroup `enter` only while it reads the ranges: their pages count there for good, and
its own memory does not. Empty paths: it stays where it is.
"""

import ctypes
import json
import mmap
import os
import sys
from pathlib import Path
from typing import Any


class Refused(Exception):
    """The kernel does not hold a range."""


def main() -> None:
    """Hold what the first line asks for."""
    try:
        print(f"held {_hold(json.loads(sys.stdin.readline()))}", flush=True)
    except (OSError, Refused) as error:
        sys.exit(print(str(error).replace("\n", " "), flush=True))
    sys.stdin.read()


def _hold(asked: dict[str, Any]) -> int:
    maps = {path: _mapped(path) for path in {path for path, _, _ in asked["ranges"]}}
    libc, held = ctypes.CDLL(None, use_errno=True), 0
    libc.mlock.argtypes = ctypes.c_void_p, ctypes.c_size_t
    _enter(asked["enter"])
    try:
        for path, begin, end in asked["ranges"]:
            address, size = maps[path]
            if end > size:
                raise Refused(f"{path} ends before byte {end}: it was cut meanwhile")
            begin -= begin % mmap.PAGESIZE
            if libc.mlock(address + begin, end - begin):
                raise Refused(os.strerror(ctypes.get_errno()))
            held += -(-(end - begin) // mmap.PAGESIZE) * mmap.PAGESIZE
    finally:
        _enter(asked["leave"])
    return held


def _mapped(path: str) -> tuple[int, int]:
    """The address of a file in memory, and its size."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        address: int | None = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, stream.fileno(), 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise Refused(os.strerror(ctypes.get_errno()))
    return address, size


def _enter(cgroup: str) -> None:
    if cgroup:
        (Path(cgroup) / "cgroup.procs").write_text("0", encoding="ascii")


if __name__ == "__main__":
    main()
