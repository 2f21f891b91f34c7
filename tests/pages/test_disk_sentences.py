"""What pages say of waiting for the disk, and of a run whose passes read nothing."""

import re
from typing import Any

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_faults
from tests.pages.rendered import body, rendered
from tracegen.report.pages.page import Report


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text).replace("\u202f", " "))


def reading(read_bytes: Any) -> Report:
    tables = with_faults(scaled_case(3, 2, threads=2))
    read = pd.array([read_bytes] * len(tables["passes"]), "Int64")
    tables = {**tables, "passes": tables["passes"].assign(read_bytes=read)}
    return rendered(tables, a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=True)))


@pytest.mark.parametrize("recorded", [True, False])
def test_the_timeline_of_a_pass_without_a_page_fault_says_so(recorded: bool) -> None:
    run = a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=recorded))
    tables = with_faults(scaled_case(3, 2, threads=2))
    none = tables["faults"].iloc[:0]
    shown = plain(body(rendered({**tables, "faults": none}, run), "timeline"))
    assert ("No operation has a page fault of the model file." in shown) == recorded
    assert ("Work includes waiting for the disk." in shown) != recorded
    assert "Dark stretches are page faults" in plain(body(rendered(tables, run), "timeline"))


def test_a_run_whose_passes_read_nothing_says_so_on_both_pages() -> None:
    nothing, some, unknown = reading(0), reading(4096), reading(None)
    assert "is page faults that read nothing" in plain(body(nothing, "appendix"))
    first = plain(body(nothing, "overview"))
    assert "Page faults that read nothing: " in first and "Waiting for the disk: " not in first
    for report in (some, unknown):
        assert "is page faults that read nothing" not in plain(body(report, "appendix"))
        assert "Page faults that read nothing: " not in plain(body(report, "overview"))
        assert "Waiting for the disk: " in plain(body(report, "overview"))
