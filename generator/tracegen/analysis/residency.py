"""Which part of the model file was in memory after each load and pass, and what was read for it."""

import numpy as np
import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.accesses import Tables
from tracegen.analysis.heatmap import display_rows
from tracegen.analysis.passes import labels
from tracegen.analysis.pieces import bytes_in


def resident_rows(tables: Tables) -> pd.DataFrame:
    """The rows of the picture: those of the heatmap, with each load as a row of its own, in the order of the run.

    Columns: pass_id, row (0 is the top), label, n_passes of the row. The tracer records residency at the end of a
    pass: an unfinished pass has no row; a pass without pages in the table had no page of the files in memory.
    """
    ended = tables["passes"][tables["passes"]["end_ns"].notna()]
    tables = {**tables, "passes": ended}
    loads = ended.loc[ended["kind"] == "load", ["pass_id"]]
    name = labels(tables)
    shared = display_rows(tables)[["pass_id", "row", "label"]]
    load_rows = loads.assign(row=-1, label=[name[p] for p in loads["pass_id"]])
    table = pd.concat([load_rows, shared]).sort_values("pass_id", ignore_index=True, kind="stable")
    new = (table["row"] != table["row"].shift()) | (table["row"] == -1)
    table["row"] = new.cumsum() - 1
    table["n_passes"] = table.groupby("row")["pass_id"].transform("size")
    return table


def resident_cells(tables: Tables, page_bytes: int, n_bins: int) -> pd.DataFrame:
    """The share of each region of the disk axis that was in memory when a load or pass had ended.

    The axis is cut into `n_bins` regions of equal length (the last may be shorter). Columns: pass_id, bin,
    begin, end (of the region, bytes on the axis), resident_bytes. A pass after which nothing was in memory has no
    rows; any other pass has a row for every region.
    """
    runs = axis.resident(tables, page_bytes)
    names = ["pass_id", "bin", "begin", "end", "resident_bytes"]
    total = axis.length(tables)
    if total == 0 or runs.empty:
        return pd.DataFrame({name: pd.Series(dtype="int64") for name in names})
    width = -(-total // n_bins)
    bins = pd.DataFrame({"begin": np.arange(0, total, width)})
    bins["end"] = (bins["begin"] + width).clip(upper=total)
    found = bytes_in(runs, bins).set_index(["pass_id", "place"])["bytes"]
    every = pd.MultiIndex.from_product([np.unique(runs["pass_id"]), bins.index], names=names[:2])
    return found.reindex(every, fill_value=0).rename("resident_bytes").reset_index().join(bins, on="bin")[names]


def joined_shares(cells: pd.DataFrame, rows: pd.DataFrame, n_steps: int) -> pd.DataFrame:
    """Cells averaged over the passes of a row, their share rounded up to `n_steps` equal steps.

    Columns: row, step (0 … n_steps-1), begin, end; neighbours of one step are joined. A region of which nothing was
    in memory has no row.
    """
    merged = cells.merge(rows[["pass_id", "row", "n_passes"]], on="pass_id")
    mean = merged.groupby(["row", "n_passes", "bin", "begin", "end"])["resident_bytes"].sum().reset_index()
    share = mean["resident_bytes"] / mean["n_passes"] / (mean["end"] - mean["begin"])
    mean["step"] = np.minimum(np.ceil(share * n_steps), n_steps).astype("int64") - 1
    mean = mean[mean["step"] >= 0].sort_values(["row", "bin"])
    new = (mean[["row", "step"]] != mean[["row", "step"]].shift()).any(axis=1) | (mean["bin"].diff() != 1)
    joined = mean.groupby(new.cumsum()).agg(
        row=("row", "first"), step=("step", "first"), begin=("begin", "first"), end=("end", "last")
    )
    return joined.reset_index(drop=True)


def read_per_row(tables: Tables, rows: pd.DataFrame) -> pd.DataFrame:
    """Bytes that the process made the kernel read from the disk, mean over the passes of a row: row, read_bytes."""
    read = rows.merge(tables["passes"][["pass_id", "read_bytes"]].dropna(), on="pass_id")
    return read.groupby("row")["read_bytes"].mean().astype(float).reset_index()
