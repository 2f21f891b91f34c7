"""Which backends have computed a split when they return from it."""

import numpy as np
import pandas as pd

# Of other backends it is not known: over a network or on a GPU they may take a split, return, and compute later.
SYNCHRONOUS = ("CPU", "BLAS")


def submitted(splits: pd.DataFrame) -> np.ndarray:
    """Of each row of the table splits, whether its time may be that of handing it over alone, not of computing it."""
    by_op = splits["by_op"].to_numpy(bool)
    return ~by_op & ~splits["backend"].isin(SYNCHRONOUS).to_numpy(bool)
