"""Where the time of the measured passes went: by component, layer, kind of op, single op."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

PHASES = ("prompt", "generate")
SUMS = ("duration_ns", "work_ns", "barrier_ns", "wait_ns")


def timed_ops(tables: Tables, ops: pd.DataFrame) -> pd.DataFrame:
    """Executed ops of prompt and generate passes, with `phase`.

    `duration_ns` is wall time, first thread's begin to last thread's end; work_ns,
    barrier_ns and wait_ns are sums over threads.
    """
    passes = measured(tables)
    phase = passes.loc[passes["kind"].isin(PHASES)].set_index("pass_id")["kind"].astype("object")
    rows = ops[(ops["state"] == "executed") & ops["pass_id"].isin(phase.index)]
    return rows.assign(phase=rows["pass_id"].map(phase))


def by(timed: pd.DataFrame, key: str, tokens: dict[str, int]) -> pd.DataFrame:
    """Wall time per value of `key` and phase.

    Columns: phase, key, n_ops, duration_ns, work_ns, barrier_ns, wait_ns (sums), share
    (of the phase's op wall time), ns_per_token (`tokens`: token rows per phase).
    Sorted by phase, longest first. A null key is kept.
    """
    rows = timed.dropna(subset=["duration_ns"])
    grouped = rows.groupby(["phase", key], observed=True, dropna=False)
    sums = grouped[list(SUMS)].sum()
    sums["n_ops"] = grouped.size()
    made = sums.reset_index()
    total = made.groupby("phase")["duration_ns"].transform("sum").astype("float64")
    made["share"] = made["duration_ns"].astype("float64") / total.where(total > 0)
    count = made["phase"].map({phase: n for phase, n in tokens.items() if n}).astype("float64")
    made["ns_per_token"] = made["duration_ns"].astype("float64") / count
    return made.sort_values(["phase", "duration_ns"], ascending=[True, False], ignore_index=True, kind="stable")


def top_ops(timed: pd.DataFrame, phase: str, limit: int = 15) -> pd.DataFrame:
    """The graph's nodes that took most wall time in a phase, summed over its passes.

    Columns: name, op, layer, component, n_ops, duration_ns, work_ns, barrier_ns, wait_ns,
    share (of the phase's op wall time), node and pass_id of its longest execution.
    """
    rows = timed[(timed["phase"] == phase) & timed["duration_ns"].notna()]
    rows = rows.astype({"op": "object", "component": "object"})
    keys = ["name", "op", "layer", "component"]
    total = float(rows["duration_ns"].sum())
    ordered = rows.sort_values("duration_ns", ascending=False, kind="stable")
    grouped = ordered.groupby(keys, dropna=False, sort=False)
    made = grouped[list(SUMS)].sum()
    made["n_ops"] = grouped.size()
    made[["pass_id", "node"]] = grouped[["pass_id", "node"]].first()
    made = made.reset_index().sort_values("duration_ns", ascending=False, ignore_index=True, kind="stable")
    made["share"] = made["duration_ns"].astype("float64") / total if total else None
    return made.head(limit)


def tokens_by_phase(tables: Tables) -> dict[str, int]:
    """Token rows evaluated in prompt and in generate passes (0 when unknown)."""
    passes = measured(tables)
    return {phase: int(passes.loc[passes["kind"] == phase, "n_tokens"].sum()) for phase in PHASES}
