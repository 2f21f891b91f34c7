"""What recording cost each pass: its events, copies and hooks, as a share of the thread time of the pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

PHASES = ("prompt", "generate")


def pass_costs(tables: Tables, trace: Mapping[str, Any]) -> pd.DataFrame:
    """The cost of each measured pass whose times are known: pass_id, phase, cost_ns, thread_ns, share.

    `trace` is what the reader says of the trace: event_cost_ns (an op event beside other work, measured when the run
    began), clock_read_ns, and by pass_id hook_ns (timed in the run, between begin and end of the pass) and copy_ns
    (copying rows, experts and masks, timed as well). While one thread is in a hook or copies, the others wait: both
    count for every thread. thread_ns is the duration times the threads; phase is prompt, generate, or other. No rows
    when the cost of an event was not measured.
    """
    passes, spans = measured(tables).dropna(subset=["graph", "duration_ns"]), tables["spans"]
    names = ["pass_id", "phase", "cost_ns", "thread_ns", "share"]
    event, clock = float(trace["event_cost_ns"]), float(trace["clock_read_ns"])
    if np.isnan(event) or np.isnan(clock) or passes.empty or spans.empty:
        return pd.DataFrame({name: pd.Series(dtype="object" if name == "phase" else "float64") for name in names})
    grouped = spans.groupby("pass_id")
    counted = pd.DataFrame({"n_spans": grouped.size(), "n_threads": grouped["thread"].max() + 1})
    counted["n_barriers"] = (spans["barrier_ns"] > 0).groupby(spans["pass_id"]).sum()
    made = passes[["pass_id", "kind", "duration_ns"]].merge(counted, left_on="pass_id", right_index=True)
    together = sum(made["pass_id"].map(trace[name]).fillna(0.0).astype("float64") for name in ("hook_ns", "copy_ns"))
    cost = made["n_spans"] * event + made["n_barriers"] * 2 * clock + together * made["n_threads"]
    thread_ns = made["duration_ns"].astype("float64") * made["n_threads"]
    kind = made["kind"].astype("object")
    return made.assign(
        phase=kind.where(kind.isin(PHASES), "other"), cost_ns=cost, thread_ns=thread_ns, share=cost / thread_ns
    )[names].reset_index(drop=True)


def by_phase(costs: pd.DataFrame) -> dict[str, float]:
    """The share of the median pass of each phase that occurs: a pass that others held up does not make it smaller."""
    return {str(phase): float(share) for phase, share in costs.groupby("phase")["share"].median().items()}


def overhead_share(tables: Tables, trace: Mapping[str, Any]) -> float | None:
    """The largest of `by_phase`: what a run states as its tracing cost; None when it was not measured."""
    return max(by_phase(pass_costs(tables, trace)).values(), default=None)
