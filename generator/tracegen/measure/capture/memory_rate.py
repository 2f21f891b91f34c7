"""How fast this host's memory can be read: measured once, and remembered in the cache folder.

Threads add up the numbers of an array that is several times as large as the last-level caches of processors, each its
part of it, again and again; the best time counts, of those in which each thread had a processor nearly all the time. On
a busy machine there may be none: then nothing is remembered, and the next run measures. Reading is what computing with
weights asks of memory. A faster program could reach more, so that the rate is a lower bound of what memory can do.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tracegen.contract.errors import EnvironmentFailure
from tracegen.measure.capture.locked import available_bytes
from tracegen.measure.capture.machine import last_level_cache_bytes, machine_id
from tracegen.storing.remembered import kept
from tracegen.storing.resources import cache_folder

ARRAY_BYTES = 512 << 20
CACHES = 4  # times the last-level caches, that the array has at least: at most a quarter of it is in them
ROOM = 3  # times the array must be free in memory, so that measuring drives nothing out
TAKES = 5  # that count
MOST_TAKES = 30
UNDISTURBED = 0.97  # of its time, that a thread has a processor


def memory_rate(path: Path | None = None) -> dict[str, Any] | None:
    """The remembered rate of this host, or a new measurement: `{"threads": […], "bytes_per_second": […]}`.

    None where too little memory is free to measure, or the processors are busy. `path` is the file that remembers; by
    default in the cache folder.
    """
    path = cache_folder() / "memory-rate.json" if path is None else path
    n_bytes = max(ARRAY_BYTES, CACHES * (last_level_cache_bytes() or 0))
    host: dict[str, Any] = {"id": machine_id(), "cores": len(os.sched_getaffinity(0))}
    if n_bytes != ARRAY_BYTES:
        host["array_bytes"] = n_bytes
    return kept(path, host, lambda: measure(n_bytes), is_whole=_is_whole)


def _is_whole(rate: dict[str, Any]) -> bool:
    """Whether there is a rate for each number of threads."""
    threads, rates = rate["threads"], rate["bytes_per_second"]
    numbers = [*threads, *rates]
    return len(threads) == len(rates) > 0 and all(type(number) is int and number > 0 for number in numbers)


def measure(array_bytes: int = ARRAY_BYTES) -> dict[str, Any] | None:
    """Measure with 1, 2, 4, … threads and one for each processor that this process may use.

    None without room, and where other programs took the processors each time.
    """
    try:
        if available_bytes() < ROOM * array_bytes:
            return None
    except EnvironmentFailure:  # the kernel does not say
        return None
    numbers = np.arange(array_bytes // 8, dtype=np.int64)  # written, for pages of zeros are one page in memory
    n_processors = len(os.sched_getaffinity(0))
    threads = sorted({n_processors, *(1 << power for power in range(n_processors.bit_length()))})
    threads = [n for n in threads if n <= n_processors]
    rates = []
    with ThreadPoolExecutor(n_processors) as pool:
        for n in threads:
            parts = np.array_split(numbers, n)
            takes = (_take(pool, parts) for _ in range(MOST_TAKES))
            undisturbed = list(islice((seconds for seconds, share in takes if share >= UNDISTURBED), TAKES))
            if not undisturbed:
                return None
            rates.append(numbers.nbytes / min(undisturbed))
    return {"threads": threads, "bytes_per_second": [round(rate) for rate in rates]}


def _take(pool: ThreadPoolExecutor, parts: list[np.ndarray]) -> tuple[float, float]:
    """Seconds until all parts are read, and the least share of its time for which a thread had a processor."""
    begin = time.perf_counter()
    shares = list(pool.map(_read, parts))
    return time.perf_counter() - begin, min(shares)


def _read(numbers: np.ndarray) -> float:
    """Read an array; the share of the time for which this thread had a processor."""
    begin, own = time.perf_counter(), time.thread_time()
    np.add.reduce(numbers)  # NumPy gives up the interpreter's lock meanwhile
    return (time.thread_time() - own) / (time.perf_counter() - begin)
