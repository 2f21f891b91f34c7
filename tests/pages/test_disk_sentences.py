"""What pages say of waiting for the disk, and of a run whose passes read nothing."""

from typing import Any

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_faults
from tests.pages.rendered import said_of
from tracegen.report.figures.disk_waits import DISK_SPLIT
from tracegen.report.figures.timeline import TIMELINE
from tracegen.report.pages.collector import Collector

TABLES = with_faults(scaled_case(3, 2, threads=2))


@pytest.mark.parametrize("recorded", [True, False])
def test_the_timeline_of_a_pass_without_a_page_fault_says_so(recorded: bool) -> None:
    run = a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=recorded))
    shown = said_of(TIMELINE, {**TABLES, "faults": TABLES["faults"].iloc[:0]}, run)
    assert ("No operation has a page fault of the model file." in shown) == recorded
    assert ("Work includes waiting for the disk." in shown) != recorded
    assert "Dark stretches are page faults" in said_of(TIMELINE, TABLES, run)


@pytest.mark.parametrize(("read_bytes", "nothing"), [(0, True), (4096, False), (None, False)])
def test_a_run_whose_passes_read_nothing_says_so(read_bytes: Any, nothing: bool) -> None:
    read = pd.array([read_bytes] * len(TABLES["passes"]), "Int64")
    tables = {**TABLES, "passes": TABLES["passes"].assign(read_bytes=read)}
    run = a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=True))
    assert ("is page faults that read nothing" in said_of(DISK_SPLIT, tables, run)) == nothing
    found = {finding.measure for finding in Collector(run, tables).findings}
    assert ("Page faults that read nothing" in found) == nothing != ("Waiting for the disk" in found)
