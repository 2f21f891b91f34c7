"""The cost of tracing each pass: events, copies and hooks, as a share of the undisturbed thread time of the pass.

A pass on a busy machine takes longer, and tracing takes the same: a share of the time that passed would shrink the more
others disturb. So the share is of the thread time that the pass would have taken with its processors to itself. No
trace knows it, but it is no less than each of these, of which the larger counts (`undisturbed`), so that the share is
rather too high than too low:
- the thread time less every wait for a processor, counted for all threads: while one waits, the others wait for it;
- the work of its threads less these waits.
Where more threads than processors wait all the time, neither may leave anything. Then each thread counts with the work
of the one that did least of an operation, which is an estimate. What a hypervisor takes, and what neighbours slow down
without taking a processor, is in no count of the kernel.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

PHASES = ("prompt", "generate")
FAULT_NS = 1000  # the most that recording a page fault may cost: a limit of the benchmark
COLUMNS = ("pass_id", "phase", "cost_ns", "thread_ns", "undisturbed_ns", "share", "between_ns", "between_share")


def pass_costs(tables: Tables, trace: Mapping[str, Any]) -> pd.DataFrame:
    """The tracing cost of each measured pass with known times; a row for each, with `COLUMNS`.

    `trace` is the reader's description of the trace: event_cost_ns (one op event beside other work, measured when the
    run began), clock_read_ns, and by pass_id hook_ns (time in hooks during the pass), copy_ns (time to copy rows,
    experts and masks) and between_ns. While one thread is in a hook or copies, the others wait: both count for every
    thread. Each recorded page fault counts FAULT_NS, each recorded wait at a barrier as an event. thread_ns is the
    duration times the threads, undisturbed_ns what `undisturbed` says of it, share the cost as a share of that; phase
    is prompt, generate, or other. between_ns is the time in the tracer between the pass and the one before, which is
    in no pass and in no cost, and between_share its share of both times together; both are null where not recorded.
    No rows when the cost of an event was not measured.
    """
    passes, spans = measured(tables).dropna(subset=["graph", "duration_ns"]), tables["spans"]
    event, clock = float(trace["event_cost_ns"]), float(trace["clock_read_ns"])
    if np.isnan(event) or np.isnan(clock) or passes.empty or spans.empty:
        return pd.DataFrame({name: pd.Series(dtype="object" if name == "phase" else "float64") for name in COLUMNS})
    grouped = spans.groupby("pass_id")
    counted = pd.DataFrame({"n_spans": grouped.size(), "n_threads": grouped["thread"].max() + 1})
    counted["n_barriers"] = (spans["barrier_ns"] > 0).groupby(spans["pass_id"]).sum()
    table = passes[["pass_id", "kind", "duration_ns", "run_delay_ns"]]
    table = table.merge(counted, left_on="pass_id", right_index=True)
    together = sum(table["pass_id"].map(trace[name]).fillna(0.0).astype("float64") for name in ("hook_ns", "copy_ns"))
    cost = table["n_spans"] * event + table["n_barriers"] * 2 * clock + together * table["n_threads"]
    cost += table["pass_id"].map(tables["barriers"].groupby("pass_id").size()).fillna(0).astype("float64") * event
    faults = tables["faults"].groupby("pass_id").size().add(passes.set_index("pass_id")["other_faults"], fill_value=0)
    cost += table["pass_id"].map(faults).fillna(0).astype("float64") * FAULT_NS
    thread_ns = table["duration_ns"].astype("float64") * table["n_threads"]
    alone = undisturbed(table.assign(thread_ns=thread_ns), spans)
    between = table["pass_id"].map(trace.get("between_ns", {})).astype("float64")
    kind = table["kind"].astype("object")
    return table.assign(
        phase=kind.where(kind.isin(PHASES), "other"),
        cost_ns=cost,
        thread_ns=thread_ns,
        undisturbed_ns=alone,
        share=cost / alone,
        between_ns=between,
        between_share=between / (alone / table["n_threads"] + between),
    )[list(COLUMNS)].reset_index(drop=True)


def undisturbed(passes: pd.DataFrame, spans: pd.DataFrame) -> pd.Series:
    """The thread time that each pass would have taken without waits for processors, at least; ns, float64.

    `passes` has pass_id, thread_ns, n_threads and run_delay_ns; where that is not recorded, thread_ns counts as it is.
    Null where nothing is known: waits leave nothing of the pass, and no operation was worked on by all threads.
    """
    work = spans.groupby("pass_id")["work_ns"].sum()
    ops = spans.groupby(["pass_id", "node"])["work_ns"].agg(["min", "size"])
    even = (ops["min"] * ops["size"]).groupby("pass_id").sum()
    whole, delay = passes["thread_ns"], passes["run_delay_ns"].fillna(0).astype("float64")
    by_delay = whole - delay * passes["n_threads"]
    by_work = passes["pass_id"].map(work).fillna(0).astype("float64") - delay
    least = by_delay.where(by_delay > by_work, by_work)
    least = least.where(least > 0, passes["pass_id"].map(even).astype("float64"))
    return least.where(least > 0).clip(upper=whole)


def by_phase(costs: pd.DataFrame, column: str = "share") -> dict[str, float]:
    """The cost share of the median pass of each phase that occurs; a delayed pass does not change a median."""
    medians = costs.groupby("phase")[column].median().dropna()
    return {str(phase): float(share) for phase, share in medians.items()}


def elapsed(costs: pd.DataFrame) -> dict[str, float]:
    """The same as a share of the thread time that passed, which is no more than the cost surely was."""
    return by_phase(costs.assign(elapsed=costs["cost_ns"] / costs["thread_ns"]), "elapsed")


def overhead_share(tables: Tables, trace: Mapping[str, Any]) -> float | None:
    """The tracing cost that a run states: the largest share of `by_phase`; None when it was not measured."""
    return max(by_phase(pass_costs(tables, trace)).values(), default=None)


def between_share(tables: Tables, trace: Mapping[str, Any]) -> float | None:
    """What tracing takes between passes, beside the cost in them: the largest share of a phase; None: not recorded."""
    return max(by_phase(pass_costs(tables, trace), "between_share").values(), default=None)
