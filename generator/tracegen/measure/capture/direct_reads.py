"""Reads that go past the page cache (O_DIRECT): a given number of them at a time, each timed; and files for them."""

import errno
import mmap
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture.storage import storage_of


@dataclass(frozen=True)
class Reads:
    """Time from the start of the first read to the end of the last, and the latency of each read."""

    duration_ns: int
    latencies_ns: np.ndarray  # int64, one for each read, in no order


class _Reader:
    """One thread with a buffer of its own. It has one read under way at a time."""

    def __init__(self, fd: int, block_bytes: int) -> None:
        """Allocate the buffer. O_DIRECT needs aligned memory; an anonymous mapping begins at a page.

        All of it is written once: btrfs reads through the page cache into memory that nobody has touched.
        """
        self._fd, self._block_bytes = fd, block_bytes
        self._buffer = mmap.mmap(-1, block_bytes)
        self._buffer.write(bytes(block_bytes))

    def read(
        self, offsets: Iterable[int], slot_ns: int, start: threading.Barrier, stop: threading.Event
    ) -> tuple[int, int, list[int]]:
        """Read until the slot is over, the offsets are used up, or `stop` is set.

        Returns start and end of the reads and their latencies, in ns. Raises OSError.
        """
        fd, buffers, block_bytes = self._fd, [self._buffer], self._block_bytes
        clock, read, latencies = time.monotonic_ns, os.preadv, list[int]()
        start.wait()
        begin = end = clock()
        last = begin + slot_ns
        for offset in offsets:
            called = clock()
            n_bytes = read(fd, buffers, offset)
            end = clock()
            if n_bytes != block_bytes:
                raise OSError(errno.ENODATA, f"it ends at byte {offset + n_bytes}: it was cut meanwhile")
            latencies.append(end - called)
            if end >= last or stop.is_set():
                break
        return begin, end, latencies


def read_blocks(fd: int, offsets: Sequence[int], block_bytes: int, queue_depth: int, slot_ns: int) -> Reads:
    """Read blocks in the order of `offsets` with `queue_depth` threads, until `slot_ns` are over or all are read.

    `offsets` are in bytes, multiples of the block, and at least as many as threads: each thread reads a block or more.
    Raises OSError when a read fails or returns less than a block, EnvironmentFailure when a thread cannot be started.
    """
    readers = [_Reader(fd, block_bytes) for _ in range(queue_depth)]
    start, stop = threading.Barrier(queue_depth), threading.Event()
    shared = iter(offsets[queue_depth:])  # whichever thread is free takes the next
    with ThreadPoolExecutor(queue_depth) as pool:
        try:
            futures = [
                pool.submit(reader.read, chain([first], shared), slot_ns, start, stop)
                for reader, first in zip(readers, offsets, strict=False)
            ]
            results = [future.result() for future in futures]
        except BaseException as error:  # Ctrl-C too: the threads would go on until the slot is over
            stop.set()
            start.abort()
            if isinstance(error, RuntimeError):
                raise EnvironmentFailure(
                    f"{queue_depth} threads cannot be started: {error}; raise the limit of processes (ulimit -u)"
                ) from error
            raise
    begins, ends, latencies = zip(*results, strict=True)
    return Reads(max(ends) - min(begins), np.concatenate([np.array(each, np.int64) for each in latencies]))


LEAST_BLOCK = 4096
HOLES_SHARE = 0.01  # of a file that may be holes: reads of them cost nothing


def open_direct(path: Path) -> int:
    """Open a file for direct reads. Raises EnvironmentFailure when it cannot be read, or O_DIRECT is refused."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise _refused(path) from error
        raise EnvironmentFailure(f"{path}: cannot be read: {error.strerror or error}") from error


def _refused(path: Path) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"{path}: the file system ({_kind(path)}) refuses direct reads (O_DIRECT), without which the page cache would "
        "be measured; put the file on a disk"
    )


def _kind(path: Path) -> str:
    return storage_of(path)["file_system"] or "of no known kind"


def measurable_size(fd: int, path: Path) -> int:
    """The size of a file in bytes. Raises SettingsError when it is too small or has holes."""
    size = os.fstat(fd).st_size
    if size < LEAST_BLOCK:
        raise SettingsError(f"{path}: has {size} bytes, fewer than the {LEAST_BLOCK} of the smallest read")
    if _hole_bytes(fd, size) > HOLES_SHARE * size:
        raise SettingsError(
            f"{path}: more than {HOLES_SHARE:.0%} of it was never written (holes), and reads of holes do not reach the "
            "device"
        )
    return size


def _hole_bytes(fd: int, size: int) -> int:
    """Bytes of a file that lie in holes; stops above what is allowed. 0 when the file system does not say."""
    at = n_bytes = 0
    while at < size and n_bytes <= HOLES_SHARE * size:
        try:
            data = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: only a hole follows
                return n_bytes
            data = size
        n_bytes += data - at
        at = os.lseek(fd, data, os.SEEK_HOLE) if data < size else size
    return n_bytes


def bytes_from_devices() -> int | None:
    """Bytes that this process has read from devices, as the kernel counts them; null when it does not count."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        return int(dict(line.split(": ", 1) for line in lines)["read_bytes"])
    except (OSError, ValueError, KeyError):
        return None


def refuse_memory(fd: int, path: Path) -> None:
    """Read a block twice. Raises EnvironmentFailure when the kernel does not count the second read as one of a device.

    tmpfs accepts O_DIRECT and reads from memory. Other file systems read through the page cache where they compress or
    encrypt: the first read then brings the block into memory, and the second comes from there.
    """
    offset = _first_written(fd)
    try:
        read_blocks(fd, [offset], LEAST_BLOCK, 1, 0)
        counted = bytes_from_devices()
        read_blocks(fd, [offset], LEAST_BLOCK, 1, 0)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise _refused(path) from error
        raise
    refuse_uncounted(path, counted, LEAST_BLOCK)


def _first_written(fd: int) -> int:
    """Offset in bytes of the first block that is not all hole; 0 when the file system does not say."""
    try:
        data = os.lseek(fd, 0, os.SEEK_DATA)
    except OSError:
        return 0
    return data // LEAST_BLOCK * LEAST_BLOCK


def refuse_uncounted(path: Path, counted: int | None, n_bytes: int) -> None:
    """Raise EnvironmentFailure when fewer than `n_bytes` came from devices since the kernel's count was `counted`."""
    now = bytes_from_devices()
    if counted is not None and now is not None and now - counted < n_bytes:
        raise EnvironmentFailure(
            f"{path}: the file system ({_kind(path)}) serves direct reads (O_DIRECT) from memory: the kernel counts "
            f"{now - counted} of {n_bytes} bytes as read from a device; put the file on a disk, not compressed"
        )
