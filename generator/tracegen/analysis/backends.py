"""Splits of other backends: of which the time is that of computing them, and of which that of the hand-over alone."""

import numpy as np
import pandas as pd

from tracegen.analysis.coverage import union
from tracegen.analysis.device_ops import busy_ns as device_ops_busy

# Where a run did not record how the end of a split is known: of other backends it is not known that they had computed.
_SYNCHRONOUS = ("CPU", "BLAS")


def submitted(splits: pd.DataFrame) -> np.ndarray:
    """Of each row of the table splits, whether its time may be that of handing it over alone, not of computing it.

    The column `proof` says so; where it is null (a run of before it was recorded), the name of the backend does.
    """
    by_op, proof = splits["by_op"].to_numpy(bool), splits["proof"]
    by_name = ~splits["backend"].isin(_SYNCHRONOUS).to_numpy(bool)
    return ~by_op & np.where(proof.isna(), by_name, proof.eq("none"))


def _waiting(splits: pd.DataFrame) -> pd.Series:
    """From when on the program only waited, Float64; null where that is not known.

    In runs of before it was recorded: from when the backend had taken what it was synchronised for, and all the time of
    a backend that computes before it returns.
    """
    proof = splits["proof"].astype("object")
    at_once = proof.eq("blocking") | (proof.isna() & splits["backend"].isin(_SYNCHRONOUS))
    before = splits["submitted_ns"].where(proof.eq("synchronise").to_numpy(bool))
    before = before.mask(at_once.to_numpy(bool), splits["begin_ns"].astype("Int64"))
    return splits["waiting_ns"].fillna(before)


def on_program(splits: pd.DataFrame) -> pd.DataFrame:
    """When the thread that runs passes handed splits to other backends, and when it waited for them.

    Columns: pass_id, split (the first that a wait was for), begin_ns, end_ns, and waiting (or else handing over). The
    intervals of a pass do not overlap. One wait may be for several splits. Where it is not known when the program only
    waited, all until the known end is waiting.
    """
    others = splits[~splits["by_op"].to_numpy(bool)]
    known, waiting = ~submitted(others), _waiting(others)
    begin, end = others["begin_ns"].astype("int64"), others["end_ns"].astype("int64")
    unrecorded = begin.where(known, end)
    taken = others["submitted_ns"].where(waiting.notna() | ~known, unrecorded).fillna(unrecorded)
    waits_from = waiting.where(known, end).fillna(begin)
    rows = pd.DataFrame({"pass_id": others["pass_id"], "split": others["split"], "begin_ns": begin, "end_ns": end})
    handed = rows.assign(end_ns=np.minimum(taken, waits_from).astype("int64"), waiting=False)
    waited = rows.assign(begin_ns=waits_from.astype("int64"), waiting=True)
    waited = waited.sort_values(["end_ns", "begin_ns"]).drop_duplicates(["pass_id", "end_ns"])
    every = pd.concat([handed, waited])
    return every[every["end_ns"] > every["begin_ns"]].sort_values(["pass_id", "begin_ns"], ignore_index=True)


def elsewhere_ns(splits: pd.DataFrame) -> pd.Series:
    """How long the program handed over to other backends, and waited for them, in each pass, by pass_id: ns.

    Splits whose end is not known are left out.
    """
    known = splits[_known(splits)]
    rows = on_program(known)
    took: pd.Series = (rows["end_ns"] - rows["begin_ns"]).groupby(rows["pass_id"]).sum()
    return took.reindex(sorted(known["pass_id"].unique()), fill_value=0).rename_axis("pass_id")


def busy_ns(splits: pd.DataFrame, device_ops: pd.DataFrame, *, whole: bool = True) -> pd.DataFrame:
    """How long each other backend computed in each pass, by pass_id and backend: columns `least` and `most`, ns.

    At least while the program did nothing but wait for it, and at most from each hand-over to the known end. Where it
    is not known when the program waited, and where it waited for the answer of a server, which comes over a network,
    the least is 0. Of a device whose operations have times both are what these took together; not `whole`, where some
    have none, the least is.
    """
    known = splits[_known(splits)]
    of = [known["pass_id"].astype("int64"), known["backend"].astype("object")]
    end = known["end_ns"].astype("int64")
    surely = _waiting(known).mask(known["proof"].eq("reply").to_numpy(bool)).fillna(end)
    ends = {"least": surely.astype("int64"), "most": known["begin_ns"].astype("int64")}
    rows = pd.DataFrame({"pass_id": of[0], "backend": of[1], "end": end, **ends})
    found = pd.DataFrame({name: _union(rows, name) for name in ends})
    stamped = device_ops_busy(device_ops).reindex(found.index)
    if whole:
        return found.apply(lambda ns: stamped.fillna(ns).astype("int64"))
    return found.assign(least=np.maximum(stamped.fillna(0).astype("int64"), found["least"]))


def _union(rows: pd.DataFrame, begin: str) -> pd.Series:
    """How long at least one of the intervals from the column `begin` to `end` goes on, ns, by pass_id and backend."""
    groups = rows.groupby(["pass_id", "backend"])
    since = rows[begin].min() if len(rows) else 0  # times of the run, not of the machine
    intervals = pd.DataFrame({"group": groups.ngroup(), "begin": rows[begin] - since, "end": rows["end"] - since})
    apart = union(intervals, "group")
    total = (apart["end"] - apart["begin"]).groupby(apart["group"]).sum()
    index = groups.size().index
    return pd.Series(total.reindex(range(len(index)), fill_value=0).to_numpy("int64"), index)


def _known(splits: pd.DataFrame) -> np.ndarray:
    """Of each split, whether another backend computed it, and its end is known."""
    known: np.ndarray = ~splits["by_op"].to_numpy(bool) & ~submitted(splits)
    return known
