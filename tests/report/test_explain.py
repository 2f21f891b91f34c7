"""Every figure and table explains itself, and the lines it gives make the very data that it links."""

import io
import re
from collections.abc import Mapping
from functools import cache
from html import unescape
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from tests.builders import (
    a_moe_run,
    a_run,
    scaled_case,
    with_allocations,
    with_device_ops,
    with_drafts,
    with_faults,
    with_footprint,
    with_nodes,
    with_reads,
    with_requests,
    with_second_prompt,
    without,
)
from tests.golden.hard_case import hard_case
from tests.report.rendered import undrawn
from tests.site_project import stored
from tracegen.contract import tables as contract
from tracegen.contract.model import Check, Run, Version
from tracegen.reading.notebook import loaded
from tracegen.report.document.page import Report
from tracegen.report.figures.catalogue import FIGURES, part_of
from tracegen.report.figures.explanation import explained

PAGE = 4096
EXPLAINED = '<details class="tg-explain">'


def with_residency() -> dict[str, pd.DataFrame]:
    """A run that looked at the page cache: some pages after the load, more after each pass."""
    tables = scaled_case(2, 2)
    rows = [
        dict(pass_id=int(p), file=0, first_page=first, n_pages=n)
        for p in tables["passes"]["pass_id"]
        for first, n in ((1, 10 + int(p)), (300, 7))
    ]
    return {**tables, "residency": contract.frame("residency", rows)}


CASES: Mapping[str, Mapping[str, pd.DataFrame]] = {
    "experts": scaled_case(2, 2, moe=True, splits=2),
    "no experts chosen": scaled_case(0, 1, moe=True),
    "hard case": hard_case(),
    "residency": with_residency(),
    "device": with_nodes(
        with_allocations(with_device_ops(with_footprint(with_reads(with_second_prompt(scaled_case(2, 2))))))
    ),
    "allocations": with_allocations(with_footprint(scaled_case(2, 2))),
    "drafts": with_drafts(scaled_case(2, 2)),
    "page faults": with_faults(scaled_case(3, 2, moe=True, threads=2)),
    "requests": with_requests(scaled_case(3, 2, moe=True, splits=2)),
    "unseen rows": without(scaled_case(2, 2), "touches"),
}
HOST = dict(memory_bytes=8 << 30, page_bytes=PAGE)
RUN, MOE_RUN = a_run(host=HOST), a_moe_run(host=HOST)
WITH_EXPERTS = ("experts", "no experts chosen", "hard case")
OTHER_RUNS = {
    "page faults": a_run(host=HOST, trace=dict(faults_recorded=True)),
    "requests": a_moe_run(host=HOST, trace=dict(requests_recorded=True)),
}


def render(tables: Mapping[str, pd.DataFrame], run: Run = RUN, citable: Version | None = None) -> Report:
    return undrawn(tables, run, citable)


@cache
def report_of(name: str) -> Report:
    return render(CASES[name], run_of(name))


def run_of(name: str) -> Run:
    return MOE_RUN if name in WITH_EXPERTS else OTHER_RUNS.get(name, RUN)


def shown(report: Report) -> dict[str, str]:
    """Key of every figure and table -> its HTML."""
    panels = {}
    for page in report.pages:
        pattern = r'<(figure|section) id="(?:fig|tab)-([\w-]+)"[^>]*>(.*?)</\1>'
        panels |= {key: html for _, key, html in re.findall(pattern, page.body, re.DOTALL)}
    return panels


def programs(report: Report) -> dict[str, tuple[str, str]]:
    """Key -> (the lines that a page gives, the CSV that it says they make)."""
    by_key = {}
    for key, html in shown(report).items():
        for code, csv in re.findall(r"<pre [^>]*><code>(.*?)</code></pre>.*? equals <a href=\"([^\"]+)\"", html, re.S):
            by_key[key] = unescape(code), csv.removeprefix("../")
    return by_key


@pytest.mark.parametrize("name", CASES)
def test_every_figure_and_table_has_an_explanation(name: str) -> None:
    found = shown(report_of(name))
    assert len(found) > 15
    assert not sorted(key for key in found if part_of(key) is None), "give them an object in figures/"
    for key, html in found.items():
        assert html.count(EXPLAINED) == 1, key
        words = unescape(html)
        part = part_of(key)
        assert part and all(text in words for text in (part.shows, part.counts, part.read)), key


def test_nothing_in_the_catalogue_is_left_over() -> None:
    keys = {key for name in CASES for key in shown(report_of(name))}
    assert {part.key for key in keys if (part := part_of(key))} == {part.key for part in FIGURES}


@pytest.mark.parametrize("name", CASES)
def test_the_lines_make_the_data_that_the_page_links(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path / "experiments", run_of(name), dict(CASES[name]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loaded, "load_run", cache(loaded.load_run))  # every few lines read the same run
    found = programs(report_of(name))
    linked = {
        key
        for key, html in shown(report_of(name)).items()
        if re.search(r'href="[^"]+\.csv" download', re.sub(rf"{EXPLAINED}.*?</details>", "", html, flags=re.DOTALL))
        and "tg-reason" not in html
    }
    assert set(found) == {key for key in linked if (part := part_of(key)) and part.code}
    for key, (code, csv) in found.items():
        names: dict[str, pd.DataFrame] = {}
        exec(compile(code, f"{key} of {name}", "exec"), names)
        data = pd.read_csv(io.StringIO(names["data"].to_csv(index=False)))
        expected = pd.read_csv(io.BytesIO(report_of(name).files[csv]))
        assert_frame_equal(data, expected, check_exact=False, rtol=1e-12, atol=0, obj=key)
        assert code.count("\n") <= 10, key


def test_the_lines_read_a_published_version_by_its_citation() -> None:
    version = Version("demo", 3, "2026-11-20T12:00:00Z", "", (3,), "complete", "What?")
    found = programs(render(scaled_case(1, 1), citable=version))
    assert found and all("\nrun = tracegen.load('demo@v3')\n" in code for code, _ in found.values())


def test_a_function_that_made_data_is_there() -> None:
    for part in FIGURES:
        assert not (part.code and part.made_by), part.key
        if part.made_by:
            module, _, name = part.made_by.rpartition(".")
            assert callable(getattr(import_module(module), name)), part.key


def test_a_figure_that_is_not_drawn_explains_itself_without_lines() -> None:
    failed = Check("dropped_events", "No event was dropped", "failed", "3", "0")
    found = shown(render(CASES["residency"], a_run(checks=(failed,))))
    for key in ("heatmap", "components", "top-operations", "never-touched"):
        assert "tg-explain" in found[key] and "<pre" not in found[key], key
    assert "<pre" in found["checks"]


def test_an_address_cannot_leave_its_string() -> None:
    about = part_of("model-files")
    assert about and about.code == "data = run.files"
    code = explained(about, "a'); import os; os.abort() #\u202e\n", "data/x.csv", {}).code
    assert code.splitlines()[-2] == """run = tracegen.load("a'); import os; os.abort() #\\u202e\\n")"""
