"""Items that are only ever used one right after the other, in the same order: the granules of a tensor read whole."""

import numpy as np


def chains(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chain of each use, in order, and how many items each chain has; `items`: int array, in order of use.

    Any other item is a chain of its own. Chains are numbered from 0 in the order of their first items.
    """
    codes = np.unique(items, return_inverse=True)[1]
    n = int(codes.max(initial=-1)) + 1
    after = np.append(codes[1:], -1)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=n)
    begins = np.cumsum(counts) - counts
    low, high = (of.reduceat(after[order], begins) for of in (np.minimum, np.maximum))
    follows = (low == high) & (low >= 0) & (counts[low] == counts)  # each is followed by the same, and by nothing else
    first = np.ones(n, dtype=bool)
    first[low[follows]] = False
    heads = np.flatnonzero(first[codes])
    uses = (np.cumsum(first) - 1)[codes[heads]]
    length = np.zeros(int(first.sum()), dtype=np.int64)
    length[uses] = np.diff(heads, append=len(codes))
    return uses, length
