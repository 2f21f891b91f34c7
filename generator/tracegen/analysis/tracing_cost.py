"""The cost of tracing each pass: events, copies and hooks, as a share of the thread time of the pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

PHASES = ("prompt", "generate")
FAULT_NS = 1000  # the most that recording a page fault may cost: a limit of the benchmark


def pass_costs(tables: Tables, trace: Mapping[str, Any]) -> pd.DataFrame:
    """The tracing cost of each measured pass with known times: pass_id, phase, cost_ns, thread_ns, share.

    `trace` is the reader's description of the trace: event_cost_ns (one op event beside other work, measured when the
    run began), clock_read_ns, and by pass_id hook_ns (time in hooks during the pass) and copy_ns (time to copy rows,
    experts and masks). While one thread is in a hook or copies, the others wait: both count for every thread.
    Each recorded page fault counts FAULT_NS, each recorded wait at a barrier as an event. thread_ns is the duration
    times the threads; phase is prompt, generate, or other. No rows when the cost of an event was not measured.
    """
    passes, spans = measured(tables).dropna(subset=["graph", "duration_ns"]), tables["spans"]
    names = ["pass_id", "phase", "cost_ns", "thread_ns", "share"]
    event, clock = float(trace["event_cost_ns"]), float(trace["clock_read_ns"])
    if np.isnan(event) or np.isnan(clock) or passes.empty or spans.empty:
        return pd.DataFrame({name: pd.Series(dtype="object" if name == "phase" else "float64") for name in names})
    grouped = spans.groupby("pass_id")
    counted = pd.DataFrame({"n_spans": grouped.size(), "n_threads": grouped["thread"].max() + 1})
    counted["n_barriers"] = (spans["barrier_ns"] > 0).groupby(spans["pass_id"]).sum()
    table = passes[["pass_id", "kind", "duration_ns"]].merge(counted, left_on="pass_id", right_index=True)
    together = sum(table["pass_id"].map(trace[name]).fillna(0.0).astype("float64") for name in ("hook_ns", "copy_ns"))
    cost = table["n_spans"] * event + table["n_barriers"] * 2 * clock + together * table["n_threads"]
    cost += table["pass_id"].map(tables["barriers"].groupby("pass_id").size()).fillna(0).astype("float64") * event
    faults = tables["faults"].groupby("pass_id").size().add(passes.set_index("pass_id")["other_faults"], fill_value=0)
    cost += table["pass_id"].map(faults).fillna(0).astype("float64") * FAULT_NS
    thread_ns = table["duration_ns"].astype("float64") * table["n_threads"]
    kind = table["kind"].astype("object")
    return table.assign(
        phase=kind.where(kind.isin(PHASES), "other"), cost_ns=cost, thread_ns=thread_ns, share=cost / thread_ns
    )[names].reset_index(drop=True)


def by_phase(costs: pd.DataFrame) -> dict[str, float]:
    """The cost share of the median pass of each phase that occurs; a delayed pass does not change a median."""
    return {str(phase): float(share) for phase, share in costs.groupby("phase")["share"].median().items()}


def overhead_share(tables: Tables, trace: Mapping[str, Any]) -> float | None:
    """The tracing cost that a run states: the largest share of `by_phase`; None when it was not measured."""
    return max(by_phase(pass_costs(tables, trace)).values(), default=None)
