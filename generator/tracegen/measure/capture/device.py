"""What the device under a file can read: 13 short measurements on the file itself, past the page cache.

The file is opened for reading only. A measurement reads no block twice, and draws its offsets again, so that a cache
inside the device helps as little as possible.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np

from tracegen.contract.errors import os_errors
from tracegen.contract.facts import Device, Measurement, ProgramLimit, Skipped
from tracegen.contract.text import visible
from tracegen.measure.capture.direct_reads import (
    LEAST_BLOCK,
    Reads,
    bytes_from_devices,
    measurable_size,
    open_direct,
    read_blocks,
    refuse_memory,
    refuse_uncounted,
)
from tracegen.measure.capture.storage import hardware_of, storage_of
from tracegen.storing.progress import Progress

Pattern = Literal["random", "sequential"]
DEPTHS = (1, 4, 16)
# Small blocks first: some virtual disks slow down after the first GiB or so. Sequential last: it reads most.
SHAPES: tuple[tuple[Pattern, int, int], ...] = (
    *(("random", kib << 10, depth) for kib in (4, 16, 128, 2048) for depth in DEPTHS),
    ("sequential", 2 << 20, 4),
)
LEAST_SHARE = 0.9  # of the bytes read that must come from a device: the rest may be holes
READS_PER_SECOND = 500_000  # offsets drawn for each second: more than threads of Python can read
LIMIT_TRIALS = 3  # slots of which the best is the limit of the program
PERCENTILE_READS = 100  # with fewer reads the 99th percentile is the slowest of them


def measure_device(path: Path, seconds: float, progress: Progress) -> Device:
    """Measure within `seconds` what can be read from the device under a file.

    Each measurement gets an equal share of the time that is left. Only reads that began in time may end later. Raises
    SettingsError when the file is too small or has holes; EnvironmentFailure when it cannot be read, or direct reads
    are refused, come from memory, or fail.
    """
    fd = open_direct(path)
    try:
        with os_errors(f"{path}: cannot be read", advice="try again; the kernel's log may say why"):
            size = measurable_size(fd, path)
            facts = {**hardware_of(path), **storage_of(path)}
            progress.step(f"reading {visible(path.name)}")
            with suppress(OSError):  # file systems that are only read have no fsync
                os.fsync(fd)  # bytes that are not on the device yet would be written while they are read
            begin = time.monotonic_ns()
            refuse_memory(fd, path)
            counted = bytes_from_devices()
            limits = _program_limits(int(seconds * 1e9 / 1000))
            measurements, skipped = _measure_shapes(fd, size, begin + int(seconds * 1e9), progress)
            duration_ns = time.monotonic_ns() - begin
            n_bytes = sum(each.read_bytes or 0 for each in measurements)
            refuse_uncounted(path, counted, int(n_bytes * LEAST_SHARE))
    finally:
        progress.done()
        os.close(fd)
    return Device(
        file=str(path),
        file_bytes=size,
        **facts,
        duration_ns=duration_ns,
        measurements=measurements,
        skipped=skipped,
        program_limits=limits,
    )


def _program_limits(slot_ns: int) -> tuple[ProgramLimit, ...]:
    """The limit of the program at each queue depth; empty when /dev/zero cannot be opened.

    It is the best of three slots: other programs make it only worse.
    """
    try:
        fd = os.open("/dev/zero", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ()
    limits = []
    try:
        offsets = [0] * (max(DEPTHS) + slot_ns // 100)  # more than are read: a read takes longer than 100 ns
        for depth in DEPTHS:
            trials = [read_blocks(fd, offsets, LEAST_BLOCK, depth, slot_ns) for _ in range(LIMIT_TRIALS)]
            rates = [len(reads.latencies_ns) * 1e9 / reads.duration_ns for reads in trials]
            medians = [_percentile(reads.latencies_ns, 50) for reads in trials]
            limits.append(ProgramLimit(depth, max(rates), min(medians)))
    finally:
        os.close(fd)
    return tuple(limits)


def _measure_shapes(
    fd: int, size: int, last_ns: int, progress: Progress
) -> tuple[tuple[Measurement, ...], tuple[Skipped, ...]]:
    """Measure until `last_ns` (monotonic clock) each shape that the file is large enough for; name the others."""
    random = np.random.default_rng()
    fitting = [shape for shape in SHAPES if size // shape[1] >= shape[2]]
    measurements = []
    for number, (pattern, block_bytes, depth) in enumerate(fitting):
        slot_ns = max(0, last_ns - time.monotonic_ns()) // (len(fitting) - number)
        n_offsets = depth + slot_ns * READS_PER_SECOND // 1_000_000_000
        blocks = _draw_blocks(pattern, size // block_bytes, n_offsets, random)
        reads = read_blocks(fd, (blocks * block_bytes).tolist(), block_bytes, depth, slot_ns)
        measurements.append(_summary(pattern, block_bytes, depth, reads))
        progress.update(number + 1, len(fitting), "measurements")
    skipped = [
        Skipped(
            pattern, block_bytes, depth, f"the file holds {size // block_bytes} of the {depth} blocks that are needed"
        )
        for pattern, block_bytes, depth in SHAPES
        if (pattern, block_bytes, depth) not in fitting
    ]
    return tuple(measurements), tuple(skipped)


def _draw_blocks(pattern: Pattern, n_blocks: int, n_offsets: int, random: np.random.Generator) -> np.ndarray:
    """Numbers of whole blocks, none twice: drawn one by one, or in order from a drawn one.

    The order goes on at the first block after the last.
    """
    n = min(n_blocks, n_offsets)
    if pattern == "random":
        return random.choice(n_blocks, n, replace=False)
    return np.asarray((int(random.integers(n_blocks)) + np.arange(n)) % n_blocks)


def _summary(pattern: Pattern, block_bytes: int, depth: int, reads: Reads) -> Measurement:
    n, latencies = len(reads.latencies_ns), reads.latencies_ns
    return Measurement(
        pattern=pattern,
        block_bytes=block_bytes,
        queue_depth=depth,
        reads=n,
        read_bytes=n * block_bytes,
        duration_ns=reads.duration_ns,
        bytes_per_second=n * block_bytes * 1e9 / reads.duration_ns,
        reads_per_second=n * 1e9 / reads.duration_ns,
        latency_median_ns=_percentile(latencies, 50),
        latency_p99_ns=_percentile(latencies, 99) if n >= PERCENTILE_READS else None,
    )


def _percentile(latencies_ns: np.ndarray, percent: int) -> int:
    """The smallest latency that at least `percent` of all latencies do not exceed."""
    return int(np.percentile(latencies_ns, percent, method="inverted_cdf"))
