"""On which NUMA node memory lay when that was last looked at: of each tensor, and of each kind of memory."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.buffers import buffer_groups
from tracegen.analysis.pieces import overlaps

MODEL = "model file"


def last(tables: Tables) -> pd.DataFrame:
    """The rows of the table `nodes` of the last load or pass after which it was looked."""
    rows = tables["nodes"]
    return rows[rows["pass_id"].eq(rows["pass_id"].max()).to_numpy(bool)]


def by_tensor(tables: Tables) -> pd.DataFrame:
    """Resident bytes of each tensor on each node at last: tensor, node, resident_bytes.

    A stretch of which a tensor has a part counts for it with this part. Copied weights lie in buffers.
    """
    rows, placed = last(tables), _places(tables)
    buffer, file = rows["buffer_id"].fillna(0).to_numpy("int64"), rows["file"].fillna(-1).to_numpy("int64")
    held_in = np.where(file < 0, -1 - buffer, file)
    found = []
    for key in np.unique(held_in):
        of = rows[held_in == key]
        there = placed[placed["key"].to_numpy() == key].sort_values("begin", kind="stable")
        stretch = pd.DataFrame({"begin": of["offset"], "end": of["offset"] + of["size_bytes"]})
        row, place, size = overlaps(stretch, there)
        share = size / of["size_bytes"].to_numpy(float)[row]
        tensor, node = there["tensor"].to_numpy("int64")[place], of["node"].to_numpy("int64")[row]
        held = of["resident_bytes"].to_numpy(float)[row] * share
        found.append(pd.DataFrame({"tensor": tensor, "node": node, "resident_bytes": held}))
    if not found:
        return pd.DataFrame({"tensor": [], "node": [], "resident_bytes": []}).astype("int64")
    sums = pd.concat(found).groupby(["tensor", "node"])["resident_bytes"].sum()
    return sums.round().astype("int64").reset_index()


def _places(tables: Tables) -> pd.DataFrame:
    """Where tensors lie: key (the file, or -1 less the buffer), begin, end, tensor."""
    tensors = tables["tensors"]
    mapped = pd.DataFrame(
        {
            "key": tensors["file"].astype("int64"),
            "begin": tensors["offset"],
            "end": tensors["offset"] + tensors["size_bytes"],
            "tensor": tensors["tensor"],
        }
    )
    held = tables["placements"].dropna(subset=["tensor", "buffer_id", "buffer_offset", "size_bytes"])
    held = held[held["memory"].eq("copied").to_numpy(bool)].drop_duplicates("tensor")
    copied = pd.DataFrame(
        {
            "key": -1 - held["buffer_id"].astype("int64"),
            "begin": held["buffer_offset"].astype("int64"),
            "end": (held["buffer_offset"] + held["size_bytes"]).astype("int64"),
            "tensor": held["tensor"].astype("int64"),
        }
    )
    return pd.concat([mapped, copied], ignore_index=True)


def by_kind(tables: Tables) -> pd.DataFrame:
    """Bytes of the model file and of each group of buffers on each node at last: kind, node, resident_bytes."""
    rows = last(tables)
    kind = rows["buffer_id"].map(buffer_groups(tables)).astype("object")
    kind = kind.mask(rows["buffer_id"].notna().to_numpy(bool) & kind.isna(), "other").where(rows["file"].isna(), MODEL)
    return rows.groupby([kind.rename("kind"), "node"])["resident_bytes"].sum().reset_index()


def by_node(tables: Tables) -> dict[int, int]:
    """Resident bytes of model files and buffers at last, by node; those with most first."""
    sums = last(tables).groupby("node")["resident_bytes"].sum().sort_values(ascending=False, kind="stable")
    return dict(zip(map(int, sums.index), map(int, sums), strict=True))
