"""The memory heatmap: how many bytes of each stretch of the model file a pass touched."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables, ranges


def file_cells(tables: Tables, n_bins: int, pass_ids: Iterable[int] | None = None) -> pd.DataFrame:
    """Bytes touched per pass, memory kind and stretch of the disk axis.

    The axis lays the run's files end to end and is cut into `n_bins` stretches of
    equal length (the last may be shorter). Columns: pass_id, memory, bin, begin, end
    (of the stretch, on the axis), touched_bytes. A byte used by two ops counts twice.
    Stretches that a pass did not touch have no row.
    """
    files = tables["files"]
    names = ["pass_id", "memory", "bin", "begin", "end", "touched_bytes"]
    total = int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0
    used = ranges(tables, pass_ids)
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
    cells = cells.groupby(["pass_id", "memory", "bin"], as_index=False)["touched_bytes"].sum()
    cells["begin"] = cells["bin"] * width
    cells["end"] = np.minimum(cells["begin"] + width, total)
    return cells[names]
