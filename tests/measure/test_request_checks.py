"""The checks of recorded requests: each test breaks one thing in a run that passes them."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case, with_requests
from tests.measure.test_verdict import evidence as hard_evidence
from tracegen.contract import tables as contract
from tracegen.contract.check_keys import REQUESTS_SLACK, REQUESTS_SLACK_OF_PASS
from tracegen.contract.model import Check
from tracegen.measure.checks import requests
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of

Tables = dict[str, pd.DataFrame]

TRACE = {"requests_recorded": True, "requests_refused": None, "requests_lost": 0, "requests_unplaced": None}
NOT_RECORDED = {"requests_recorded": False}


def counted(tables: Tables, **more: int) -> Tables:
    """The tables with a device that counted what ended within each pass and load, and `more` bytes in some passes."""
    ended = tables["requests"].dropna(subset=["duration_ns"])
    ends = (ended["issue_ns"] + ended["duration_ns"]).astype("int64")
    rows = []
    for number, begin, end in tables["passes"][["pass_id", "begin_ns", "end_ns"]].itertuples(index=False):
        within = ended[((begin <= ends) & (ends < end)).to_numpy(bool)]
        rows.append(
            dict(
                pass_id=number,
                device="vda",
                n_reads=len(within),
                written_bytes=0,
                n_writes=0,
                read_ns=0,
                busy_ns=0,
                in_flight=0,
                counted_ns=100,
                read_bytes=int(within["size_bytes"].sum()) + more.get(f"in_{number}", 0),
            )
        )
    return {**tables, "device": contract.frame("device", rows)}


CASE = counted(with_requests(scaled_case(3, 2, moe=True)))
OPEN = int(CASE["requests"]["duration_ns"].isna().sum())


def evidence(tables: Tables = CASE, **trace: Any) -> Evidence:
    return Evidence(tables, TRACE | trace, {})


def test_a_run_with_all_its_requests_passes() -> None:
    recorded, agree = (each(evidence()) for each in requests.CHECKS)
    assert recorded.state == agree.state == "passed"
    assert recorded.found == f"0 events lost, {OPEN} request without an end" and OPEN == 1
    total = f"{int(CASE['device']['read_bytes'].sum()):,}".replace(",", "\u202f")
    assert agree.found == f"{total} bytes recorded, {total} counted" and total != "0"


@pytest.mark.parametrize("each", requests.CHECKS)
def test_a_run_that_recorded_none_is_not_checked(each: Any) -> None:
    check: Check = each(evidence(scaled_case(1, 1), **NOT_RECORDED))
    assert check.state == "not checked" and check.found == "requests were not recorded"


@pytest.mark.parametrize(
    ("facts", "n"), [(NOT_RECORDED, 0), (NOT_RECORDED | {"requests_refused": "only root may"}, 2), ({}, 2)]
)
def test_only_a_run_that_was_asked_to_record_has_these_checks(facts: dict[str, Any], n: int) -> None:
    case = hard_evidence()
    keys = [check.key for check in checks_of(replace(case, trace={**case.trace, **TRACE, **facts}))]
    assert len([key for key in keys if key in ("requests_recorded", "requests_agree")]) == n


def test_a_kernel_that_refuses_is_a_warning_that_says_why() -> None:
    check = requests.recorded(evidence(scaled_case(1, 1), **NOT_RECORDED, requests_refused="only root may"))
    assert check.state == "warning" and check.detail == "only root may"


@pytest.mark.parametrize("unplaced", [None, "on a tmpfs"])
def test_a_lost_event_fails(unplaced: str | None) -> None:
    check = requests.recorded(evidence(requests_lost=3, requests_unplaced=unplaced))
    assert check.state == "failed" and check.found.startswith("3 events lost, ")


def test_a_file_without_places_is_a_warning_and_nothing_is_compared() -> None:
    placeless = evidence(requests_unplaced="on a tmpfs")
    check = requests.recorded(placeless)
    assert check.state == "warning" and "on a tmpfs" in check.detail
    assert requests.agree(placeless).state == "not checked"


def test_bytes_that_the_device_counted_and_nobody_recorded_are_a_warning() -> None:
    n = len(CASE["passes"])
    for more, state in (
        (n * REQUESTS_SLACK_OF_PASS, "passed"),
        ((n * REQUESTS_SLACK_OF_PASS + 1), "warning"),
    ):
        tables = counted(CASE, in_2=more)
        assert int(tables["device"]["read_bytes"].sum()) * REQUESTS_SLACK < more
        assert requests.agree(evidence(tables)).state == state


def test_bytes_that_were_recorded_and_the_device_did_not_count_are_a_warning() -> None:
    tables = counted(CASE)
    issued = tables["requests"].assign(size_bytes=tables["requests"]["size_bytes"] * 10_000)
    assert requests.agree(evidence({**tables, "requests": issued})).state == "warning"


def test_of_much_that_was_read_a_hundredth_may_be_apart() -> None:
    issued = CASE["requests"].assign(size_bytes=CASE["requests"]["size_bytes"] * 10_000)
    tables = counted({**CASE, "requests": issued})
    whole = int(tables["device"]["read_bytes"].sum())
    for share, state in ((0.009, "passed"), (0.011, "warning")):
        apart = counted({**CASE, "requests": issued}, in_2=int(whole * share))
        assert requests.agree(evidence(apart)).state == state


def test_a_device_without_counters_is_not_checked() -> None:
    assert requests.agree(evidence({**CASE, "device": contract.frame("device")})).state == "not checked"


def test_a_run_without_a_request_agrees_with_a_device_that_read_nothing() -> None:
    none = counted({**CASE, "requests": contract.frame("requests")})
    assert requests.agree(evidence(none)).state == "passed"
