"""The mapped files cut into granules of one size, and which of them each operation touched: what a cache would see."""

import numpy as np
import pandas as pd

from tracegen.contract.arrays import repeated

SIZES = (4096, 131072, 2097152)  # bytes: a page, what a disk is usually asked for at once, a huge page
LEAST = 1000  # granules in all files, if that is possible


def granule_bytes(file_bytes: int) -> int:
    """The size of granule for files of this many bytes: the largest of `SIZES` that cuts them into `LEAST` or more."""
    return max((size for size in SIZES if file_bytes >= LEAST * size), default=SIZES[0])


def granule_uses(accesses: pd.DataFrame, size_bytes: int, chosen: np.ndarray | None = None) -> pd.DataFrame:
    """The granules that ops touched, in order: pass_id, node, granule (number on the disk axis, from 0).

    `accesses` is the result of `order.disk_accesses`. A granule counts once for each op that touched at least one byte
    of it, whichever of its operands; granules of an op stand in the order in which it first touched them. Their number
    can be large: the bytes of all accesses, divided by `size_bytes`. With `chosen` (their numbers, ascending) other
    granules are left out.
    """
    first = accesses["begin"].to_numpy("int64") // size_bytes
    beyond = (accesses["end"].to_numpy("int64") - 1) // size_bytes + 1
    if chosen is not None:  # places in `chosen`
        first, beyond = np.searchsorted(chosen, first), np.searchsorted(chosen, beyond)
    row, number = repeated(beyond - first)
    granule = first[row] + number
    granule = granule if chosen is None else chosen[granule]
    pass_id, node = (accesses[name].to_numpy("int64")[row] for name in ("pass_id", "node"))
    op = np.cumsum((np.diff(pass_id, prepend=-1) != 0) | (np.diff(node, prepend=-1) != 0))
    once = ~pd.Series(op * (int(granule.max(initial=0)) + 1) + granule).duplicated().to_numpy()
    return pd.DataFrame({"pass_id": pass_id[once], "node": node[once], "granule": granule[once]})


def n_uses(accesses: pd.DataFrame, size_bytes: int) -> int:
    """At most how many rows `granule_uses` has, without making them."""
    first = accesses["begin"].to_numpy("int64") // size_bytes
    return int(((accesses["end"].to_numpy("int64") - 1) // size_bytes - first + 1).sum())


def per_pass(uses: pd.DataFrame) -> pd.Series:
    """How many different granules each pass touched, by pass_id."""
    return uses.groupby("pass_id")["granule"].nunique()
