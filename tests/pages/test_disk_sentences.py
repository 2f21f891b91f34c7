"""Sentences about waiting for the disk, and what a run says whose passes read nothing."""

import re
from typing import Any

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_faults
from tests.pages.rendered import body, rendered
from tracegen.report.pages.page import Report
from tracegen.report.words import disk_sentences as say

SUMS = {"duration_ns": 10e6, "disk_ns": 2e6, "behind_ns": 1e6}


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text).replace("\u202f", " "))


def reading(read_bytes: Any) -> Report:
    tables = with_faults(scaled_case(3, 2, threads=2))
    read = pd.array([read_bytes] * len(tables["passes"]), "Int64")
    tables = {**tables, "passes": tables["passes"].assign(read_bytes=read)}
    return rendered(tables, a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=True)))


@pytest.mark.parametrize("read", [None, 4096])
def test_passes_that_read_wait_for_the_disk(read: int | None) -> None:
    title = plain(say.split_title(SUMS, "generate", read))
    assert (
        title
        == "20.0 % of the time of generate passes is waiting for the disk, and 10.0 % waiting for a thread that does"
    )


def test_passes_that_read_nothing_do_not_wait_for_the_disk() -> None:
    title = plain(say.split_title(SUMS, "prompt", 0))
    assert title == "20.0 % of the time of the prompt is page faults that read nothing: pages in memory were mapped"
    assert "wait" not in title


def test_passes_without_a_page_fault_say_so() -> None:
    title = plain(say.split_title({**SUMS, "disk_ns": 0.0}, "generate", 0))
    assert title == "No operation of generate passes has a page fault of the model file"


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


def test_the_layer_that_is_waited_for_longest_is_named() -> None:
    alike = plain(say.layers_title(7, 0.06, 24, 0.09, "generate"))
    assert alike == "Waiting of generate passes is for all 24 layers alike: longest for layer 7, 6.0 % of that"
    assert (
        plain(say.layers_title(3, 0.07, 24, 0.0, "prompt"))
        == "7.0 % of the waiting of the prompt for layers is for layer 3 (of 0 to 23)"
    )
    assert plain(say.layers_title(0, 1.0, 1, 0.336, "generate")) == (
        "100 % of the waiting of generate passes for layers is for the only layer; 33.6 % of all waiting is for bytes "
        "outside layers"
    )


def test_few_large_requests_bring_most() -> None:
    title = plain(say.read_sizes_title("1 MiB", 0.83, 0.082))
    assert title == "8.2 % of the requests, those over 1 MiB, bring 83.0 % of what was read"


def test_the_layers_are_those_of_the_prompt_where_only_it_waited() -> None:
    tables = with_faults(scaled_case(3, 2, threads=2))
    kinds = tables["passes"].set_index("pass_id")["kind"]
    of_prompt = tables["faults"][(tables["faults"]["pass_id"].map(kinds) == "prompt").to_numpy(bool)]
    run = a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=True))
    for faults, said in (
        (tables["faults"], "threads and generate passes. Bytes outside"),
        (of_prompt, "threads and prompt passes. Bytes outside"),
        (tables["faults"].iloc[:0], "No prompt or generate pass waited for a byte of a tensor."),
    ):
        assert said in plain(body(rendered({**tables, "faults": faults.reset_index(drop=True)}, run), "appendix"))
