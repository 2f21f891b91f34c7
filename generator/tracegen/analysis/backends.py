"""Splits of other backends: of which the time is that of computing them, and of which that of the hand-over alone."""

import numpy as np
import pandas as pd

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
    """How long other backends computed in each pass, by pass_id: from the hand-over of a split to its known end, ns.

    Splits that were only handed over are left out. The splits of a pass run one after the other.
    """
    known = splits[~splits["by_op"].to_numpy(bool) & ~submitted(splits)]
    took: pd.Series = (known["end_ns"] - known["begin_ns"]).astype("int64").groupby(known["pass_id"]).sum()
    return took
