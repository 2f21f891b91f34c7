"""What the devices of the model files did in each load and pass, and how much of each file was in memory."""

import pandas as pd

from tracegen.contract import tables as contract
from tracegen.readers.native.placement_table import file_numbers
from tracegen.readers.native.recorded import Records
from tracegen.readers.native.records import MILLISECONDS, SECTOR

_MS = 1_000_000  # ns


def device_table(records: Records) -> pd.DataFrame:
    """One row per load or pass and device."""
    rows = []
    for (of, name), device in records.devices.items():
        begin, end = device.begin, device.end
        rows.append(
            dict(
                pass_id=of.pass_id, device=name, n_reads=end.n_reads - begin.n_reads,
                read_bytes=(end.read_sectors - begin.read_sectors) * SECTOR,
                read_ns=(end.read_ms - begin.read_ms) % MILLISECONDS * _MS,
                n_writes=end.n_writes - begin.n_writes,
                written_bytes=(end.written_sectors - begin.written_sectors) * SECTOR,
                busy_ns=(end.busy_ms - begin.busy_ms) % MILLISECONDS * _MS,
                in_flight=end.in_flight, counted_ns=device.counted_ns,
            )
        )  # fmt: skip
    return contract.frame("device", sorted(rows, key=lambda row: (row["pass_id"], row["device"])))


def cache_table(records: Records, files: pd.DataFrame) -> pd.DataFrame:
    """One row per load or pass and model file; a file that no model lists is left out.

    Copies of a model file that are mapped at the same time are summed up.
    """
    numbers = file_numbers(records, files)
    rows = pd.DataFrame(
        [
            dict(
                pass_id=cache.of.pass_id, file=numbers[cache.path], cached_pages=cache.cached,
                dirty_pages=cache.dirty, evicted_pages=cache.evicted, recently_evicted_pages=cache.recently_evicted,
            )
            for cache in records.caches
            if numbers[cache.path] >= 0
        ]
    )  # fmt: skip
    if rows.empty:
        return contract.frame("cache")
    sums = rows.groupby(["pass_id", "file"], as_index=False).sum()
    return contract.frame("cache", {name: sums[name] for name in sums.columns})
