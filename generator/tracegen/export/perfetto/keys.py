"""Two columns of whole numbers as one, and the rows in which such a key stands."""

import numpy as np
import pandas as pd


def packed(first: pd.Series | np.ndarray, second: pd.Series | np.ndarray) -> np.ndarray:
    """Two columns of int32 as one of int64, which is sorted where both are and none is negative."""
    return np.asarray(first, np.int64) << 32 | (np.asarray(second, np.int64) & 0xFFFF_FFFF)


def rows_of(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The row of `keys` that holds each wanted value; -1 where none does."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")
    ascending = keys if order is None else keys[order]
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    rows = at if order is None else order[at]
    return np.where(ascending[at] == wanted, rows, -1)


def packed_pairs(table: pd.DataFrame) -> np.ndarray:
    """Pass and node of each row as one number."""
    return packed(table["pass_id"], table["node"])
