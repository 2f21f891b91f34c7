"""How much longer attention takes with each token of context: a line through the generated tokens of a run."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables

LEAST_TOKENS = 30
_MOST = 400  # tokens that the line goes through: those in between are left out
_Z = 1.96
_CACHE = ("cache_k", "cache_v")


@dataclass(frozen=True)
class Growth:
    """The slope in ns for each token of context, with the ends of its 95 % interval.

    `token_ns` is what a token takes in the median, with `position` tokens before it; `size` is the size of the context.
    """

    slope: float
    low: float
    high: float
    token_ns: float
    position: float
    size: int

    @property
    def full_ns(self) -> float:
        """What a token would take at the end of the context: the line goes on, all else stays."""
        return self.token_ns + self.slope * (self.size - self.position)


def growth(tables: Tables, timed: pd.DataFrame, accessed: pd.DataFrame) -> Growth | None:
    """The growth of attention over the generated tokens; None with fewer than LEAST_TOKENS, or where it may be none.

    The time is the work of operations that read the KV cache, and of SOFT_MAX, in the mean over threads. The slope is
    the median of the slopes between two tokens (Theil and Sen), which a few disturbed tokens do not change; its
    interval is Sen's, from how often pairs of tokens rise. `timed` and `accessed`: of the analyses of these names.
    """
    passes = tables["passes"]
    passes = passes[(passes["kind"] == "generate").fillna(False).to_numpy(bool)]
    passes = passes.dropna(subset=["position_begin", "end_ns"]).set_index("pass_id")
    contexts = tables["contexts"]["n_ctx"].dropna()
    if len(passes) < LEAST_TOKENS or contexts.nunique() != 1:
        return None
    time = _attention_ns(tables, timed, accessed).reindex(passes.index).dropna()
    position = passes.loc[time.index, "position_begin"].to_numpy("float64")
    if len(time) < LEAST_TOKENS:
        return None
    slope, low, high = _slope(position, time.to_numpy("float64"))
    if low <= 0:
        return None
    lasts = (passes["end_ns"] - passes["begin_ns"]).astype("float64")
    return Growth(slope, low, high, float(lasts.median()), float(np.median(position)), int(contexts.iloc[0]))


def _attention_ns(tables: Tables, timed: pd.DataFrame, accessed: pd.DataFrame) -> pd.Series:
    """By pass: the work of operations that read the KV cache, and of SOFT_MAX, in the mean over threads, ns."""
    source = accessed["source_name"].astype("object").fillna("")
    reads = accessed[source.str.startswith(_CACHE).to_numpy(bool) & (accessed["slot"] != "dst").to_numpy(bool)]
    nodes = reads[["pass_id", "node"]].drop_duplicates().assign(reads=True)
    rows = timed.dropna(subset=["work_ns"]).merge(nodes, on=["pass_id", "node"], how="left")
    rows = rows[rows["reads"].notna().to_numpy(bool) | (rows["op"] == "SOFT_MAX").to_numpy(bool)]
    n_threads = tables["spans"].groupby("pass_id")["thread"].nunique()
    work = rows.groupby("pass_id")["work_ns"].sum().astype("float64")
    return work / n_threads.reindex(work.index)


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """The median slope of all pairs of points, and the ends of its 95 % interval."""
    if len(x) > _MOST:
        kept = np.linspace(0, len(x) - 1, _MOST).astype(int)
        x, y = x[kept], y[kept]
    n = len(x)
    first, second = np.triu_indices(n, 1)
    apart = x[second] - x[first]
    slopes = np.sort((y[second] - y[first])[apart != 0] / apart[apart != 0])
    if not len(slopes):
        return 0.0, 0.0, 0.0
    wide = _Z * sqrt(n * (n - 1) * (2 * n + 5) / 18)
    middle = len(slopes) / 2
    low, high = (int(np.clip(round(at), 0, len(slopes) - 1)) for at in (middle - wide / 2, middle + wide / 2))
    return float(np.median(slopes)), float(slopes[low]), float(slopes[high])
