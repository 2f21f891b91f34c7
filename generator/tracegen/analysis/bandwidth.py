"""How fast operations touch bytes, beside how fast memory can be read: what bounds them.

An operation's rate is the bytes that it touched (weights in the file or in copies, and buffers; read or written), over
the time in which its threads worked: in the mean over threads, without page faults of model files, without waiting for
each other. Bytes that are still in the caches of a processor come faster than memory can give them.

    rate = Σ bytes / Σ (Σ over threads of (work − page faults) / number of threads)

An operation is bound
- by `waiting`, if its threads wait, for pages or for each other, for at least `MOSTLY` of their time;
- else by `memory`, if its rate is at least `MOSTLY` of what memory can be read with by as many threads;
- else by `computing`: threads work, and memory could give more;
- by nothing that is known, if its rate is more than `BEYOND` times that of memory: its bytes came out of processors'
  caches, or something slowed memory down while it was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables

MOSTLY = 0.5
BEYOND = 1.2
SUMS = ("n_ops", "touched_bytes", "working_ns", "waiting_ns", "duration_ns")


def by_layer(tables: Tables, timed: pd.DataFrame, used: pd.DataFrame) -> pd.DataFrame:
    """Bytes and time of operations; a row for each phase, kind of operation, type of weight and layer.

    `timed` is the result of `timing.timed_ops`, `used` that of `accesses.ranges`. Columns: phase, op, dtype (of the
    weight of which the operation touched most; null without a weight), layer (null: none), and `SUMS`: working_ns and
    waiting_ns are means over threads (float64), duration_ns is wall time. Operations without times, or whose bytes the
    trace does not hold, are left out.
    """
    size = timed[["disk_bytes", "copied_bytes", "buffer_bytes"]].sum(axis=1, skipna=False)
    known = (size.notna() & timed["work_ns"].notna() & (timed["n_threads"] > 0)).to_numpy(bool, na_value=False)
    rows = timed[known].assign(touched_bytes=size[known].astype("int64"))
    spans = tables["spans"]
    faults = spans.assign(fault_ns=spans["fault_ns"].fillna(0)).groupby(["pass_id", "node"])["fault_ns"].sum()
    at = pd.MultiIndex.from_frame(rows[["pass_id", "node"]])
    fault = faults.reindex(at).fillna(0).to_numpy("float64")
    threads = rows["n_threads"].to_numpy("float64")
    work, inside, after = (rows[name].to_numpy("float64") for name in ("work_ns", "barrier_ns", "wait_ns"))
    rows = rows.assign(
        working_ns=(work - fault) / threads,
        waiting_ns=(fault + inside + after) / threads,
        dtype=_weight_types(tables, used).reindex(at).to_numpy(),
        n_ops=1,
    )
    keys = ["phase", "op", "dtype", "layer"]
    rows = rows.astype({"op": "object", "dtype": "object", "layer": "Int64"})
    return rows.groupby(keys, dropna=False, sort=True)[list(SUMS)].sum().reset_index()


def _weight_types(tables: Tables, used: pd.DataFrame) -> pd.Series:
    """The type of the weight of which an op touched most, by pass_id and node."""
    sized = used.assign(n_bytes=used["end"] - used["begin"]).dropna(subset=["tensor"])
    most = sized.sort_values("n_bytes", ascending=False, kind="stable").drop_duplicates(["pass_id", "node"])
    types = most["tensor"].map(tables["tensors"].set_index("tensor")["dtype"].astype("object"))
    return pd.Series(types.to_numpy("object"), index=pd.MultiIndex.from_frame(most[["pass_id", "node"]]))


def summed(layers: pd.DataFrame, keys: Sequence[str], memory_rate: float | None) -> pd.DataFrame:
    """Rows of `by_layer` summed by `keys`, longest wall time first, with bytes_per_second and bound.

    bytes_per_second is null where no thread worked; bound is null where `memory_rate` (bytes per second) is not known
    or far exceeded, unless it is `waiting`.
    """
    table = layers.groupby(list(keys), dropna=False, sort=False)[list(SUMS)].sum().reset_index()
    working, waiting = (table[name].to_numpy("float64") for name in ("working_ns", "waiting_ns"))
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(working > 0, table["touched_bytes"].to_numpy("float64") / working * 1e9, np.nan)
    near = rate >= MOSTLY * (memory_rate or np.inf)
    bound = np.where(near, "memory", "computing").astype(object)
    bound[(working <= 0) | (memory_rate is None) | (rate > BEYOND * (memory_rate or np.inf))] = None
    bound[(waiting > 0) & (waiting >= MOSTLY * (working + waiting))] = "waiting"
    table = table.assign(bytes_per_second=pd.array(rate, dtype="Float64"), bound=bound)
    return table.sort_values("duration_ns", ascending=False, ignore_index=True, kind="stable")


def rate_of(measured: Mapping[str, Sequence[int]] | None, n_threads: int) -> float | None:
    """The rate of memory for a number of threads: that of the most threads measured up to it; None if not measured.

    `measured` is what run.json keeps as host.memory_rate.
    """
    if not measured:
        return None
    pairs = sorted(zip(measured["threads"], measured["bytes_per_second"], strict=True))
    return float(next((rate for n, rate in reversed(pairs) if n <= n_threads), pairs[0][1]))
