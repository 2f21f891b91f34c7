"""What several rooms do with arrays of whole numbers."""

import numpy as np
import pandas as pd


def hashed(numbers: np.ndarray) -> np.ndarray:
    """A hash of each number, spread evenly over 64 bits (the finaliser of splitmix64): uint64 of the same shape."""
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def nullable(values: np.ndarray, dtype: type[np.generic] = np.int32) -> pd.arrays.IntegerArray:
    """`values` in this type, null where they are below 0."""
    return pd.arrays.IntegerArray(np.maximum(values, 0).astype(dtype), values < 0)


def repeated(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that each become so many: for each new one its row, and its number among those of the row, from 0."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


def covered(begin: np.ndarray, end: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """How much of intervals lies before each moment, int64; they are in order and do not overlap."""
    n = np.searchsorted(begin, moment, "right")
    whole = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - begin)])
    to_come = np.concatenate([np.zeros(1, np.int64), end])[n] - moment  # of the last one that has begun
    before: np.ndarray = whole[n] - np.where(n > 0, np.maximum(to_come, 0), 0)
    return before
