"""What a device computes, operation by operation, by its own time stamps.

The stamp at an operation's end says that all before it has ended. Where a device runs several at once, an operation's
time is what it added to the latest end before it: together they are the time in which the device was busy.
"""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.bandwidth import weight_types

WEIGHTS = ("disk_bytes", "copied_bytes")


def timed(device_ops: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table in the order in which their devices began them, with `from_ns` and `took_ns`.

    A part's own time is from `from_ns` to its end, so that those of a device never overlap; it is 0 for one that lies
    within another.
    """
    rows = device_ops.sort_values(["device", "begin_ns", "end_ns"], kind="stable", ignore_index=True)
    ended = rows["end_ns"].groupby(rows["device"], dropna=False).cummax()
    before = ended.groupby(rows["device"], dropna=False).shift(fill_value=0)
    begins = np.minimum(np.maximum(rows["begin_ns"].to_numpy(), before.to_numpy()), rows["end_ns"].to_numpy())
    return rows.assign(from_ns=begins, took_ns=rows["end_ns"].to_numpy() - begins)


def busy_ns(device_ops: pd.DataFrame) -> pd.Series:
    """How long each device computed in each pass, ns, by pass_id and device."""
    busy: pd.Series = timed(device_ops).groupby(["pass_id", "device"])["took_ns"].sum()
    return busy


def by_kind(tables: Tables, ops: pd.DataFrame, used: pd.DataFrame, phase: str) -> pd.DataFrame:
    """The operations of devices in passes of a kind, longest first: a row for each device, operation, type of weight.

    `ops` is the result of `operations.op_rows`, `used` that of `accesses.ranges`. Columns: device, operation (as the
    label of the backend has it: several joined by + are fused), dtype (null: it reads no weight), n_ops, took_ns,
    weight_bytes (touched of model files, float64; NaN: not known), and exact (its device ran one after another).
    """
    passes = tables["passes"]
    of_kind = passes.loc[passes["kind"].eq(phase).to_numpy(bool), "pass_id"]
    rows = timed(tables["device_ops"])
    rows = rows[rows["pass_id"].isin(of_kind).to_numpy(bool)]
    own = -1 - rows["part"]  # a label that names no node is an operation of its own
    rows = rows.assign(node=rows["node"].fillna(own))
    operation = rows["label"].astype("object").map(lambda label: label.partition(" ")[0])
    n_fused = operation.map(lambda names: names.count("+")).astype("int64")
    rows = rows.astype({"node": "int64"}).assign(operation=operation, n_fused=n_fused)
    how = dict.fromkeys(("operation", "n_fused"), "first") | {"took_ns": "sum", "exact": "all"}
    kernels = rows.groupby(["device", "pass_id", "node"]).agg(how).reset_index()
    kernels["weight_bytes"], kernels["dtype"] = _weights(kernels, ops, weight_types(tables, used))
    groups = kernels.groupby(["device", "operation", "dtype"], dropna=False, sort=True)
    table = groups.agg(
        n_ops=("took_ns", "size"),
        took_ns=("took_ns", "sum"),
        weight_bytes=("weight_bytes", lambda values: values.sum(skipna=False)),
        exact=("exact", "all"),
    )
    return table.reset_index().sort_values("took_ns", ascending=False, kind="stable", ignore_index=True)


def _weights(kernels: pd.DataFrame, ops: pd.DataFrame, types: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """What each kernel touches of model files, and the type of its first weight (None: it has none).

    A kernel is its node and as many of the next nodes as were fused into it. `types`: see `bandwidth.weight_types`.
    """
    known = ops.set_index(["pass_id", "node"])[list(WEIGHTS)].sum(axis=1, skipna=False).astype("Float64")
    n_bytes, dtype = np.zeros(len(kernels)), pd.Series(None, kernels.index, "object")
    for step in range(int(kernels["n_fused"].max()) + 1 if len(kernels) else 0):
        within = (kernels["n_fused"] >= step).to_numpy(bool)
        at = pd.MultiIndex.from_arrays([kernels["pass_id"], kernels["node"] + step])
        there = known.reindex(at).to_numpy("float64", na_value=np.nan)
        n_bytes += np.where(within & at.isin(known.index), there, 0)  # a view is no operation
        dtype = dtype.where(~within | dtype.notna(), types.reindex(at).to_numpy("object"))
    return n_bytes, dtype.to_numpy("object")
