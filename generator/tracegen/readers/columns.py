"""Columns of whole numbers in which a negative number stands for what was not recorded."""

import numpy as np
import pandas as pd


def nullable(values: np.ndarray, dtype: type[np.generic] = np.int32) -> pd.arrays.IntegerArray:
    """`values` in this type, null where they are below 0."""
    return pd.arrays.IntegerArray(np.maximum(values, 0).astype(dtype), values < 0)
