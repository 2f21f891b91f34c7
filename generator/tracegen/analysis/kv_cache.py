"""What the KV cache holds, layer by layer, and what it would take in a longer context."""

import re

import pandas as pd

from tracegen.analysis.accesses import Tables

_NAME = re.compile(r"cache_([krsv])_l\d+$")
PARTS = {"k": "keys", "v": "values", "r": "state", "s": "state"}  # the last two: of recurrent layers
PADDED = 256  # llama.cpp makes the cells of a cache a multiple of this


def layers(tables: Tables) -> pd.DataFrame:
    """The tensors of the KV cache, one row each, by context, layer and part.

    Columns: context, layer, part (keys, values, state), dtype, row_bytes (of one token), cells (tokens that there is
    room for, in all streams together), streams, allocated_bytes, grows (with the context: as many cells as any; windows
    and states do not).
    """
    nodes = tables["graph_nodes"]
    leaf = nodes[nodes["kind"].eq("leaf").to_numpy(bool)]
    leaf = leaf[leaf["name"].str.match(_NAME.pattern).to_numpy(bool)].dropna(subset=["ne1", "nb1", "size_bytes"])
    passes = tables["passes"][["context", "graph"]].dropna().drop_duplicates()
    rows = leaf.merge(passes, on="graph").drop_duplicates(["context", "name"])
    part = rows["name"].str.extract(_NAME)[0].map(PARTS)
    rows = rows.assign(part=part, cells=rows["ne1"] * rows["ne2"], streams=rows["ne2"])
    rows = rows.rename(columns={"nb1": "row_bytes", "size_bytes": "allocated_bytes"})
    most = rows["cells"].where(rows["part"].ne("state")).groupby(rows["context"]).transform("max")
    rows["grows"] = rows["cells"].eq(most) & rows["part"].ne("state")
    columns = ["context", "layer", "part", "dtype", "row_bytes", "cells", "streams", "allocated_bytes", "grows"]
    found = rows[columns].sort_values(["context", "layer", "part"], kind="stable", ignore_index=True)
    sizes = ["row_bytes", "cells", "streams", "allocated_bytes"]
    return found.astype({**dict.fromkeys(sizes, "int64"), "context": "int32", "grows": bool})


def token_bytes(of: pd.DataFrame) -> int:
    """What a token takes in all layers that grow with the context; `of`: rows of `layers`."""
    return int(of.loc[of["grows"].to_numpy(bool), "row_bytes"].sum())


def context_bytes(of: pd.DataFrame, n_ctx: int) -> int:
    """What the cache takes with `n_ctx` tokens for each sequence; `of`: rows of `layers`, of one context."""
    grows = of["grows"].to_numpy(bool)
    cells = -(-n_ctx // PADDED) * PADDED
    grown = (of.loc[grows, "row_bytes"] * of.loc[grows, "streams"]).sum() * cells
    return int(grown + of.loc[~grows, "allocated_bytes"].sum())
