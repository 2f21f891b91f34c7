"""How long a device takes for a read, by its size: t = L + bytes / B, fitted to what was measured on it.

L is the time of a read of no bytes (latency), B the rate at which bytes follow. The fit takes random reads, one at a
time (queue depth 1), and makes the squares of the relative errors least, so that small reads count as much as large
ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.contract.facts import Measurement

STATED_LATENCY_NS, STATED_RATE = 100_000.0, 1e9  # of an SSD behind SATA or a cloud's network, where none was measured


@dataclass(frozen=True)
class ReadTime:
    """Time of n reads of together b bytes: n · latency_ns + b / bytes_per_second.

    `r_squared` is the share of the variance of the measured times that the fit explains; None for stated values.
    """

    latency_ns: float
    bytes_per_second: float
    r_squared: float | None = None
    n_measured: int = 0

    def ns(self, reads: float, n_bytes: float) -> float:
        """The time of so many reads, one after the other, of together `n_bytes`, in ns."""
        return reads * self.latency_ns + n_bytes / self.bytes_per_second * 1e9


STATED = ReadTime(STATED_LATENCY_NS, STATED_RATE)


def fitted(measurements: Sequence[Measurement]) -> ReadTime:
    """The read time of a device from the measurements in run.json; `STATED` where they are too few or make no sense.

    Two block sizes are the least. A latency cannot be negative: it is then 0.
    """
    used = [
        (float(m.block_bytes), m.block_bytes / m.bytes_per_second * 1e9)
        for m in measurements
        if m.pattern == "random" and m.queue_depth == 1 and m.bytes_per_second > 0
    ]
    if len({size for size, _ in used}) < 2:
        return STATED
    size, time = np.array(used).T
    columns = np.column_stack([1 / time, size / time])
    latency, per_byte = np.linalg.lstsq(columns, np.ones(len(time)), rcond=None)[0]
    if latency < 0:
        latency, per_byte = 0.0, float((size / time).sum() / ((size / time) ** 2).sum())
    if per_byte <= 0:
        return STATED
    left = ((time - latency - per_byte * size) ** 2).sum()
    spread = ((time - time.mean()) ** 2).sum()
    return ReadTime(float(latency), 1e9 / float(per_byte), float(1 - left / spread) if spread else 1.0, len(used))
