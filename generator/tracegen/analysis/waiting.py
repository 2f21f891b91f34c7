"""Where threads wait: inside operations and after them, summed over the measured passes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

TIMES = ["work_ns", "barrier_ns", "wait_ns"]
KIND = ("op", "component")
NODE = ("node", "name", "op", "layer", "component")


def by(ops: pd.DataFrame, measured: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Thread time per value of `keys`, most waiting first.

    `ops` as `operations.op_rows` gives them, `measured` the passes that count. Columns: the keys, n_ops,
    work_ns, barrier_ns, wait_ns (sums over threads), waiting_ns (barrier_ns + wait_ns), share (of all
    thread time of measured passes; null when there is none), pass_id and node of the op that waited most.
    Ops without times of their threads are left out.
    """
    rows = ops[ops["pass_id"].isin(measured["pass_id"]) & ops["work_ns"].notna()]
    rows = rows[[*dict.fromkeys([*keys, "node", "pass_id"]), *TIMES]].astype(dict.fromkeys(TIMES, "int64"))
    rows = rows.assign(waiting_ns=rows["barrier_ns"] + rows["wait_ns"], at=rows["node"])
    rows = rows.sort_values("waiting_ns", ascending=False, kind="stable")  # passes and nodes are in order
    grouped = rows.groupby(list(keys), dropna=False, sort=False, observed=True)
    made = grouped[[*TIMES, "waiting_ns"]].sum()
    made.insert(0, "n_ops", grouped.size())
    whole = float(rows[TIMES].to_numpy().sum())
    made["share"] = made["waiting_ns"].astype("float64") / whole if whole else None
    made[["pass_id", "at_node"]] = grouped[["pass_id", "at"]].first()
    ordered = made.reset_index().astype({key: "object" for key in ("op", "component") if key in keys})
    return ordered.sort_values(["waiting_ns", *keys], ascending=[False] + [True] * len(keys), ignore_index=True)
