"""What each part of each layer does in one pass, in the mean over passes."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

TIMES = ("duration_ns", "work_ns", "barrier_ns", "wait_ns")
BYTES = ("disk_bytes", "copied_bytes", "buffer_bytes")


def layer_means(ops: pd.DataFrame, pass_ids: pd.Series, group_of: Mapping[str, str]) -> pd.DataFrame:
    """Sums over the operations of a layer and component group, as the mean over `pass_ids`.

    `ops` is the result of `operations.op_rows`, `group_of` maps components to groups. Columns: layer (Int32; null: in
    no layer), group, the columns of TIMES (ns) and BYTES (bytes) as Float64 per pass. Operations without a time of
    their own count as 0 beside others; a mean is null where none has a time. A pass without such an operation counts
    as 0.
    """
    rows = ops[ops["pass_id"].isin(pass_ids)]
    n = len(pass_ids)
    group = rows["component"].astype("object").map(group_of).fillna("other")
    keyed = rows.assign(group=group)[["layer", "group", *TIMES, *BYTES]]
    sums = keyed.groupby(["layer", "group"], dropna=False)[[*TIMES, *BYTES]].sum(min_count=1).reset_index()
    for column in (*TIMES, *BYTES):
        sums[column] = sums[column].astype("Float64") / (n or np.nan)
    return sums
