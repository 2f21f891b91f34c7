"""Causes take their time from parts of the attribution, none twice, and by the bytes that a pass read."""

from collections import defaultdict

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_faults, with_requests
from tests.report.rendered import CASES, disk_case
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.attribution import PARTS
from tracegen.analysis.causes.cause import phase_of
from tracegen.analysis.causes.found import causes

PARTS_OF = {
    "unused-reads": "disk",
    "evicted": "disk",
    "first-reads": "disk",
    "reads": "disk",
    "paging": "paging",
    "memory-bandwidth": "computing",
    "kernel": "computing",
    "barriers": "barrier",
    "outside": "outside",
}


def faulted(seed: int = 3) -> dict[str, pd.DataFrame]:
    """Passes with page faults, of which it is not known whether they read anything."""
    tables = with_faults(scaled_case(12, 2, moe=True, copied=False, threads=2), seed=seed)
    passes = tables["passes"]
    return {**tables, "passes": passes.assign(read_bytes=pd.array([pd.NA] * len(passes), "Int64"))}


def disk_run(seed: int = 3) -> Analyses:
    return Analyses(disk_case()[0], with_requests(faulted(seed), seed=seed))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("phase", ["generate", "prompt"])
def test_causes_of_any_run_take_no_more_than_the_parts_that_they_divide(case: str, phase: str) -> None:
    of = Analyses(a_run(), CASES[case])
    time, found = phase_of(of, phase), causes(of, phase)
    if time is None:
        assert not found
        return
    taken: dict[str, float] = defaultdict(float)
    for cause in found:
        assert cause.phase == phase and cause.ns > 0 and cause.share == pytest.approx(cause.ns / time.whole_ns)
        taken[PARTS_OF[cause.key]] += cause.ns
    parts = {name.removesuffix("_ns"): ns for name, ns in time.parts.items()}
    parts["disk"] += parts.pop("behind")
    for name, ns in taken.items():
        assert ns <= parts[name] * (1 + 1e-9) + 1, name
    assert sum(taken.values()) <= time.whole_ns * (1 + 1e-9)


def test_the_parts_of_a_phase_are_its_whole_time_with_page_faults_and_without() -> None:
    of = disk_run()
    for tables in (of.tables, {**of.tables, "spans": of.tables["spans"].assign(fault_ns=pd.NA)}):
        time = phase_of(Analyses(a_run(), tables), "generate")
        assert time is not None and set(time.parts) == set(PARTS)
        assert sum(time.parts.values()) == pytest.approx(time.whole_ns)


def test_waiting_for_the_disk_is_divided_by_bytes_pass_by_pass() -> None:
    of = disk_run()
    split = of.time_split.set_index("pass_id")
    expected: dict[str, float] = defaultdict(float)
    for row in of.of_kind(of.disk_requests, "generate").to_dict("records"):
        waited = float(split.loc[row["pass_id"], ["disk_ns", "behind_ns"]].sum())
        used = row["now_bytes"] + row["later_bytes"]
        for key, size in (
            ("unused-reads", row["never_bytes"]),
            ("evicted", row["evicted_bytes"]),
            ("first-reads", used - row["evicted_bytes"]),
        ):
            expected[key if row["page_bytes_read"] else "reads"] += (
                waited * size / row["page_bytes_read"] if row["page_bytes_read"] else waited / 3
            )
    found = {cause.key: cause.ns for cause in causes(of, "generate") if PARTS_OF[cause.key] == "disk"}
    assert found == pytest.approx({key: ns for key, ns in expected.items() if ns > 1})
    assert len(found) >= 3


def test_without_requests_waiting_has_one_cause() -> None:
    found = {cause.key for cause in causes(Analyses(a_run(), faulted()), "generate")}
    assert "reads" in found and not {"unused-reads", "evicted", "first-reads"} & found
