"""The memory heatmap: how many bytes of each stretch of the model file a pass touched."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables, ranges
from tracegen.analysis.passes import OUTSIDE, labels


def file_cells(
    tables: Tables, n_bins: int, pass_ids: Iterable[int] | None = None, used: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Bytes touched per pass, memory kind and stretch of the disk axis.

    The axis lays the run's files end to end and is cut into `n_bins` stretches of
    equal length (the last may be shorter). Columns: pass_id, memory, bin, begin, end
    (of the stretch, on the axis), touched_bytes. A byte that two ops touch counts twice.
    Stretches that a pass did not touch have no row. `used`: the result of `ranges`, if the caller has it already.
    """
    files = tables["files"]
    names = ["pass_id", "memory", "bin", "begin", "end", "touched_bytes"]
    total = int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0
    used = ranges(tables, pass_ids) if used is None else used
    if total == 0 or used.empty:
        return pd.DataFrame({name: pd.Series(dtype="int64") for name in names})
    width = -(-total // n_bins)
    axis = used["file"].map(files.set_index("file")["axis_begin"]).to_numpy("int64")
    begin, end = used["begin"].to_numpy() + axis, used["end"].to_numpy() + axis
    first, last = begin // width, np.maximum(end - 1, begin) // width
    count = last - first + 1
    row = np.repeat(np.arange(len(used)), count)
    place = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    share = np.minimum(end[row], (place + 1) * width) - np.maximum(begin[row], place * width)
    cells = pd.DataFrame(
        {
            "pass_id": used["pass_id"].to_numpy()[row],
            "memory": used["memory"].astype(object).to_numpy()[row],
            "bin": place,
            "touched_bytes": share,
        }
    )
    cells = cells.groupby(["pass_id", "memory", "bin"])["touched_bytes"].sum().reset_index()
    cells["begin"] = cells["bin"] * width
    cells["end"] = np.minimum(cells["begin"] + width, total)
    return cells[names]


def display_rows(tables: Tables, max_rows: int = 60) -> pd.DataFrame:
    """The row of the heatmap for each pass that evaluates a graph.

    Columns: pass_id, row (0 is the top), label, outside (load and warm-up), n_passes of the row. Every pass has a
    row for itself if there are few; else neighbouring generate passes share rows, equally many in each.
    """
    passes = tables["passes"].dropna(subset=["graph"]).sort_values("pass_id", ignore_index=True)
    name = labels(tables)
    alone = (passes["kind"] != "generate").to_numpy()
    room = max(1, max_rows - int(alone.sum()))
    per_row = max(1, -(-int((~alone).sum()) // room))
    step = np.where(alone, 0, np.cumsum(~alone) - 1) // per_row
    keys = np.stack([np.cumsum(alone), alone, step])
    begins = (np.diff(keys, prepend=-1) != 0).any(axis=0)
    table = pd.DataFrame({"pass_id": passes["pass_id"], "row": np.cumsum(begins) - 1})
    table["outside"] = passes["kind"].isin(OUTSIDE).to_numpy()
    first = [name[p] for p in table.groupby("row")["pass_id"].transform("first")]
    last = [name[p] for p in table.groupby("row")["pass_id"].transform("last")]
    table["label"] = [a if a == b else f"{a}–{b.removeprefix('token ')}" for a, b in zip(first, last, strict=True)]
    table["n_passes"] = table.groupby("row")["pass_id"].transform("size")
    return table


def row_means(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Cells averaged over the passes of their row: row, memory, bin, begin, end, touched_bytes."""
    merged = cells.merge(rows[["pass_id", "row", "n_passes"]], on="pass_id")
    keys = ["row", "memory", "bin", "begin", "end"]
    share = merged.assign(touched_bytes=merged["touched_bytes"] / merged["n_passes"])
    return share.groupby(keys)["touched_bytes"].sum().reset_index()


def joined_cells(cells: pd.DataFrame, rows: pd.DataFrame, n_steps: int) -> pd.DataFrame:
    """Cells averaged over the passes of a row, rounded to `n_steps` equal steps; neighbours of one step are joined.

    Columns: row, memory, step (0 … n_steps-1), begin, end (bytes on the disk axis), touched_bytes (mean per cell
    and pass). Step s holds the values in (s, s+1] / n_steps of the largest cell.
    """
    mean = row_means(cells, rows).rename(columns={"touched_bytes": "value"})
    if mean.empty:
        return pd.DataFrame({n: [] for n in ("row", "memory", "step", "begin", "end", "touched_bytes")})
    top = float(mean["value"].max())
    mean["step"] = np.clip(np.ceil(mean["value"] / top * n_steps).astype(int) - 1, 0, n_steps - 1)
    mean = mean.sort_values(["row", "memory", "bin"], ignore_index=True)
    same = ["row", "memory", "step"]
    change = (mean[same] != mean[same].shift()).any(axis=1) | (mean["begin"] != mean["end"].shift())
    joined = mean.groupby(change.cumsum()).agg(
        row=("row", "first"), memory=("memory", "first"), step=("step", "first"),
        begin=("begin", "min"), end=("end", "max"), touched_bytes=("value", "mean"),
    )  # fmt: skip
    return joined.reset_index(drop=True)


def bands(tables: Tables, key: str) -> pd.DataFrame:
    """Where layers or components lie on the disk axis: neighbouring tensors with equal `key` are joined.

    Columns: `key` (null where tensors have none), begin, end (bytes on the axis), n_tensors.
    """
    files = tables["files"].set_index("file")["axis_begin"]
    tensors = tables["tensors"]
    begin = tensors["offset"] + tensors["file"].map(files).fillna(0).astype("int64")
    rows = tensors.assign(begin=begin, end=begin + tensors["size_bytes"]).sort_values("begin", ignore_index=True)
    value = rows[key].astype("object").where(rows[key].notna(), None)
    shown = value.map(str)
    change = (shown != shown.shift()) | (rows["file"] != rows["file"].shift())
    grouped = rows.assign(value=value).groupby(change.cumsum())
    table = grouped.agg(begin=("begin", "min"), end=("end", "max"), n_tensors=("tensor", "size"))
    table.insert(0, key, grouped["value"].first())
    return table.reset_index(drop=True)
