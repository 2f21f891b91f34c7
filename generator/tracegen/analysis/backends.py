"""Of which splits the time is that of computing them, and of which it is that of the hand-over alone."""

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
