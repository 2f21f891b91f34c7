"""LRU stack distances: how much else was used since the last use of the same item. In NumPy, without a loop over uses.

A cache with LRU replacement of c equal items hits a use exactly if its distance is less than c (Mattson et al. 1970).
The number of different items in a window is the number of uses in it whose own last use lies before the window. To
count these for all windows at once is to count, for each element of a permutation, the smaller ones before it, which
takes one pass over the array for each bit of its length.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def previous_use(items: Array) -> Array:
    """For each use (int array of items), the place of the last use of the same item before it, −1 without one."""
    order = np.argsort(items, kind="stable")
    previous = np.full(len(items), -1, dtype=np.int64)
    again = items[order[1:]] == items[order[:-1]]
    previous[order[1:][again]] = order[:-1][again]
    return previous


def stack_distances(items: Array, weights: Array | None = None) -> Array:
    """For each use, how many different other items were used since the last use of the same item; −1 at a first use.

    `items`: int array. With `weights` (int array, the size of the item at each use) their sizes are added up instead.

    >>> stack_distances(np.array([7, 8, 9, 9, 7, 8])).tolist()
    [-1, -1, -1, 0, 2, 2]
    """
    n = len(items)
    if n == 0:
        return np.empty(0, dtype=np.int64)
    weight = np.ones(n, dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    previous = previous_use(items)
    again = np.flatnonzero(previous >= 0)
    upto = np.concatenate(([0], np.cumsum(weight)))
    first = np.concatenate(([0], np.cumsum(np.where(previous < 0, weight, 0))))
    is_previous = np.zeros(n, dtype=bool)
    is_previous[previous[again]] = True
    rank = (np.cumsum(is_previous) - 1)[previous[again]]
    counted = first[again] + _smaller_before(rank, None if weights is None else weight[again])
    distances = np.full(n, -1, dtype=np.int64)
    # All uses up to the last one have their own last use before it; they are not in the window.
    distances[again] = counted - upto[previous[again] + 1]
    return distances


def _smaller_before(permutation: Array, weight: Array | None) -> Array:
    """For each element of a permutation of 0 … n−1, the weight (None: the number) of the smaller elements before it.

    Bit by bit from the highest, elements that share all higher bits stand together, in their first order: those of a
    node begin at the place that equals its smallest value. An element with the bit set has all elements of its node
    without it below itself. At the end each element stands at the place of its value.
    """
    n = len(permutation)
    number: type[np.signedinteger[Any]] = np.int32 if n < 2**30 else np.int64
    values, places = permutation.astype(number), np.arange(n, dtype=number)
    below = np.zeros(n, dtype=number if weight is None else np.int64)
    for bit in reversed(range(max(n - 1, 0).bit_length())):
        node = values >> (bit + 1) << (bit + 1)
        high = (values & (1 << bit)).astype(bool)
        left = _before(~high, number)
        left -= left[node]
        if weight is None:
            below += left * high
        else:
            lower = _before(np.where(high, 0, weight), np.int64)
            below += (lower - lower[node]) * high
        target = np.where(high, np.minimum(node + (1 << bit), n) + (places - node - left), node + left)
        values, below = _moved(values, target), _moved(below, target)
        weight = None if weight is None else _moved(weight, target)
    return below[permutation].astype(np.int64)


def _before(values: Array, dtype: type) -> Array:
    """The sum of all values before each place."""
    sums: Array = np.empty(len(values), dtype=dtype)
    sums[:1] = 0
    np.cumsum(values[:-1], out=sums[1:])
    return sums


def smallest(ascending: Array, target: float) -> int | None:
    """The smallest of the values that `target` of them do not exceed; None without values."""
    return int(ascending[int(np.ceil(target * len(ascending))) - 1]) if len(ascending) else None


def _moved(values: Array, target: Array) -> Array:
    out = np.empty_like(values)
    out[target] = values
    return out
