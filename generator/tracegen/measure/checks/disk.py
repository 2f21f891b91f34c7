"""The checks of recorded page faults: none lost, as many as the kernel counts, each where its operation touched.

What is recorded beside them is checked here as well: the waits at barriers that tell who waited for whose page fault,
and when threads could have run but had no processor.
"""

import numpy as np

from tracegen.analysis import behind, disk_waits
from tracegen.analysis.backends import elsewhere_ns
from tracegen.analysis.passes import measured
from tracegen.contract.check_keys import (
    FAULTS_MORE,
    FAULTS_OUTSIDE,
    FAULTS_SLACK,
    FAULTS_SLACK_OF_PASS,
    PREEMPTIONS_SLACK,
    PREEMPTIONS_SLACK_OF_THREAD_NS,
    Key,
)
from tracegen.contract.model import Check, CheckState
from tracegen.contract.quantities import count, counted
from tracegen.measure.checks.evidence import Evidence, check

NOT_RECORDED = "page faults were not recorded"
HOW = (
    "the kernel refused them ({}): an administrator can allow them with `sysctl kernel.perf_event_paranoid=2`, "
    "and in a container by allowing perf_event_open"
)


def recorded(e: Evidence) -> Check:
    """Whether the kernel had room for each fault, and each computing thread could be watched."""
    if not e.trace["faults_recorded"]:
        refused = e.trace["faults_refused"]
        state: CheckState = "warning" if refused else "not checked"
        return check(Key.FAULTS_RECORDED, state, NOT_RECORDED, HOW.format(refused) if refused else "")
    lost = int(e.tables["passes"].loc[measured_rows(e), "lost_faults"].sum())
    unwatched, all_lost = int(e.trace["threads_without_faults"]), int(e.trace["faults_lost"])
    found = f"{counted(lost, 'event', 'events')} lost in passes, {counted(unwatched, 'thread', 'threads')} unwatched"
    detail = f"{counted(all_lost - lost, 'event was', 'events were')} lost outside passes" if all_lost > lost else ""
    return check(Key.FAULTS_RECORDED, lost == 0 and unwatched == 0, found, detail)


def agree(e: Evidence) -> Check:
    """Whether recorded faults and the counters of the process agree; the rest is of threads that do not compute."""
    passes = e.tables["passes"].loc[measured_rows(e)].dropna(subset=["minor_faults", "other_faults"])
    if not e.trace["faults_recorded"] or passes.empty:
        return check(Key.FAULTS_AGREE, "not checked", NOT_RECORDED)
    in_files = e.tables["faults"].groupby("pass_id").size().reindex(passes["pass_id"], fill_value=0).to_numpy()
    here = in_files + passes["other_faults"].to_numpy("int64")
    kernel = (passes["minor_faults"] + passes["major_faults"]).to_numpy("int64")
    rest = int((kernel - here).sum())
    allowed = max(FAULTS_SLACK * int(kernel.sum()), FAULTS_SLACK_OF_PASS * len(passes))
    more = -rest / int(kernel.sum()) if int(kernel.sum()) else 0.0
    state: CheckState = "passed" if abs(rest) <= allowed else "failed" if more > FAULTS_MORE else "warning"
    found = f"{count(here.sum())} recorded, {count(kernel.sum())} counted"
    others = "another backend computed, and the kernel counts what its threads did in this program"
    if rest > allowed and len(elsewhere_ns(e.tables["splits"])):
        return check(Key.FAULTS_AGREE, "not checked", found, others)
    whose = "threads that do not compute had the others"
    again = "the kernel counts a page fault once that it began again, as it does when memory is short"
    why = "" if state != "warning" else whose if rest > 0 else again
    return check(Key.FAULTS_AGREE, state, found, why)


