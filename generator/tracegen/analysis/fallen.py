"""Operations that the CPU computes in layers of a device: the device's backend does not take them."""

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.device_speed import holders

# The KV cache and recurrent states, and no copies of them for a split, whose names begin with that of its backend.
_CACHE = ("cache_k", "cache_v", "cache_r", "cache_s")
COLUMNS = ("op", "types", "layers", "n_layers", "duration_ns")


def fallen(tables: Tables, timed: pd.DataFrame) -> pd.DataFrame:
    """Operations of the CPU in layers whose weights and KV cache all lie on devices, the longest first.

    `timed`: rows of `timing.timed_ops`, of one phase. Columns: op, types (of what it reads, in the order of its
    operands: a tuple of names), layers (tuple), n_layers, and duration_ns (of all these operations, wall time).
    """
    layers = _layers_of_devices(tables)
    rows = timed[timed["duration_ns"].notna().to_numpy(bool) & timed["layer"].isin(layers).to_numpy(bool)]
    graph = rows["pass_id"].map(tables["passes"].set_index("pass_id")["graph"])
    rows = rows.assign(graph=graph).astype({"graph": "int32"}).merge(_types(tables), on=["graph", "node"], how="left")
    rows["types"] = [of if isinstance(of, tuple) else () for of in rows["types"]]
    groups = rows.groupby([rows["op"].astype("object"), "types"], sort=False)
    found = groups.agg(
        layers=("layer", lambda of: tuple(sorted(set(map(int, of))))), duration_ns=("duration_ns", "sum")
    )
    found = found.reset_index().assign(n_layers=[len(of) for of in found["layers"]])
    return found[list(COLUMNS)].sort_values("duration_ns", ascending=False, ignore_index=True, kind="stable")


def _layers_of_devices(tables: Tables) -> set[int]:
    """The layers of which all weights that were used, and the KV cache, lie in memory of devices."""
    tensors, place = tables["tensors"], tables["placements"]
    held = place["buffer_id"].map(holders(tables).to_dict()).astype("object").fillna("").ne("")
    layer_of = tensors.set_index("tensor")["layer"]
    weights = pd.DataFrame({"layer": place["tensor"].map(layer_of), "held": held})
    nodes = tables["graph_nodes"][["graph", "node", "layer", "name"]]
    cache = place.assign(held=held).merge(nodes, on=["graph", "node"])
    cache = cache[cache["name"].astype(str).str.startswith(_CACHE).to_numpy(bool)][["layer", "held"]]
    both = pd.concat([weights, cache.astype({"layer": "Int64"})]).dropna(subset=["layer"])
    whole = both.groupby(both["layer"].astype("int64"))["held"].all()
    return set(whole.index[whole.to_numpy(bool)].tolist())


def _types(tables: Tables) -> pd.DataFrame:
    """The types of what each node reads, in the order of its operands: graph, node, types."""
    nodes = tables["graph_nodes"][["graph", "node", "dtype"]].rename(columns={"node": "source"})
    edges = tables["graph_edges"].rename(columns={"target": "node"})[["graph", "source", "node", "slot"]]
    rows = edges.astype({"slot": "object"}).merge(nodes, on=["graph", "source"]).sort_values(["graph", "node", "slot"])
    return rows.astype({"dtype": "object"}).groupby(["graph", "node"])["dtype"].agg(tuple).rename("types").reset_index()
