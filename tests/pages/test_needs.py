"""What a failed check forbids: each is made to fail, exactly the figures named are hidden, all others stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case, with_faults, with_requests
from tests.pages.rendered import undrawn
from tracegen.contract.model import Check, Run
from tracegen.contract.tables import frame
from tracegen.measure.checks.verdict import all_checks
from tracegen.readers.foreign.faults import KNOWN
from tracegen.report.figures import catalogue, needs
from tracegen.report.pages.page import Report
from tracegen.report.words.sentences import CARE

pytestmark = pytest.mark.slow

OF_IMPORTS = [key for key in KNOWN if catalogue.figures_of(key) or catalogue.noted_in(key)]  # also of native runs
CHECKS = list(dict.fromkeys([*(check.key for check in all_checks()), *OF_IMPORTS]))
WARNED = sorted({check for of in catalogue.NEEDS.values() for need in of for check in need.warned})
# Key figures have a value instead of an anchor.
VALUES = {"rates": "tokens_per_second_generate", "bytes": "weight_bytes_per_token", "file-use": "touched_share"}
IN_THE_DISK_TABLE = "storage"


def tables() -> dict[str, pd.DataFrame]:
    made = with_requests(with_faults(scaled_case(2, 2, moe=True)))
    last = int(made["passes"]["pass_id"].max())
    made["residency"] = frame("residency", [dict(pass_id=last, file=0, first_page=0, n_pages=2)])
    return made


@cache
def rendered(failed: str, state: str = "failed") -> Report:
    run = a_moe_run()
    checks = tuple(
        Check(key, f"Check of {key}", state if key == failed else "passed", f"17 of {key}", "0") for key in CHECKS
    )
    trace = {**run.facts["trace"], "faults_recorded": True, "requests_recorded": True}
    facts = {**run.facts, "trace": trace, "host": {**run.facts["host"], "page_bytes": 4096}}
    made: Run = replace(run, checks=checks, facts=facts)
    return undrawn(tables(), made)


def sections(report: Report) -> Iterator[tuple[str, str]]:
    """What stands from each anchor of a figure, a table or the key figures to the next one: key, text."""
    for page in report.pages:
        shown = re.sub(r"<script.*?</script>", "", page.body, flags=re.DOTALL)
        parts = re.split(r'id="(?:fig-|tab-|(?=key-figures|verdict"))([a-z0-9-]+)"', shown)
        for key, html in zip(parts[1::2], parts[2::2], strict=True):
            if key != "verdict":  # which names the checks, not what they concern
                yield key, re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def hidden(report: Report, check: str, how: str = "failed") -> set[str]:
    """The figures whose place says that this check failed, and the key figures that are not shown."""
    said = f"the check “Check of {check}” {how} (17 of {check}; limit 0)."
    found = {key for key, text in sections(report) if said in text.replace("\u202f", " ")}
    found |= {name for name, value in VALUES.items() if report.values[value]["value"] is None}
    disk = next(text for key, text in sections(report) if key == "disk")
    found -= {"disk", "key-figures"}
    found |= {IN_THE_DISK_TABLE} if "not shown" in disk else set()
    return {"graph" if key.startswith("graph-") else key for key in found}


def test_every_figure_that_needs_checks_stands_on_some_page() -> None:
    report = rendered("nothing")
    there = {"graph" if key.startswith("graph-") else key for key, _ in sections(report)}
    assert set(catalogue.NEEDS) - set(VALUES) - {IN_THE_DISK_TABLE} <= there
    assert not hidden(report, "nothing")


@pytest.mark.parametrize("check", CHECKS)
def test_a_failed_check_hides_exactly_the_figures_it_makes_false(check: str) -> None:
    assert hidden(rendered(check), check) == set(catalogue.figures_of(check))


@pytest.mark.parametrize("check", WARNED)
def test_what_an_imported_trace_lacks_hides_figures_already_where_it_warns(check: str) -> None:
    assert hidden(rendered(check, "warning"), check, "warned") == set(catalogue.figures_of(check))


def test_every_check_that_can_fail_forbids_something() -> None:
    """Those that only warn hide nothing: their words stand beside the figures."""
    only_warn = {
        "tokens_asked", "never_touched", "interference", "not_stopped", "even_tokens",
        "requests_agree", "operands_whole", "experts_prompt",
    }  # fmt: skip
    assert {check for check in CHECKS if not catalogue.figures_of(check)} == only_warn
    assert {check for key in catalogue.NEEDS for check in catalogue.checks_of(key)} <= set(CHECKS), (
        "a check that is none"
    )


@pytest.mark.parametrize("check", [key for key in CHECKS if catalogue.noted_in(key)])
def test_a_warning_stands_in_the_captions_of_what_it_concerns(check: str) -> None:
    report = rendered(check, "warning")
    said = f"Check of {check}: 17 of {check} (limit: 0)."
    concerned = set(catalogue.noted_in(check))
    captions = {key for key, text in sections(report) if said in text.replace("\u202f", " ")}
    drawn = {figure.key for figure in report.figures}
    assert concerned & drawn <= captions
    assert captions <= concerned
    assert not hidden(report, check)


@pytest.mark.parametrize("check", needs.NOTED_ABOVE_TIMES)
def test_a_warning_of_times_stands_above_them(check: str) -> None:
    report = rendered(check, "warning")
    said = f"{CARE[check]}: 17 of {check} (limit: 0)."
    for page in report.pages:
        text = re.sub(r"<[^>]+>", " ", page.body)
        assert (said in text) == (page.key in {"access", "disk", "operations", "graph", "timeline"}), page.key
        brief = f"Read these times with care: {CARE[check][:1].lower()}{CARE[check][1:]}."
        assert (brief in text) == (page.key == "overview"), page.key
        assert text.count(f"17 of {check} (limit: 0)") >= 1  # the line of the verdict
