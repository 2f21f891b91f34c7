"""How much do the passes of a window touch together, and how much of the next pass is new (Denning 1968)?

For each window of T passes in a row, the working set is the set of granules that at least one of them touched:

    w(T) = mean over all windows of T passes of the number of different granules
    new(T) = mean over all passes with T passes before them of the granules that none of these T touched

A memory that holds what the last T passes touched, and nothing else, has the size w(T) and takes in new(T) granules in
each pass. Windows reach neither before the first pass nor beyond the last one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

BYTES = {
    "granules": "bytes",
    "least_granules": "least_bytes",
    "most_granules": "most_bytes",
    "new_granules": "new_bytes",
}
COLUMNS = ["n_passes", "n_windows", "granules", "least_granules", "most_granules", "new_granules"]


@dataclass(frozen=True)
class Windows:
    """The working sets of passes of a kind; columns of `table`: n_passes, n_windows, and the values of `BYTES`."""

    kind: str
    pass_ids: tuple[int, ...]
    table: pd.DataFrame

    def of(self, n_passes: int, column: str = "bytes") -> float | None:
        """A value of the windows of so many passes; None where there is none."""
        found = self.table.loc[self.table["n_passes"] == n_passes, column]
        return None if found.empty or pd.isna(found.iloc[0]) else float(found.iloc[0])


def windows(uses: pd.DataFrame, pass_ids: Sequence[int], granule_bytes: int, kind: str = "generate") -> Windows:
    """The result of `working_set` in bytes; granules have `granule_bytes`."""
    table = working_set(uses, pass_ids)
    counts = list(BYTES)
    table[counts] *= granule_bytes
    return Windows(kind, tuple(pass_ids), table.rename(columns=BYTES))


def working_set(uses: pd.DataFrame, pass_ids: Sequence[int]) -> pd.DataFrame:
    """The working sets of windows of 1, 2, 4 … and all of `pass_ids`, which are the passes in their order.

    `uses` is the result of `granules.granule_uses`. Columns: n_passes (of a window), n_windows, granules (mean),
    least_granules and most_granules (of any window), new_granules (mean; null for the window of all passes). No rows
    without a pass.

    >>> uses = pd.DataFrame({"pass_id": [1, 1, 2, 3], "granule": [7, 8, 7, 9]})
    >>> working_set(uses, [1, 2, 3])[["n_passes", "granules", "new_granules"]].values.tolist()
    [[1.0, 1.3333333333333333, 0.5], [2.0, 2.0, 1.0], [3.0, 3.0, nan]]
    """
    n = len(pass_ids)
    now, before = _uses_of_passes(uses, pass_ids)
    rows = []
    for window in window_sizes(n):
        touched = _of_windows(now, before, window, n)
        new = None
        if window < n:
            new = int(((now >= window) & (before < now - window)).sum()) / (n - window)
        rows.append((window, n - window + 1, touched.mean(), touched.min(), touched.max(), new))
    kinds = dict.fromkeys(COLUMNS, "float64") | dict.fromkeys(["n_passes", "n_windows"], "int64")
    kinds |= dict.fromkeys(["least_granules", "most_granules"], "int64")
    return pd.DataFrame(rows, columns=COLUMNS).astype(kinds)


def window_sizes(n: int) -> list[int]:
    """The powers of two below `n`, and `n` itself; none for 0."""
    return [2**k for k in range(n.bit_length()) if 2**k < n] + [n] * (n > 0)


def _uses_of_passes(uses: pd.DataFrame, pass_ids: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """For each granule of each pass the number of the pass, and of the last pass before that touched it, −1 without."""
    place = uses["pass_id"].map({pass_id: at for at, pass_id in enumerate(pass_ids)})
    known = place.notna().to_numpy()
    n = max(len(pass_ids), 1)
    keys = uses["granule"].to_numpy("int64")[known] * n + place.to_numpy("float64")[known].astype("int64")
    both = np.sort(pd.unique(keys))  # several times as fast as numpy.unique
    granule, now = both // n, both % n
    before = np.full(len(both), -1, dtype=np.int64)
    same = granule[1:] == granule[:-1]
    before[1:][same] = now[:-1][same]
    return now, before


def _of_windows(now: np.ndarray, before: np.ndarray, window: int, n: int) -> np.ndarray:
    """How many different granules each window touches; a window counts a granule at its first use in it.

    That use is the first one in all windows that begin after the use before, and not more than the window's length
    before it.
    """
    first = np.maximum(before + 1, now - window + 1)
    last = np.minimum(now, n - window)
    there = first <= last
    change = np.bincount(first[there], minlength=n + 1) - np.bincount(last[there] + 1, minlength=n + 1)
    counted: np.ndarray = np.cumsum(change)[: n - window + 1]
    return counted
