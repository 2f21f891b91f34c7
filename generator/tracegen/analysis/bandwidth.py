"""How fast operations touch bytes, beside how fast memory can be read, and what that shows of what bounds them.

An operation's rate is the bytes that it touched (weights in the file or in copies, and buffers; read or written), over
the time in which its threads worked: in the mean over threads, without page faults of model files, without waiting for
each other. Bytes that are still in the caches of processors come faster than memory bandwidth allows.

    rate = Σ bytes / Σ (Σ over threads of (work − page faults) / number of threads)

What is shown of a kind of operation is, in this order:
- `waiting`: its threads wait, for pages or for each other, for at least `MOSTLY` of their time, and would even if all
  the time that threads of these passes waited for a processor were part of it; where only that decides, nothing is
  shown. Such time makes rates lower and never higher, so what follows holds with it, too;
- `caches`: its rate is above memory's: processors' caches serve it. That all a pass touches has room in them is not
  enough: it says where bytes come from, and not that this bounds anything;
- `memory`: the bytes that surely came from memory reach `NEAR` of memory's rate. These are the weights that a pass
  touches beyond the size of the last-level caches; the rest, and all buffers, may have lain in them;
- nothing: what bounds it is not known. A low rate does not show that computing bounds it: for that one had to know how
  fast the same kernel is when its bytes lie in a cache, and no run measures this.

`NEAR` is well above one half, because rates move between repeats and with what neighbours of the machine do: of 12 runs
of one trained model, the same operations lay six times above one half of memory's rate, and six times below. Where 70 %
are surely read from memory, memory that was measured has room for less than half as much again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.work import computed_ns
from tracegen.contract.facts import MemoryRate

MOSTLY = 0.5
NEAR = 0.7
SUMS = ("n_ops", "touched_bytes", "weight_bytes", "working_ns", "waiting_ns", "duration_ns")


@dataclass(frozen=True)
class Machine:
    """What rates are compared with; None is not known.

    `memory_rate` is in bytes per second, `cache_bytes` the size of the last-level caches. `n_passes` is how many passes
    the operations belong to, `pass_bytes` what one of these touches at most, `delayed_ns` how long threads waited for
    a processor in these passes, in the mean over threads.
    """

    memory_rate: float | None
    cache_bytes: int | None = None
    n_passes: int = 0
    pass_bytes: float | None = None
    delayed_ns: float | None = 0.0


def by_layer(tables: Tables, timed: pd.DataFrame, used: pd.DataFrame) -> pd.DataFrame:
    """Bytes and time of operations; a row for each phase, kind of operation, type of weight and layer.

    `timed` is the result of `timing.timed_ops`, `used` that of `accesses.ranges`. Columns: phase, op, dtype (of the
    weight of which the operation touched most; null without a weight), layer (null: none), and `SUMS`: weight_bytes are
    those of model files, working_ns and waiting_ns are means over threads (float64), duration_ns is wall time.
    Operations without times, or whose bytes the trace does not hold, are left out.
    """
    size = timed[["disk_bytes", "copied_bytes", "buffer_bytes"]].sum(axis=1, skipna=False)
    known = (size.notna() & timed["work_ns"].notna() & (timed["n_threads"] > 0)).to_numpy(bool, na_value=False)
    weights = timed[["disk_bytes", "copied_bytes"]].sum(axis=1, skipna=False)
    rows = timed[known].assign(touched_bytes=size[known].astype("int64"), weight_bytes=weights[known].astype("int64"))
    spans = tables["spans"]
    computed = computed_ns(spans).groupby([spans["pass_id"], spans["node"]]).sum()
    at = pd.MultiIndex.from_frame(rows[["pass_id", "node"]])
    found = computed.reindex(at).to_numpy("float64")
    threads = rows["n_threads"].to_numpy("float64")
    work, inside, after = (rows[name].to_numpy("float64") for name in ("work_ns", "barrier_ns", "wait_ns"))
    working = np.where(np.isnan(found), work, found)
    rows = rows.assign(
        working_ns=working / threads,
        waiting_ns=(work - working + inside + after) / threads,
        dtype=weight_types(tables, used).reindex(at).to_numpy(),
        n_ops=1,
    )
    keys = ["phase", "op", "dtype", "layer"]
    rows = rows.astype({"op": "object", "dtype": "object", "layer": "Int64"})
    return rows.groupby(keys, dropna=False, sort=True)[list(SUMS)].sum().reset_index()


def weight_types(tables: Tables, used: pd.DataFrame) -> pd.Series:
    """The type of the weight of which an op touched most, by pass_id and node."""
    sized = used.assign(n_bytes=used["end"] - used["begin"]).dropna(subset=["tensor"])
    most = sized.sort_values("n_bytes", ascending=False, kind="stable").drop_duplicates(["pass_id", "node"])
    types = most["tensor"].map(tables["tensors"].set_index("tensor")["dtype"].astype("object"))
    return pd.Series(types.to_numpy("object"), index=pd.MultiIndex.from_frame(most[["pass_id", "node"]]))


def summed(layers: pd.DataFrame, keys: Sequence[str], machine: Machine) -> pd.DataFrame:
    """Rows of `by_layer` summed by `keys`, longest wall time first, with bytes_per_second and bound.

    bytes_per_second is null where no thread worked; bound is `waiting`, `caches`, `memory`, or null where nothing is
    shown: also where it takes a fact of the machine that is not known.
    """
    table = layers.groupby(list(keys), dropna=False, sort=False)[list(SUMS)].sum().reset_index()
    working, waiting = (table[name].to_numpy("float64") for name in ("working_ns", "waiting_ns"))
    rate = _per_second(table["touched_bytes"].to_numpy("float64"), working)
    bound = np.full(len(table), None, dtype=object)
    if machine.memory_rate is not None and machine.cache_bytes is not None:
        from_memory = table["weight_bytes"].to_numpy("float64") - machine.n_passes * machine.cache_bytes
        bound[_per_second(from_memory, working) >= NEAR * machine.memory_rate] = "memory"
    if machine.memory_rate is not None:
        bound[rate > machine.memory_rate] = "caches"
    bound[(waiting > 0) & (waiting >= MOSTLY * (working + waiting))] = None
    if machine.delayed_ns is None:
        bound[:] = None
    else:
        surely = waiting - machine.delayed_ns
        bound[(surely > 0) & (surely >= MOSTLY * (working + surely))] = "waiting"
    table = table.assign(bytes_per_second=pd.array(rate, dtype="Float64"), bound=bound)
    return table.sort_values("duration_ns", ascending=False, ignore_index=True, kind="stable")


def _per_second(n_bytes: np.ndarray, working_ns: np.ndarray) -> np.ndarray:
    """Bytes per second of work; NaN where no thread worked."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(working_ns > 0, n_bytes / working_ns * 1e9, np.nan)


def pass_bytes(timed: pd.DataFrame, phase: str) -> float | None:
    """The most bytes that operations of one pass of a phase touched; None where an operation's are not known.

    `timed` is the result of `timing.timed_ops`. What several operations touch counts for each.
    """
    rows = timed[(timed["phase"] == phase).to_numpy(bool)]
    size = rows[["disk_bytes", "copied_bytes", "buffer_bytes"]].sum(axis=1, skipna=False)
    return None if rows.empty or size.isna().any() else float(size.groupby(rows["pass_id"]).sum().max())


def delayed_ns(passes: pd.DataFrame, n_threads: int) -> float | None:
    """How long a thread waited for a processor in these passes, in the mean over threads; None where not recorded."""
    delay = passes["run_delay_ns"]
    return None if delay.isna().any() or not n_threads else float(delay.sum()) / n_threads


def rate_of(measured: MemoryRate | None, n_threads: int) -> float | None:
    """Memory bandwidth for a number of threads: that of the most threads measured up to it; None if not measured."""
    if measured is None:
        return None
    pairs = sorted(zip(measured.threads, measured.bytes_per_second, strict=True))
    return float(next((rate for n, rate in reversed(pairs) if n <= n_threads), pairs[0][1]))
