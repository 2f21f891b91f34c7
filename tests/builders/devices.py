"""Times of single operations of a device, for tables in which the CPU ran them."""

from collections.abc import Mapping

import pandas as pd

from tracegen.contract.tables import frame


def with_device_ops(tables: Mapping[str, pd.DataFrame], device: str = "Vulkan0") -> dict[str, pd.DataFrame]:
    """The same tables, in which a device took as long for each executed operation as the CPU's threads did."""
    graphs = tables["passes"].set_index("pass_id")["graph"]
    ops = tables["ops"][tables["ops"]["state"].eq("executed").to_numpy(bool)].dropna(subset=["begin_ns", "end_ns"])
    ops = ops.assign(graph=ops["pass_id"].map(graphs).astype("int64")).sort_values(["pass_id", "begin_ns"])
    named = tables["graph_nodes"].set_index(["graph", "node"])[["op", "name"]].astype("object")
    labels = named["op"] + " " + named["name"]
    rows = {
        "pass_id": ops["pass_id"].to_numpy("int32"),
        "part": ops.groupby("pass_id").cumcount().to_numpy("int32"),
        "split": ops["split"].fillna(0).to_numpy("int32"),
        "device": [device] * len(ops),
        "node": ops["node"].astype("Int32").array,
        "label": labels.reindex(pd.MultiIndex.from_frame(ops[["graph", "node"]])).tolist(),
        "begin_ns": ops["begin_ns"].to_numpy("int64"),
        "end_ns": ops["end_ns"].to_numpy("int64"),
        "exact": [True] * len(ops),
    }
    return {**tables, "device_ops": frame("device_ops", rows)}
