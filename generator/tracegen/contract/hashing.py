"""A hash of whole numbers that spreads each bit over all others."""

import numpy as np


def hashed(numbers: np.ndarray) -> np.ndarray:
    """A hash of each number, spread evenly over 64 bits (the finaliser of splitmix64): uint64 of the same shape."""
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
