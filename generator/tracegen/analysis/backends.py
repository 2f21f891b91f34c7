"""Splits of other backends: of which the time is that of computing them, and of which that of the hand-over alone."""

import numpy as np
import pandas as pd

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


def elsewhere_ns(splits: pd.DataFrame) -> pd.Series:
    """How long other backends computed in each pass, at most, by pass_id: from the hand-over to a known end, ns.

    Splits that were only handed over are left out. The splits of a pass run one after the other.
    """
    known = splits[_known(splits)]
    took: pd.Series = (known["end_ns"] - known["begin_ns"]).astype("int64").groupby(known["pass_id"]).sum()
    return took


def busy_ns(splits: pd.DataFrame, device_ops: pd.DataFrame, *, whole: bool = True) -> pd.DataFrame:
    """How long each other backend computed in each pass, by pass_id and backend: columns `least` and `most`, ns.

    At least while the program did nothing but wait for it, and at most from the hand-over to the known end; where it is
    not known when it had taken a split, the least is 0. Of a device whose operations have times both are what these
    took together; not `whole`, where some have none, the least is.
    """
    known = splits[_known(splits)]
    begin, end = known["begin_ns"].astype("int64"), known["end_ns"].astype("int64")
    at_once = known["proof"].eq("blocking") | (known["proof"].isna() & known["backend"].isin(_SYNCHRONOUS))
    taken = known["submitted_ns"].fillna(end).astype("int64").where(~at_once, begin)
    rows = pd.DataFrame({"least": end - taken, "most": end - begin})
    found = rows.groupby([known["pass_id"], known["backend"].astype("object")]).sum()
    stamped = device_ops_busy(device_ops).reindex(found.index)
    if whole:
        return found.apply(lambda ns: stamped.fillna(ns).astype("int64"))
    return found.assign(least=np.maximum(stamped.fillna(0).astype("int64"), found["least"]))


def _known(splits: pd.DataFrame) -> np.ndarray:
    """Of each split, whether another backend computed it, and its end is known."""
    known: np.ndarray = ~splits["by_op"].to_numpy(bool) & ~submitted(splits)
    return known
