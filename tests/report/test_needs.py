"""What a failed check forbids: each is made to fail, exactly the figures named are hidden, all others stand.

Figures that do not stand name all checks that they miss, so whole pages are made of a few runs only; one check alone
is tried on what decides, with the analyses of all tries made once.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache

import pandas as pd
import pytest

from tests.builders import (
    a_moe_run,
    scaled_case,
    with_allocations,
    with_device_ops,
    with_drafts,
    with_facts,
    with_faults,
    with_footprint,
    with_nodes,
    with_reads,
    with_requests,
    with_second_prompt,
)
from tests.report.rendered import same_analyses, undrawn
from tracegen.analysis.measures import BY_KEY
from tracegen.contract import needs
from tracegen.contract.check_keys import CHECKED
from tracegen.contract.details import DETAILS
from tracegen.contract.model import Check, Run
from tracegen.contract.tables import frame
from tracegen.foreign import faults
from tracegen.report.document.page import Report
from tracegen.report.figures import catalogue
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.explicit_reads import EXPLICIT_READS, FIRST_USES
from tracegen.report.words.sentences import CARE

# Those of imports that make figures false; also native runs may have them.
OF_IMPORTS = [key for key in faults.LIMITS if catalogue.figures_of(key) or catalogue.noted_in(key)]
CHECKS = list(dict.fromkeys([*(key.value for key in CHECKED), *OF_IMPORTS]))
WARNED = sorted({check for of in catalogue.NEEDS.values() for need in of for check in need.warned})
NOTED = [key for key in CHECKS if catalogue.noted_in(key)]
# Key figures have a value instead of an anchor.
VALUES = {"rates": "tokens_per_second_generate", "bytes": "weight_bytes_per_token", "file-use": "touched_share"}
IN_THE_DISK_TABLE = "storage"
ANCHORED = set(catalogue.NEEDS) - set(VALUES) - {IN_THE_DISK_TABLE}
HOW = {"failed": "failed", "warning": "warned"}


@cache
def tables() -> dict[str, pd.DataFrame]:
    case = with_footprint(with_device_ops(with_requests(with_faults(with_reads(scaled_case(2, 2, moe=True))))))
    case = with_nodes(with_allocations(with_drafts(with_second_prompt(case))))
    last = int(case["passes"]["pass_id"].max())
    case["residency"] = frame("residency", [dict(pass_id=last, file=0, first_page=0, n_pages=2)])
    return case


def run_with(of: Collection[str], state: str = "failed") -> Run:
    """A run of which everything was recorded, with these checks in this state, and all others passed."""
    checks = tuple(
        Check(key, f"Check of {key}", state if key in of else "passed", f"17 of {key}", "0") for key in CHECKS
    )
    recorded = dict(faults_recorded=True, requests_recorded=True)
    return with_facts(a_moe_run(checks=checks), trace=recorded, host=dict(page_bytes=4096))


@cache
def rendered(of: tuple[str, ...], state: str = "failed") -> Report:
    return undrawn(tables(), run_with(of, state))


@cache
def analysed() -> Context:
    """A context that has made the analyses of the table of the disk."""
    context = Context(run_with(()), tables())
    DISK.content(context)
    return context


def sections(report: Report) -> Iterator[tuple[str, str]]:
    """What stands from each anchor of a figure, a table or the key figures to the next one: key, text."""
    for page in report.pages:
        shown = re.sub(r"<script.*?</script>", "", page.body, flags=re.DOTALL)
        parts = re.split(r'id="(?:fig-|tab-|(?=key-figures|verdict"))([a-z0-9-]+)"', shown)
        for key, html in zip(parts[1::2], parts[2::2], strict=True):
            if key != "verdict":  # which names the checks, not what they concern
                text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("\u202f", " ")
                yield "graph" if key.startswith("graph-") else key, text


def missed(report: Report, state: str = "failed") -> dict[str, set[str]]:
    """Figure -> the checks for which its place says that it does not stand; those that stand are left out."""
    said = re.compile(rf"the check “Check of (\w+)” {HOW[state]} \(17 of \1; limit 0\)\.")
    found: dict[str, set[str]] = defaultdict(set)
    for key, text in sections(report):
        if key in ANCHORED and (checks := said.findall(text)):
            found[key] |= set(checks)
    return found


def test_every_figure_that_needs_checks_stands_on_some_page() -> None:
    report = rendered(())
    assert {key for key, _ in sections(report)} >= ANCHORED
    assert not missed(report) and all(report.values[name]["value"] is not None for name in VALUES.values())


@pytest.mark.parametrize(("state", "of"), [("failed", CHECKS), ("warning", WARNED)])
def test_each_figure_names_exactly_the_checks_that_it_misses(state: str, of: list[str]) -> None:
    """What an imported trace lacks hides figures already where it warns."""
    needed = {key: set(catalogue.checks_of(key)) & set(of) for key in ANCHORED}
    assert missed(rendered(tuple(of), state), state) == {key: checks for key, checks in needed.items() if checks}


def test_what_needs_no_failed_check_stands_beside_what_does() -> None:
    assert set(missed(rendered(("buffers_balance",)))) == set(catalogue.figures_of("buffers_balance")) & ANCHORED


@pytest.mark.parametrize(
    ("check", "state"), [*((key, "failed") for key in CHECKS), *((key, "warning") for key in (*WARNED, *NOTED))]
)
def test_one_check_refuses_exactly_the_figures_it_makes_false(check: str, state: str) -> None:
    context = same_analyses(analysed(), run_with((check,), state))
    refused = {part.key for part in catalogue.FIGURES if context.refusal(part.needs)}
    refused |= {name for name, key in VALUES.items() if context.refusal(BY_KEY[key].needs)}
    if any("not shown" in cell.text for row in DISK.content(context).rows for cell in row):
        refused.add(IN_THE_DISK_TABLE)
    assert refused == (set(catalogue.figures_of(check)) if state == "failed" or check in WARNED else set())


@pytest.mark.parametrize("rows", ["as recorded", "none"])
def test_a_detail_that_no_hook_records_is_said_to_be_missing(rows: str) -> None:
    """A table of reads is there and says why it is empty, whatever rows the trace has."""
    run = with_facts(run_with(()), trace=dict(not_hooked=["reads"]))
    given = tables() if rows == "as recorded" else {**tables(), "reads": tables()["reads"].iloc[:0]}
    context = Context(run, given)
    assert EXPLICIT_READS.when.holds(context)
    lost = "Not recorded: reads of model files by llama.cpp, because hooks do not fit this llama.cpp."
    assert {context.refusal(part.needs) for part in catalogue.FIGURES} == {"", lost}
    assert [part.key for part in catalogue.FIGURES if context.refusal(part.needs)] == [
        EXPLICIT_READS.key,
        FIRST_USES.key,
    ]


@pytest.mark.parametrize("detail", DETAILS)
def test_a_lost_detail_is_noted_where_it_concerns_a_figure(detail: str) -> None:
    context = Context(with_facts(run_with(()), trace=dict(not_hooked=[detail])), tables())
    noted = {part.key for part in catalogue.FIGURES if "Not recorded: " in context.noted(part.needs)}
    refused = {part.key for part in catalogue.FIGURES if context.refusal(part.needs)}
    concerned = {"copies": "time", "states": "footprint", "work": "buffers"}.get(detail)
    assert bool(noted) == (concerned is not None) and (concerned in (None, "time") or concerned in noted)
    assert refused == {"reads": {"explicit-reads", "first-uses"}, "states": {"prompts", "prompt-slots"}}.get(
        detail, set()
    )


def test_every_check_that_can_fail_forbids_something() -> None:
    """Those that only warn hide nothing: their words stand beside the figures."""
    only_warn = {
        "hooks",
        "tokens_asked",
        "never_touched",
        "interference",
        "not_stopped",
        "even_tokens",
        "preemptions_agree",
        "requests_agree",
        "operands_whole",
        "experts_prompt",
    }
    assert {check for check in CHECKS if not catalogue.figures_of(check)} == only_warn
    assert {check for key in catalogue.NEEDS for check in catalogue.checks_of(key)} <= set(CHECKS), (
        "a check that is none"
    )


def test_warnings_stand_in_the_captions_of_what_they_concern_and_above_times() -> None:
    above, report = set(needs.NOTED_ABOVE_TIMES), rendered((*NOTED, *needs.NOTED_ABOVE_TIMES), "warning")
    assert not missed(report) and not missed(report, "warning")
    drawn = {figure.key for figure in report.figures}
    for check in NOTED:
        said, concerned = f"Check of {check}: 17 of {check} (limit: 0).", set(catalogue.noted_in(check))
        captions = {key for key, text in sections(report) if said in text}
        assert concerned & drawn <= captions <= concerned, check
    for page in report.pages:
        text = re.sub(r"<textarea.*?</textarea>|<[^>]+>", " ", page.body, flags=re.DOTALL).replace("\u202f", " ")
        timed = page.key in {"overview", "file", "operations", "graph", "timeline", "appendix"}
        *beside_the_answer, note = re.findall(r"Read these times with care: ([^.]*)\.", text) if timed else [""]
        assert len(beside_the_answer) <= (page.key == "overview")
        assert {check for check in above if f"{CARE[check][:1].lower()}{CARE[check][1:]}" in note} == (
            above if timed else set()
        )