def placed(e: Evidence) -> Check:
    """Whether faults take no longer than the work they lie in, and lie in bytes that their operation touches."""
    spans = e.tables["spans"]
    spans = spans[spans["fault_ns"].notna().to_numpy(bool)]
    if not e.trace["faults_recorded"] or spans.empty:
        return check(Key.FAULTS_PLACED, "not checked", NOT_RECORDED)
    longer = int((spans["fault_ns"].to_numpy("int64") > spans["work_ns"].to_numpy("int64")).sum())
    n, outside = disk_waits.outside_touched(e.tables)
    found = (
        f"{count(n)} in operations, {count(outside)} of them outside; "
        f"{counted(longer, 'span', 'spans')} with longer faults than work"
    )
    return check(Key.FAULTS_PLACED, longer == 0 and outside <= FAULTS_OUTSIDE * n, found)


def barriers(e: Evidence) -> Check:
    """Whether the waits at barriers inside operations add up to what their operations state, to a ns for each."""
    if not e.trace["faults_recorded"]:
        return check(Key.FAULTS_BARRIERS, "not checked", NOT_RECORDED)
    waits = e.tables["barriers"].groupby(behind.KEY)["duration_ns"].agg(["sum", "size"])
    spans = e.tables["spans"].set_index(behind.KEY)["barrier_ns"].astype("int64")
    waits = waits.reindex(spans.index, fill_value=0)
    apart = len(e.tables["barriers"]) - int(waits["size"].sum())
    wrong = int(((waits["sum"] - spans).abs() > waits["size"] + 1).sum()) + apart
    found = f"{counted(len(e.tables['barriers']), 'wait')}, {counted(wrong, 'operation differs', 'operations differ')}"
    return check(Key.FAULTS_BARRIERS, wrong == 0, found)


def preemptions(e: Evidence) -> Check:
    """Whether no pass has more preemptions than its threads waited for a processor, which the kernel counts by itself.

    It counts more: also waits for a processor that follow waits for something else. A pass is left out in which threads
    ended that it no longer tells of.
    """
    if not e.trace.get("off_cpu_recorded"):
        return check(Key.PREEMPTIONS_AGREE, "not checked", "preemptions were not recorded")
    passes = measured(e.tables).dropna(subset=["end_ns", "run_delay_ns"]).set_index("pass_id")
    n_threads = e.tables["spans"].groupby("pass_id")["thread"].nunique().reindex(passes.index, fill_value=0)
    told = passes.index.map(e.trace["delay_threads"]).to_numpy("float64") >= n_threads.to_numpy("float64")
    passes, n_threads = passes[told], n_threads[told]
    if passes.empty:
        return check(Key.PREEMPTIONS_AGREE, "not checked", "the kernel’s count was not recorded")
    of_pass = passes[["begin_ns", "end_ns"]].add_prefix("pass_").reset_index()
    rows = e.tables["off_cpu"]
    rows = rows[~rows["slept"].to_numpy(bool)].merge(of_pass, on="pass_id")
    inside = rows["begin_ns"] >= rows["pass_begin_ns"]
    inside &= rows["begin_ns"] + rows["duration_ns"] <= rows["pass_end_ns"]
    rows = rows[inside.to_numpy(bool)]
    here = rows.groupby("pass_id")["duration_ns"].sum().reindex(passes.index, fill_value=0)
    kernel = passes["run_delay_ns"].astype("int64")
    allowed = kernel * (1 + PREEMPTIONS_SLACK) + n_threads * PREEMPTIONS_SLACK_OF_THREAD_NS
    more = int((here > allowed).sum())
    found = f"{count(round(here.sum() / 1e6))} ms recorded, {count(round(kernel.sum() / 1e6))} ms counted"
    detail = (
        f"{counted(more, 'pass has', 'passes have')} more; a virtual machine can stand still between the two counts"
    )
    return check(Key.PREEMPTIONS_AGREE, "warning" if more else "passed", found, detail if more else "")


def measured_rows(e: Evidence) -> np.ndarray:
    """Which rows of the table `passes` are measured, as a mask."""
    mask: np.ndarray = e.tables["passes"]["pass_id"].isin(measured(e.tables)["pass_id"]).to_numpy(bool)
    return mask


CHECKS = (recorded, agree, placed, barriers, preemptions)
