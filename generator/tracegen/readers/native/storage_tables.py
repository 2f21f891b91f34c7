"""What devices did in each load and pass, how much of each file was in memory, and what the program held."""

import pandas as pd

from tracegen.contract import tables as contract
from tracegen.readers.native.placement_table import file_numbers
from tracegen.readers.native.recorded import Records


def device_table(records: Records) -> pd.DataFrame:
    """One row per load or pass and device."""
    rows = [{"pass_id": of.pass_id, "device": name, **row} for (of, name), row in records.devices.items()]
    return contract.frame("device", sorted(rows, key=lambda row: (row["pass_id"], row["device"])))


def cache_table(records: Records, files: pd.DataFrame) -> pd.DataFrame:
    """One row per load or pass and model file; a file that no model lists is left out.

    Copies of a model file that are mapped at the same time are summed up.
    """
    numbers = file_numbers(records, files)
    rows = pd.DataFrame(
        [
            {"pass_id": of.pass_id, "file": numbers[path], **row}
            for of, path, row in records.caches
            if numbers[path] >= 0
        ]
    )
    if rows.empty:
        return contract.frame("cache")
    sums = rows.groupby(["pass_id", "file"], as_index=False).sum()
    return contract.frame("cache", {name: sums[name] for name in sums.columns})


def memory_table(records: Records) -> pd.DataFrame:
    """One row per load or pass and kind of memory."""
    held = sorted((of.pass_id, kind, size) for (of, kind), size in records.memory.items())
    return contract.frame("memory", [dict(pass_id=of, kind=kind, resident_bytes=size) for of, kind, size in held])
