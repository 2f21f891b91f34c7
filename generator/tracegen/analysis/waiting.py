"""Where threads wait: inside operations and after them, summed over the measured passes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

TIMES = ["work_ns", "barrier_ns", "wait_ns"]
KIND = ("op", "component")
NODE = ("node", "name", "op", "layer", "component")


def thread_time(ops: pd.DataFrame, measured: pd.DataFrame) -> tuple[int, int]:
    """Duration times threads of the passes that `ops` belong to, ns, and the most threads that one of them had.

    `ops` as `operations.op_rows` gives them, `measured` with the durations of passes. Passes without an end, or
    without an op whose threads were recorded, are left out.
    """
    threads = ops.dropna(subset=["n_threads"]).groupby("pass_id")["n_threads"].max()
    lasted = measured.dropna(subset=["duration_ns"]).set_index("pass_id")["duration_ns"]
    both = pd.concat([threads, lasted], axis=1, join="inner").astype("int64")
    return int((both["n_threads"] * both["duration_ns"]).sum()), int(threads.max()) if len(threads) else 0


def by(ops: pd.DataFrame, measured: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Thread time per value of `keys`, most waiting first.

    `ops` as `operations.op_rows` gives them, `measured` the passes that count. Columns: the keys, n_ops,
    work_ns, barrier_ns, wait_ns (sums over threads), waiting_ns (barrier_ns + wait_ns where several threads ran the op;
    one alone waits for nobody), share (of the thread time of these passes, see `thread_time`; null when there is
    none), pass_id and node of the op that waited most. Executed ops count; those without times of their threads, and
    those without elements, are left out.
    """
    executed = (ops["state"] == "executed").to_numpy(bool)
    rows = ops[executed & ops["pass_id"].isin(measured["pass_id"]) & ops["work_ns"].notna()]
    rows = rows[[*dict.fromkeys([*keys, "node", "pass_id"]), "n_threads", *TIMES]].astype(dict.fromkeys(TIMES, "int64"))
    waited = (rows["barrier_ns"] + rows["wait_ns"]).where((rows["n_threads"] > 1).to_numpy(bool), 0)
    rows = rows.assign(waiting_ns=waited, at=rows["node"])
    rows = rows.sort_values("waiting_ns", ascending=False, kind="stable")  # passes and nodes are in order
    grouped = rows.groupby(list(keys), dropna=False, sort=False, observed=True)
    made = grouped[[*TIMES, "waiting_ns"]].sum()
    made.insert(0, "n_ops", grouped.size())
    whole, _ = thread_time(rows, measured)
    made["share"] = made["waiting_ns"].astype("float64") / whole if whole else None
    made[["pass_id", "at_node"]] = grouped[["pass_id", "at"]].first()
    ordered = made.reset_index().astype({key: "object" for key in ("op", "component") if key in keys})
    return ordered.sort_values(["waiting_ns", *keys], ascending=[False] + [True] * len(keys), ignore_index=True)
