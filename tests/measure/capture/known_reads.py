"""Reads of a file at known places, with and without a recording of the requests that they lead to."""

import ctypes
import mmap
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.ring_pages import files_of, passes_of
from tracegen.measure.capture.extents import extents_of
from tracegen.measure.capture.requests import recorded_requests
from tracegen.readers.requests.table import read_requests

MIB = 1 << 20
PAGE = mmap.PAGESIZE
SIZE = 24 * MIB


def write_model(path: Path) -> Path:
    """A file of 24 MiB on the device, with none of its pages in memory."""
    path.write_bytes(random.Random(7).randbytes(SIZE))
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    evict(path, 0, SIZE)
    return path


def evict(path: Path, offset: int, size: int) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, offset, size, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def resident(path: Path) -> set[int]:
    """The pages of the file that are in memory, after reads that are under way have had time to end."""
    time.sleep(0.1)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size = path.stat().st_size
    states = (ctypes.c_ubyte * -(-size // PAGE))()
    with path.open("rb") as stream:
        no = ctypes.c_size_t(0)
        address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, stream.fileno(), no)
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), states) == 0
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return {number for number, state in enumerate(states) if state & 1}


def recording(raw: Path, path: Path, act: Callable[[], None]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table `requests` of what happens in `act`, and the facts of the recording."""
    with recorded_requests(raw, wanted=True) as requests:
        assert requests and requests.refused is None
        act()
        time.sleep(0.1)
    requests.locate([path])
    return read_requests(raw / "requests", passes_of(), files_of(path.stat().st_size))


def pages_of(table: pd.DataFrame, begin_ns: int, end_ns: int) -> list[int]:
    """Each page of the file that was requested within a time."""
    rows = table[(table["file"] == 0) & table["issue_ns"].between(begin_ns, end_ns)]
    spans = zip(rows["offset"].astype("int64"), rows["file_bytes"], strict=True)
    return sorted(page for offset, size in spans for page in range(offset // PAGE, (offset + size - 1) // PAGE + 1))


@contextmanager
def cold_map(path: Path) -> Iterator[mmap.mmap]:
    """A mapping whose pages are read one by one."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)
        yield mapped


def every_2_mib(path: Path) -> None:
    with cold_map(path) as mapped:
        assert sum(mapped[place] for place in range(0, SIZE, 2 * MIB)) >= 0


def in_order(path: Path) -> None:
    with path.open("rb", buffering=0) as stream:
        stream.seek(5 * MIB)
        for _ in range(32):
            stream.read(MIB // 16)


def again_after_eviction(path: Path) -> None:
    evict(path, 6 * MIB, MIB // 2)
    with cold_map(path) as mapped:
        assert sum(mapped[place] for place in range(6 * MIB, 6 * MIB + MIB // 2, PAGE)) >= 0


def direct_reads(path: Path, reads: Sequence[tuple[int, int]]) -> None:
    """Read past the page cache, one read after the other."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        for offset, size in reads:
            with mmap.mmap(-1, size) as buffer:
                assert os.preadv(descriptor, [buffer], offset) == size
    finally:
        os.close(descriptor)


def reads_within(path: Path, n: int) -> list[tuple[int, int]]:
    """Reads at random of 4, 16 and 64 KiB, each within an extent of the file."""
    extent = max(extents_of(path), key=lambda extent: extent.size_bytes)
    behind = min(extent.offset + extent.size_bytes, SIZE)
    if behind - extent.offset < 256 * 1024:
        pytest.skip("the file system gave the file no stretch of 256 KiB")
    choice = random.Random(8)
    sizes = [choice.choice((1, 4, 16)) * 4096 for _ in range(n)]
    return [(extent.offset + 4096 * choice.randrange((behind - extent.offset - size) // 4096), size) for size in sizes]
