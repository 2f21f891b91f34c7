"""The table `device_ops` of splits that a server computed over RPC, from the trace of that server.

A server evaluates the nodes of a split as a graph, with the same names. Both traces are of one machine, whose clock
they share: a graph that began and ended within a split, and computes the nodes of it, is that split's.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract

Tables = Mapping[str, pd.DataFrame]
COMPUTED = ("executed", "fused")
_NEAR = 64  # splits that may go on at once
_RAN = ("op", "name", "state", "begin_ns", "end_ns")


def server_ops(tables: Tables, servers: Sequence[Tables]) -> tuple[pd.DataFrame, int]:
    """The table with what servers computed, by the tables of their traces; and of how many operations no time is known.

    What is in the table already is kept.
    """
    splits = tables["splits"]
    splits = splits[splits["proof"].eq("reply").to_numpy(bool)].sort_values(
        "begin_ns", ignore_index=True, kind="stable"
    )
    own = _computed(tables).merge(splits[["pass_id", "split"]].reset_index(names="at"), on=["pass_id", "split"])
    own["place"] = own.groupby("at").cumcount()
    names = _signatures(own, "at").reindex(splits.index)
    ran = [of for server in servers if len(of := _ran(server, splits, names))]
    known = pd.concat(ran).drop_duplicates(["at", "place"]) if ran else pd.DataFrame(columns=["at", "place", *_RAN])
    both = own[["at", "place", "node", "pass_id", "split"]].merge(known, on=["at", "place"], how="left")
    both = both.sort_values(["at", "place"], ignore_index=True)
    fused = both["state"].eq("fused").to_numpy(bool)
    kernel = pd.Series((~fused).cumsum(), both.index)
    heads = both.assign(kernel=kernel)[~fused]
    lost = int(heads["end_ns"].isna().sum())
    heads = heads.dropna(subset=["end_ns"])
    labels = both.dropna(subset=["op"]).groupby(kernel)["op"].agg("+".join).astype("object")
    label = heads["kernel"].map(labels).astype("object") + " " + heads["name"].astype("object")
    rows = heads.assign(label=label, device=lambda r: r["at"].map(splits["backend"]), exact=True)
    return _joined(tables["device_ops"], rows), lost


def _computed(tables: Tables) -> pd.DataFrame:
    """The operations that were computed, in order, with names and a number that stands for them."""
    named = tables["graph_nodes"][["graph", "node", "op", "name"]].astype({"op": "object", "name": "object"})
    named = named.assign(hashed=pd.util.hash_array((named["op"] + " " + named["name"]).to_numpy(object)))
    ops = tables["ops"][tables["ops"]["state"].isin(COMPUTED).to_numpy(bool)]
    ops = ops[["pass_id", "split", "node", "state", "begin_ns", "end_ns"]].astype({"state": "object"})
    ops = ops.merge(tables["passes"][["pass_id", "graph"]], on="pass_id").merge(named, on=["graph", "node"])
    return ops.sort_values(["pass_id", "node"], ignore_index=True)


def _signatures(ops: pd.DataFrame, key: str) -> pd.DataFrame:
    """By `key`, how many operations it has, and a number that stands for all of them in their order."""
    weighted = ops["hashed"].to_numpy(np.uint64) * (2 * ops["place"].to_numpy(np.uint64) + np.uint64(1))
    of = pd.DataFrame({key: ops[key], "signature": weighted, "n": 1}).groupby(key)
    return of.sum()


def _ran(server: Tables, splits: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
    """What a server ran for splits: at (which one), place (of the operation in it), and _RAN."""
    ops = _computed(server)
    ops["place"] = ops.groupby("pass_id").cumcount()
    graphs = (
        server["passes"].dropna(subset=["graph", "end_ns"]).sort_values("begin_ns", kind="stable").set_index("pass_id")
    )
    graphs = graphs[["begin_ns", "end_ns"]].astype("int64").join(_signatures(ops, "pass_id"), how="inner")
    begin, end = (splits[name].to_numpy("int64") for name in ("begin_ns", "end_ns"))
    signature, n = names["signature"].to_numpy(), names["n"].to_numpy()
    taken: dict[int, int] = {}
    for pass_id, first, last, number, length in graphs.itertuples(name=None):
        until = int(np.searchsorted(begin, first, "right"))
        for at in range(max(0, until - _NEAR), until):
            if at not in taken and last <= end[at] and (signature[at], n[at]) == (number, length):
                taken[at] = pass_id
                break
    which = {pass_id: at for at, pass_id in taken.items()}
    ops = ops[ops["pass_id"].isin(which).to_numpy(bool)]
    return ops.assign(at=ops["pass_id"].map(which))[["at", "place", *_RAN]]


def _joined(before: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The table with these rows behind those of each pass that it has."""
    columns = ["pass_id", "split", "device", "node", "label", "begin_ns", "end_ns", "exact"]
    first = before.groupby("pass_id")["part"].max() + 1
    part = rows.groupby("pass_id").cumcount() + rows["pass_id"].map(first).fillna(0).astype("int64")
    both = [before.astype("object"), rows[columns].assign(part=part).astype("object")]
    every = pd.concat(both, ignore_index=True).sort_values(["pass_id", "part"], ignore_index=True)
    return contract.frame("device_ops", {str(name): every[name].tolist() for name in every})
