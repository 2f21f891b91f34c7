"""What the page Disk says of the requests of devices, against numbers that the test works out itself."""

from typing import Any

import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, scaled_case, with_requests
from tests.report.rendered import CASES, Tags, everything, rendered, said_of
from tests.site_project import HOSTILE
from tracegen.analysis import requests
from tracegen.contract import quantities as q
from tracegen.contract import tables as contract
from tracegen.contract.model import Check, Run
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk_reads import DISK_READ_SIZES, DISK_REQUESTS, DISK_SIZES

CASE = with_requests(scaled_case(6, 2, moe=True, copied=False))
HOST = dict(memory_bytes=8 << 30, page_bytes=4096)
MEASURED = dict(
    pattern="random",
    block_bytes=16384,
    queue_depth=4,
    reads=777,
    read_bytes=777 << 14,
    duration_ns=10**9,
    bytes_per_second=512.0 * 2**20,
    reads_per_second=777.0,
    latency_median_ns=81_000,
)
SLOWER = MEASURED | dict(pattern="sequential", block_bytes=2 << 20, bytes_per_second=100.0 * 2**20)


def a_recorded_run(**facts: Any) -> Run:
    return a_moe_run(**(dict(host=HOST, trace=dict(requests_recorded=True)) | facts))


def of_generate() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The generate passes, with what they read and with what became of it."""
    kinds = CASE["passes"].set_index("pass_id")["kind"]
    return tuple(  # type: ignore[return-value]
        [row for row in table.to_dict("records") if kinds[row["pass_id"]] == "generate"]
        for table in (requests.by_pass(CASE), requests.use_by_pass(CASE, 4096))
    )


def test_the_answer_says_what_became_of_what_was_read() -> None:
    _, use = of_generate()
    read, now, never, again = (
        sum(row[name] for row in use) for name in ("page_bytes_read", "now_bytes", "never_bytes", "again_bytes")
    )
    assert 0 < now < read and 0 < again < read
    shown = said_of(DISK_REQUESTS, CASE, a_recorded_run())
    assert (
        f"{100 * now / read:.1f} % of the bytes read by generate passes were used in the same pass, "
        f"{100 * never / read:.1f} % never used, {100 * again / read:.1f} % read again"
    ) in shown


def test_each_pass_has_a_row_of_what_it_read() -> None:
    shown = said_of(DISK_REQUESTS, CASE, a_recorded_run())
    for row, use in zip(*of_generate(), strict=True):
        cells = [row["model_bytes"], row["ahead_bytes"]]
        cells += [use[name] for name in ("now_bytes", "later_bytes", "never_bytes", "again_bytes")]
        cells += [row["read_bytes"] - row["model_bytes"]]
        assert " ".join([f"{row['n_requests']}", *(f"{value / 2**20:.1f}" for value in cells)]) in shown


@pytest.mark.parametrize("measurements", [[MEASURED, SLOWER], [SLOWER, MEASURED]])
def test_the_rate_stands_beside_the_fastest_measurement(measurements: list[dict[str, Any]]) -> None:
    device = dict(device="vda", refused=None, measurements=measurements)
    shown = said_of(DISK_SIZES, CASE, a_recorded_run(device=device))
    passes, _ = of_generate()
    rate = sum(row["read_bytes"] for row in passes) * 1e9 / sum(row["busy_ns"] for row in passes)
    beside = f"{100 * rate / (512 << 20):.1f} % of the fastest measurement"
    size = q.size(rate).replace(q.THIN, " ")
    assert f"{size}/s while generate passes kept the device busy, {beside}" in shown
    assert "device: random 777 16 4.0 512 81" in shown
    assert "device: sequential" in shown
    assert "measured just before the run" in shown and "not measured" not in shown


def test_that_a_device_was_not_measured_is_said() -> None:
    shown = said_of(DISK_SIZES, CASE, a_recorded_run())
    assert "What the device can do was not measured." in shown and "fastest measurement" not in shown
    assert "measured just before" not in shown and "generate passes" in shown


def test_a_device_that_refused_to_be_measured_says_why_and_hostile_names_stay_text() -> None:
    refused = a_recorded_run(device=dict(refused=f"no direct reads {HOSTILE}"))
    assert "What the device can do was not measured: no direct reads " in said_of(DISK_SIZES, CASE, refused)
    device = dict(refused=None, measurements=[MEASURED | dict(pattern=HOSTILE)])
    unplaced = Check("requests_recorded", "Requests", "warning", HOSTILE, HOSTILE, HOSTILE)
    for run in (refused, a_recorded_run(device=device, checks=(unplaced,))):
        for page in rendered(CASE, run).pages:
            tags = Tags(page.body)
            assert "img" not in tags.tags and not tags.handlers and "\x1b" not in page.body


def test_a_run_that_recorded_none_has_no_such_table() -> None:
    pages = everything(rendered(CASES["dense"], a_run()))
    assert 'id="tab-disk-' not in pages and 'id="fig-disk-' not in pages and 'id="tab-disk"' in pages


def test_the_sizes_of_reads_are_those_of_single_requests() -> None:
    """Three reads of 4 KiB and one of 1 MiB in the first generate pass."""
    passes = CASE["passes"]
    first = passes[(passes["kind"] == "generate").to_numpy(bool)].iloc[0]
    rows = [
        dict(
            request=i,
            pass_id=first["pass_id"],
            device="254:0",
            place=i << 21,
            size_bytes=size,
            file=0,
            offset=0,
            file_bytes=0,
            kind="read",
            issue_ns=first["begin_ns"] + i,
            duration_ns=2_000,
        )
        for i, size in enumerate((4096, 4096, 4096, 1 << 20))
    ]
    shown = said_of(DISK_READ_SIZES, {**CASE, "requests": contract.frame("requests", rows)}, a_recorded_run())
    assert "25.0 % of the requests exceed 4 KiB, 98.8 % of the bytes come with these" in shown
    assert "up to 4 KiB" in shown and "up to 1 MiB" in shown and "up to 16 KiB" not in shown


@pytest.mark.parametrize("between", [True, False])
def test_a_run_without_a_request_in_its_passes_says_nothing_of_rates(between: bool) -> None:
    rows = CASE["requests"]
    rows = rows[rows["pass_id"].isna().to_numpy(bool)] if between else rows.iloc[:0]
    for part in (DISK_REQUESTS, DISK_SIZES, DISK_READ_SIZES):
        content = part.content(Context(a_recorded_run(), {**CASE, "requests": rows.reset_index(drop=True)}))
        assert content.answer == ()


def test_the_table_has_no_more_rows_than_the_page_shows() -> None:
    many = with_requests(scaled_case(60, 1))
    run = a_run(host=HOST, trace=dict(requests_recorded=True))
    shown = said_of(DISK_REQUESTS, many, run)
    assert "The first 40 of 61 measured passes" in shown
    assert pd.notna(requests.by_pass(many)["n_requests"]).all()
