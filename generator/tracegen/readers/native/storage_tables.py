"""What the devices of the model files did in each load and pass, and how much of each file was in memory."""

from collections.abc import Sequence

import pandas as pd

from tracegen.contract import tables as contract
from tracegen.readers.native.placement_table import file_numbers
from tracegen.readers.native.recorded import Pass, Records
from tracegen.readers.native.records import MILLISECONDS, SECTOR

_MS = 1_000_000  # ns


def device_table(records: Records, ordered: Sequence[Pass]) -> pd.DataFrame:
    """One row per load or pass and device. `ordered`: loads and passes by pass_id."""
    pass_ids = pass_ids_of(ordered)
    rows = []
    for (number, load, name), device in records.devices.items():
        begin, end = device.begin, device.end
        rows.append(
            dict(
                pass_id=pass_ids[number, load], device=name, n_reads=end.n_reads - begin.n_reads,
                read_bytes=(end.read_sectors - begin.read_sectors) * SECTOR,
                read_ns=(end.read_ms - begin.read_ms) % MILLISECONDS * _MS,
                n_writes=end.n_writes - begin.n_writes,
                written_bytes=(end.written_sectors - begin.written_sectors) * SECTOR,
                busy_ns=(end.busy_ms - begin.busy_ms) % MILLISECONDS * _MS,
                in_flight=end.in_flight, counted_ns=device.counted_ns,
            )
        )  # fmt: skip
    return contract.frame("device", sorted(rows, key=lambda row: (row["pass_id"], row["device"])))


def cache_table(records: Records, ordered: Sequence[Pass], files: pd.DataFrame) -> pd.DataFrame:
    """One row per load or pass and model file; a file that no model lists is left out.

    Copies of a model file that are mapped at the same time are summed up.
    """
    pass_ids, numbers = pass_ids_of(ordered), file_numbers(records, files)
    rows = pd.DataFrame(
        [
            dict(
                pass_id=pass_ids[cache.pass_number, cache.load], file=numbers[cache.path], cached_pages=cache.cached,
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


def pass_ids_of(ordered: Sequence[Pass]) -> dict[tuple[int | None, int | None], int]:
    """(number of a pass, None) or (None, number of a load) -> pass_id."""
    return {(None, p.number) if p.is_load else (p.number, None): pass_id for pass_id, p in enumerate(ordered)}
