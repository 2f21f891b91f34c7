"""The checks of page faults: each test breaks one thing in a run that passes them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case, with_barriers, with_faults, with_off_cpu
from tracegen.analysis.passes import measured
from tracegen.contract.model import Check
from tracegen.measure.checks import disk
from tracegen.measure.checks.evidence import Evidence

Tables = dict[str, pd.DataFrame]

TRACE = {
    "faults_recorded": True,
    "faults_refused": None,
    "faults_lost": 0,
    "threads_without_faults": 0,
    "off_cpu_recorded": True,
    "delay_threads": dict.fromkeys(range(99), 2),
    "requests_recorded": False,
    "requests_refused": None,
}
CASE = with_off_cpu(with_barriers(with_faults(scaled_case(3, 2, moe=True, threads=2))))
CHECKS = disk.CHECKS
RECORDED = ("faults_recorded", "off_cpu_recorded")


def evidence(tables: Tables = CASE, **trace: Any) -> Evidence:
    return Evidence(tables, TRACE | trace, {})


def in_first_measured(tables: Tables, **changes: int) -> Tables:
    """The tables with columns of the first measured pass changed."""
    passes = tables["passes"].copy()
    row = passes["pass_id"] == measured(tables)["pass_id"].iloc[0]
    for name, value in changes.items():
        passes.loc[row, name] = value
    return {**tables, "passes": passes}


def test_a_run_with_all_its_faults_passes() -> None:
    checks = [each(evidence()) for each in CHECKS]
    assert [check.state for check in checks] == ["passed"] * 5, checks
    assert checks[2].found.startswith(
        f"{len(CASE['faults']) - outside_statistics():,} in operations".replace(",", "\u202f")
    )


def outside_statistics() -> int:
    """Faults of load and warm-up."""
    return int((~CASE["faults"]["pass_id"].isin(measured(CASE)["pass_id"])).sum())


@pytest.mark.parametrize("each", CHECKS)
def test_a_run_that_recorded_none_is_not_checked(each: Any) -> None:
    check: Check = each(Evidence(scaled_case(1, 1), TRACE | dict.fromkeys(RECORDED, False), {}))
    assert check.state == "not checked" and "not recorded" in check.found


def test_a_kernel_that_refuses_is_a_warning_that_says_what_to_set() -> None:
    refused = {"faults_recorded": False, "faults_refused": "Permission denied"}
    check = disk.recorded(Evidence(scaled_case(1, 1), TRACE | refused, {}))
    assert check.state == "warning"
    assert "Permission denied" in check.detail and "kernel.perf_event_paranoid" in check.detail


@pytest.mark.parametrize(
    ("each", "in_pass", "trace", "state", "says"),
    [
        (disk.recorded, {"lost_faults": 3}, {"faults_lost": 3}, "failed", "3 events lost in passes"),
        (disk.recorded, {}, {"faults_lost": 17}, "passed", "17 events were lost outside passes"),
        (disk.recorded, {}, {"threads_without_faults": 1}, "failed", "1 thread unwatched"),
        (disk.agree, {"minor_faults": 100_000}, {}, "warning", "threads that do not compute"),
        # when memory is short, a page can be dropped before it is mapped: the fault begins again, and counts once
        (disk.agree, {"minor_faults": 10_000, "other_faults": 11_000}, {}, "warning", "began again"),
        (disk.agree, {"minor_faults": 0, "other_faults": 10_000}, {}, "failed", ""),
    ],
)
def test_faults_that_were_lost_or_that_nobody_counted(
    each: Any, in_pass: dict[str, int], trace: dict[str, int], state: str, says: str
) -> None:
    check: Check = each(evidence(in_first_measured(CASE, **in_pass), **trace))
    assert check.state == state and says in f"{check.found} {check.detail}"


def test_faults_longer_than_the_work_fail() -> None:
    spans = CASE["spans"].copy()
    row = spans["fault_ns"].idxmax()
    spans.loc[row, "fault_ns"] = spans.loc[row, "work_ns"] + 1
    check = disk.placed(evidence({**CASE, "spans": spans}))
    assert check.state == "failed" and "1 span with longer faults" in check.found


def test_faults_on_bytes_that_their_operation_does_not_touch_fail() -> None:
    faults = CASE["faults"].copy()
    faults["offset"] = pd.array(np.zeros(len(faults), np.int64), dtype="Int64")  # the header of the file
    assert disk.placed(evidence({**CASE, "faults": faults})).state == "failed"


@pytest.mark.parametrize(
    ("more", "state", "says"),
    [(-100, "passed", ""), (2_000_000, "passed", ""), (2_300_000, "warning", "1 pass has more")],
)
def test_more_preemptions_than_the_kernel_counted_are_a_warning(more: int, state: str, says: str) -> None:
    """Two threads may have 2 ms more, and a hundredth of what is counted: some 200 us here."""
    first = int(measured(CASE)["pass_id"].iloc[0])
    rows = CASE["off_cpu"].copy()
    row = rows.index[rows["pass_id"] == first][0]
    rows.loc[row, "duration_ns"] += more
    passes = CASE["passes"].assign(end_ns=CASE["passes"]["end_ns"] + 10_000_000)
    check = disk.preemptions(evidence({**CASE, "off_cpu": rows, "passes": passes}))
    assert (check.state, says in check.detail) == (state, True) and "ms counted" in check.found


def test_preemptions_that_leave_their_pass_are_not_compared() -> None:
    rows = CASE["off_cpu"].assign(begin_ns=0)
    check = disk.preemptions(evidence({**CASE, "off_cpu": rows}))
    assert check.state == "passed" and check.found.startswith("0 ms recorded")


@pytest.mark.parametrize("threads", [{}, dict.fromkeys(range(99), 1)])
def test_preemptions_of_threads_that_the_kernel_no_longer_counts_are_not_checked(threads: dict[int, int]) -> None:
    assert disk.preemptions(evidence(delay_threads=threads)).state == "not checked"
    passes = CASE["passes"].assign(run_delay_ns=pd.array([None] * len(CASE["passes"]), dtype="Int64"))
    assert disk.preemptions(evidence({**CASE, "passes": passes})).state == "not checked"


def with_waits(waits: pd.DataFrame) -> Check:
    return disk.barriers(evidence({**CASE, "barriers": waits}))


def test_a_wait_at_a_barrier_that_was_not_recorded_fails() -> None:
    waits = CASE["barriers"]
    longest = int(waits["duration_ns"].argmax())
    check = with_waits(waits.drop(index=longest))
    assert check.state == "failed" and ", 1 operation differs" in check.found
    assert with_waits(waits.iloc[:0]).state == "failed"


def test_waits_may_differ_by_what_is_rounded() -> None:
    waits = CASE["barriers"]
    for more, state in ((2, "passed"), (3, "failed")):
        check = with_waits(waits.assign(duration_ns=waits["duration_ns"] + more))
        assert check.state == state


def test_a_wait_in_an_operation_that_no_thread_ran_fails() -> None:
    waits = CASE["barriers"]
    assert with_waits(pd.concat([waits, waits.iloc[:1].assign(node=10_000)])).state == "failed"


def test_a_fused_kernel_touches_what_its_operations_touch() -> None:
    """The multiplication by the weights of a norm runs in the kernel of the norm before it: so do its page faults."""
    faults, ops = CASE["faults"].copy(), CASE["ops"].copy()
    norms = CASE["graph_nodes"]
    multiplied = norms[norms["name"].str.startswith("attn_norm").fillna(False).to_numpy(bool)]["node"]
    assert faults["node"].isin(multiplied).any()
    fused = ops["node"].isin(multiplied).to_numpy(bool)
    ops.loc[fused, "fused_into"] = ops.loc[fused, "node"] - 1
    moved = faults["node"].isin(multiplied).fillna(False).to_numpy(bool)
    faults.loc[moved, "node"] = faults.loc[moved, "node"] - 1
    assert disk.placed(evidence({**CASE, "faults": faults, "ops": ops})).state == "passed"
    assert disk.placed(evidence({**CASE, "faults": faults})).state == "failed"
