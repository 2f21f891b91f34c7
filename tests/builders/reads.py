"""Reads of a model file by the program itself, for tables that have none."""

from collections.abc import Mapping

import pandas as pd

from tracegen.contract.tables import frame


def with_reads(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The same tables, in which the load read each tensor in a call."""
    tensors, passes = tables["tensors"].sort_values("offset"), tables["passes"]
    load = passes[passes["kind"].eq("load").to_numpy(bool)].iloc[0]
    n = len(tensors)
    begin = [int(load["begin_ns"]) + 2 * at for at in range(n)]
    rows = {
        "read": range(n),
        "pass_id": [int(load["pass_id"])] * n,
        "thread": [1] * n,
        "file": tensors["file"].tolist(),
        "offset": tensors["offset"].tolist(),
        "size_bytes": tensors["size_bytes"].tolist(),
        "got_bytes": tensors["size_bytes"].tolist(),
        "tensor": tensors["tensor"].tolist(),
        "begin_ns": begin,
        "end_ns": [at + 1 for at in begin],
        "call": ["fread"] * n,
        "direct": [False] * n,
        "n_calls": [1] * n,
    }
    return {**tables, "reads": frame("reads", rows)}
