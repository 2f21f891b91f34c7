"""Where threads wait: inside operations and after them, summed over the measured passes."""

from collections.abc import Sequence

import pandas as pd

from tracegen.analysis.operations import THREAD_TIMES

KIND = ("op", "component")
NODE = ("node", "name", "op", "layer", "component")


def thread_time(ops: pd.DataFrame, measured: pd.DataFrame) -> tuple[int, int]:
    """The thread time (duration times threads) of the passes of `ops`, ns, and the largest number of threads.

    `ops` is the result of `operations.op_rows`, `measured` that of `passes.measured`. Passes without an end, or
    without an op whose threads were recorded, are left out.
    """
    threads = ops.dropna(subset=["n_threads"]).groupby("pass_id")["n_threads"].max()
    lasted = measured.dropna(subset=["duration_ns"]).set_index("pass_id")["duration_ns"]
    both = pd.concat([threads, lasted], axis=1, join="inner").astype("int64")
    return int((both["n_threads"] * both["duration_ns"]).sum()), int(threads.max()) if len(threads) else 0


def by(ops: pd.DataFrame, measured: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Thread time per value of `keys`, most waiting first.

    `ops` is the result of `operations.op_rows`, `measured` the passes that count. Columns: the keys, n_ops,
    work_ns, barrier_ns, wait_ns (sums over threads), waiting_ns (barrier_ns + wait_ns of ops that several threads ran;
    a single thread waits for no other), share (of the thread time of these passes, see `thread_time`; null when there
    is none), pass_id and at_node of the op that waited most. Only executed ops with thread times count.
    """
    executed = (ops["state"] == "executed").to_numpy(bool)
    rows = ops[executed & ops["pass_id"].isin(measured["pass_id"]) & ops["work_ns"].notna()]
    rows = rows[[*dict.fromkeys([*keys, "node", "pass_id"]), "n_threads", *THREAD_TIMES]].astype(
        dict.fromkeys(THREAD_TIMES, "int64")
    )
    waited = (rows["barrier_ns"] + rows["wait_ns"]).where((rows["n_threads"] > 1).to_numpy(bool), 0)
    rows = rows.assign(waiting_ns=waited, at=rows["node"])
    rows = rows.sort_values("waiting_ns", ascending=False, kind="stable")  # passes and nodes are in order
    grouped = rows.groupby(list(keys), dropna=False, sort=False, observed=True)
    table = grouped[[*THREAD_TIMES, "waiting_ns"]].sum()
    table.insert(0, "n_ops", grouped.size())
    whole, _ = thread_time(rows, measured)
    table["share"] = table["waiting_ns"].astype("float64") / whole if whole else None
    table[["pass_id", "at_node"]] = grouped[["pass_id", "at"]].first()
    ordered = table.reset_index().astype({key: "object" for key in ("op", "component") if key in keys})
    return ordered.sort_values(["waiting_ns", *keys], ascending=[False] + [True] * len(keys), ignore_index=True)
