"""Reads that go past the page cache (O_DIRECT): a given number of them at a time, each timed."""

import errno
import mmap
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tracegen.contract.errors import EnvironmentFailure


@dataclass(frozen=True)
class Reads:
    """Time from the begin of the first read to the end of the last, and the latency of each read."""

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

        Returns begin and end of the reads and their latencies, in ns. Raises OSError.
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
