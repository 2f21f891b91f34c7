"""A stored run whose model is written here, and the same run as it would be with another file; all in plain loops."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import gguf
import pandas as pd

from tests.builders import a_moe_run
from tests.reordered_files import Entry
from tests.site_project import stored
from tracegen.analysis import accesses, order
from tracegen.contract.model import Check


def entries_of(tables: Mapping[str, pd.DataFrame]) -> list[Entry]:
    rows = tables["tensors"].to_dict("records")
    return [(r["name"], tuple(int(r[f"ne{axis}"]) for axis in range(4)), str(r["dtype"])) for r in rows]


def stored_run(tables: dict[str, pd.DataFrame], name: str = "demo", checks: tuple[Check, ...] = ()) -> None:
    """Store the tables as the run NAME/run-003."""
    stored(Path("experiments"), replace(a_moe_run(checks=checks), experiment=name), tables)


def touched(tables: Mapping[str, pd.DataFrame]) -> list[tuple[str, int]]:
    """Name of the tensor and bytes of each access to the mapped file, in order."""
    names = tables["tensors"].set_index("tensor")["name"]
    rows = order.disk_accesses(tables, accesses.ranges(tables)).to_dict("records")
    return [(names[row["tensor"]], row["end"] - row["begin"]) for row in rows]


def relocated(tables: Mapping[str, pd.DataFrame], path: Path) -> dict[str, pd.DataFrame]:
    """The tables of the same run, had it been measured with the file at `path`."""
    offsets = {t.name: int(t.data_offset) for t in gguf.GGUFReader(path).tensors}
    tensors = tables["tensors"].copy()
    shift = tensors["name"].map(offsets) - tensors["offset"]
    shift.index = tensors["tensor"]
    tensors["offset"] = tensors["name"].map(offsets).astype("int64")
    tensors["file"] = 0
    placements = tables["placements"].copy()
    moved = placements["tensor"].map(shift)
    placements["origin_offset"] = (placements["origin_offset"] + moved).astype("Int64")
    placements.loc[placements["file"].notna(), "file"] = 0
    return {**tables, "tensors": tensors, "placements": placements}


def joined(tables: Mapping[str, pd.DataFrame], kind: str = "generate") -> list[list[tuple[int, int]]]:
    """The reads of each pass of a kind as begin and end in the file, in a plain loop over the accesses.

    An access that begins at the end of the one before, or at most 128 KiB behind it, belongs to the same read.
    """
    rows = order.disk_accesses(tables, accesses.ranges(tables)).to_dict("records")
    passes = tables["passes"]
    of_passes = []
    for pass_id in passes.loc[passes["kind"] == kind, "pass_id"]:
        reads: list[tuple[int, int]] = []
        for row in rows:
            if row["pass_id"] != pass_id:
                continue
            if reads and 0 <= row["begin"] - reads[-1][1] <= 131072:
                reads[-1] = (reads[-1][0], row["end"])
            else:
                reads.append((row["begin"], row["end"]))
        of_passes.append(reads)
    return of_passes


def reads_of(tables: Mapping[str, pd.DataFrame]) -> float:
    """Reads of a generate pass, the median."""
    return float(median(map(len, joined(tables))))
