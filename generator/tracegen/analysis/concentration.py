"""How unevenly the use of the mapped files lies on their bytes: a Lorenz curve over bytes, the hottest pieces first.

A piece is a tensor, or one expert of a tensor of stacked experts. Its use is measured in three ways:

- `touched_bytes`: bytes that operations touched; a byte counts as often as it was touched;
- `n_accesses`: operations that touched at least one byte of it;
- `work_ns`: the time of these operations over all threads. An operation that touched several pieces, such as four
  experts, gives each of them the share of its time that it has of the bytes that the operation touched.

Pieces stand in order of use per byte. The curve says which share of all use the first bytes have. The Gini coefficient
is twice the area between the curve and the diagonal: 0 if each byte is used as much, near 1 if few bytes take all.
"""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables, kernels
from tracegen.analysis.pieces import overlaps

MEASURES = ("touched_bytes", "n_accesses", "work_ns")
TARGETS = (0.5, 0.8)  # shares of the use that pages ask for


def piece_use(tables: Tables, used: pd.DataFrame, accesses: pd.DataFrame, cut: pd.DataFrame) -> pd.DataFrame:
    """The use of each piece: tensor, expert, size_bytes and `MEASURES`, in order of the file.

    `used` is the result of `accesses.ranges`, `accesses` that of `order.disk_accesses`, `cut` that of `pieces.pieces`.
    work_ns is null if the time of an operation that touched the piece was not recorded. Tensors that were touched in
    copies only are left out: operations do not read their bytes in the file.
    """
    copied = set(used.loc[(used["memory"] == "copied").to_numpy(bool), "tensor"]) - set(accesses["tensor"])
    cut = cut[~cut["tensor"].isin(copied)].reset_index(drop=True)
    row, piece, share = overlaps(accesses, cut)
    op = accesses[["pass_id", "node"]].iloc[row].assign(piece=piece, touched_bytes=share)
    parts = op.groupby(["pass_id", "node", "piece"], as_index=False)[["touched_bytes"]].sum()
    parts["kernel"] = kernels(tables, parts)
    spans = tables["spans"].groupby(["pass_id", "node"], as_index=False)[["work_ns"]].sum(min_count=1)
    parts = parts.merge(spans.rename(columns={"node": "kernel"}), on=["pass_id", "kernel"], how="left")
    of_op = parts.groupby(["pass_id", "kernel"])["touched_bytes"].transform("sum")
    parts["work_ns"] = parts["work_ns"].astype("Float64") * (parts["touched_bytes"] / of_op)
    grouped = parts.groupby("piece")
    sums = grouped.agg(touched_bytes=("touched_bytes", "sum"), n_accesses=("touched_bytes", "size"))
    sums = sums.assign(work_ns=grouped["work_ns"].sum(skipna=False)).reindex(range(len(cut)), fill_value=0)
    table = cut[["tensor", "expert"]].assign(size_bytes=cut["end"] - cut["begin"]).join(sums)
    return table.astype({"touched_bytes": "int64", "n_accesses": "int64", "work_ns": "Float64"})


def thinned(points: pd.DataFrame, most: int = 400) -> pd.DataFrame:
    """A curve with at most `most` points at equal distances along it, its ends among them."""
    if len(points) <= most:
        return points
    along = (points["file_share"] + points["use_share"]).to_numpy()
    at = np.searchsorted(along, np.linspace(0, along[-1], most))
    return points.iloc[np.unique(np.minimum(at, len(points) - 1))].reset_index(drop=True)


def curve(use: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The curve of a measure: file_share, use_share; from (0, 0) to (1, 1), the pieces with most use per byte first.

    `use` has size_bytes and the measure, as `piece_use` returns them. No rows where the measure is null for a piece, or
    nothing was used.
    """
    used = use[measure].astype("Float64")
    if used.isna().any() or not used.sum():
        return pd.DataFrame({"file_share": pd.Series(dtype="float64"), "use_share": pd.Series(dtype="float64")})
    size, amount = use["size_bytes"].to_numpy("float64"), used.to_numpy("float64")
    order = np.argsort(-amount / np.maximum(size, 1), kind="stable")
    shares = [np.concatenate(([0.0], np.cumsum(values[order]) / values.sum())) for values in (size, amount)]
    return pd.DataFrame({"file_share": shares[0], "use_share": shares[1]})


def gini(points: pd.DataFrame) -> float:
    """The Gini coefficient of a curve: twice the area between it and the diagonal."""
    x, y = points["file_share"].to_numpy(), points["use_share"].to_numpy()
    return float(((y[1:] + y[:-1]) * np.diff(x)).sum()) - 1


def file_share(points: pd.DataFrame, target: float) -> float:
    """The smallest share of the files' bytes that has `target` of the use; within a piece, use is spread evenly."""
    return float(np.interp(target, points["use_share"].to_numpy(), points["file_share"].to_numpy()))
