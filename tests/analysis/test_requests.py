"""Requests of the device, against counting single nanoseconds and single pages."""

from statistics import median
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import scaled_case, with_requests
from tracegen.analysis import accesses, requests
from tracegen.analysis.passes import measured
from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]
PAGE = 4096
SMALL = scaled_case(3, 1, n_prompt=2, threads=1)
KINDS = ("load", "warmup", "prompt", "generate")


def with_rows(tables: Tables, rows: list[dict[str, Any]]) -> Tables:
    """The tables with these requests, numbered in order of issue."""
    rows = sorted(rows, key=lambda row: int(row["issue_ns"]))
    return {**tables, "requests": contract.frame("requests", [row | {"request": i} for i, row in enumerate(rows)])}


def request(issue: int, **more: Any) -> dict[str, Any]:
    """A read of 4 KiB that no file is known for, issued outside passes."""
    row = dict(device="254:0", place=0, size_bytes=PAGE, file_bytes=0, kind="read", issue_ns=issue, duration_ns=10)
    return row | dict(pass_id=None, file=None, offset=None) | more


SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 40), st.booleans()), min_size=4, max_size=4)
READS = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.one_of(st.none(), st.integers(0, 90)),
        st.integers(1, 9),
        st.integers(0, 9),
        st.booleans(),
        st.sampled_from((None, 0, 1, 2, 3)),
    ),
    max_size=12,
)


@settings(max_examples=50)
@given(SPANS, READS)
def test_passes_and_their_requests_are_what_each_nanosecond_says(spans: Any, reads: Any) -> None:
    passes, clock = [], 0
    for number, ((gap, length, ended), kind) in enumerate(zip(spans, KINDS, strict=True)):
        begin = clock + gap
        clock = begin + length
        end = clock if ended else None
        passes.append(dict(pass_id=number, kind=kind, kind_basis="recorded", begin_ns=begin, end_ns=end))
    rows = [
        request(
            issue,
            duration_ns=duration,
            size_bytes=n * 512,
            file_bytes=min(n, of_file) * 512,
            kind="ahead" if ahead else "read",
            pass_id=pass_id,
        )
        for issue, duration, n, of_file, ahead, pass_id in reads
    ]
    tables = with_rows({**SMALL, "passes": contract.frame("passes", passes)}, rows)
    table = requests.by_pass(tables)
    expected = [row for row in passes if row["kind"] in ("prompt", "generate") and row["end_ns"] is not None]
    assert table["pass_id"].tolist() == [row["pass_id"] for row in expected]
    for found, passed in zip(table.to_dict("records"), expected, strict=True):
        own = [row for row in rows if row["pass_id"] == passed["pass_id"]]
        assert found["n_requests"] == len(own) and found["read_bytes"] == sum(row["size_bytes"] for row in own)
        assert found["model_bytes"] == sum(row["file_bytes"] for row in own)
        assert found["ahead_bytes"] == sum(row["file_bytes"] for row in own if row["kind"] == "ahead")
        depths = [
            sum(r["duration_ns"] is not None and r["issue_ns"] <= now < r["issue_ns"] + r["duration_ns"] for r in rows)
            for now in range(passed["begin_ns"], passed["end_ns"])
        ]
        busy = sum(depth > 0 for depth in depths)
        assert found["busy_ns"] == busy and found["duration_ns"] == len(depths)
        known = [row["duration_ns"] for row in own if row["duration_ns"] is not None]
        same(found["mean_depth"], sum(depths) / busy if busy else None)
        same(found["mean_bytes"], found["read_bytes"] / len(own) if own else None)
        same(found["median_ns"], median(known) if known else None)
        same(found["bytes_per_second"], found["read_bytes"] * 1e9 / busy if busy else None)


def same(found: Any, expected: float | None) -> None:
    assert pd.isna(found) if expected is None else found == pytest.approx(expected)


@given(
    st.lists(
        st.tuples(
            st.sampled_from((512, 4096, 4097, 16384, 1 << 22, (1 << 22) + 1, 9 << 20)),
            st.one_of(st.none(), st.integers(1, 99)),
            st.integers(0, 5),
        ),
        max_size=20,
    )
)
def test_classes_of_sizes_hold_what_is_no_larger(reads: list[tuple[int, int | None, int]]) -> None:
    rows = [
        request(i, size_bytes=size, duration_ns=duration, pass_id=pass_id)
        for i, (size, duration, pass_id) in enumerate(reads)
    ]
    table = requests.by_size(with_rows(SMALL, rows))
    counted = set(measured(SMALL)["pass_id"])
    limits = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]
    classes: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if row["pass_id"] in counted:
            classes.setdefault(sum(row["size_bytes"] > limit for limit in limits), []).append(row)
    assert len(table) == len(classes)
    for found, number in zip(table.to_dict("records"), sorted(classes), strict=True):
        same(found["most_bytes"], limits[number] if number < len(limits) else None)
        assert found["n_requests"] == len(classes[number])
        assert found["read_bytes"] == sum(row["size_bytes"] for row in classes[number])
        known = [row["duration_ns"] for row in classes[number] if row["duration_ns"] is not None]
        same(found["median_ns"], median(known) if known else None)


def touched_by_hand(tables: Tables, page: int) -> dict[int, set[tuple[int, int]]]:
    """(File, page) of each byte of mapped files that operations of a pass touch."""
    touched: dict[int, set[tuple[int, int]]] = {int(number): set() for number in tables["passes"]["pass_id"]}
    rows = accesses.ranges(tables)
    for row in rows[(rows["memory"] == "disk").to_numpy(bool)].to_dict("records"):
        pages = range(int(row["begin"]) // page, (int(row["end"]) - 1) // page + 1)
        touched[int(row["pass_id"])] |= {(int(row["file"]), number) for number in pages}
    return touched


def use_by_hand(tables: Tables, page: int) -> list[list[int]]:
    """Each page of each request by itself."""
    touched = touched_by_hand(tables, page)
    order = [int(number) for number in tables["passes"].sort_values("begin_ns")["pass_id"]]
    seen: set[tuple[int, int]] = set()
    sums: dict[int, list[int]] = {number: [0] * 6 for number in order}
    for row in tables["requests"].sort_values("request").to_dict("records"):
        if pd.isna(row["file"]):
            continue
        first, behind = int(row["offset"]), int(row["offset"]) + int(row["file_bytes"])
        pages = {(int(row["file"]), number // page) for number in range(first, behind, 512)}
        if not pd.isna(row["pass_id"]):
            at = order.index(int(row["pass_id"]))
            counts = sums[order[at]]
            for read in pages:
                when = next((n for n in order[at:] if read in touched[n]), None)
                counts[0] += page
                counts[1 if when == order[at] else 3 if when is None else 2] += page
                counts[4] += page * (read in seen)
                counts[5] += page * (read in seen and when is not None)
        seen |= pages
    return [[number, *sums[number]] for number in measured(tables)["pass_id"]]


USE = ["pass_id", "page_bytes_read", "now_bytes", "later_bytes", "never_bytes", "again_bytes", "evicted_bytes"]


@pytest.mark.parametrize("page", [4096, 16384])
@pytest.mark.parametrize("splits", [1, 3])
def test_the_use_of_pages_is_what_each_page_says(splits: int, page: int) -> None:
    tables = with_requests(scaled_case(20, 2, moe=True, copied=False, splits=splits), seed=splits)
    table = requests.use_by_pass(tables, page)
    assert table[USE].values.tolist() == use_by_hand(tables, page)
    assert (table[USE[2:]].sum() > 0).all()


def test_a_run_without_requests_has_passes_without_reads() -> None:
    by_pass, use = requests.by_pass(SMALL), requests.use_by_pass(SMALL, PAGE)
    assert by_pass["pass_id"].tolist() == use["pass_id"].tolist() == measured(SMALL)["pass_id"].tolist()
    assert not by_pass["n_requests"].any() and by_pass["mean_depth"].isna().all()
    assert not use[USE[1:]].any(axis=None)
    assert requests.by_size(SMALL).empty


def test_a_run_without_passes_has_no_rows() -> None:
    tables = {**SMALL, "passes": contract.frame("passes")}
    assert requests.by_pass(tables).empty and requests.use_by_pass(tables, PAGE).empty


def test_kinds_of_passes_are_the_sums_of_their_passes() -> None:
    tables = with_requests(scaled_case(5, 2, n_prompt=4))
    passes = requests.by_pass(tables)
    kinds = tables["passes"].set_index("pass_id")["kind"]
    table = requests.by_kind(tables).set_index("kind")
    for kind in ("prompt", "generate"):
        of_kind = passes[[kinds[number] == kind for number in passes["pass_id"]]].to_dict("records")
        issued = [r for r in tables["requests"].to_dict("records") if r["pass_id"] in {p["pass_id"] for p in of_kind}]
        found, busy = table.loc[kind], sum(p["busy_ns"] for p in of_kind)
        assert found["n_requests"] == len(issued)
        same(found["mean_bytes"], sum(r["size_bytes"] for r in issued) / len(issued))
        same(found["mean_depth"], sum(p["busy_ns"] * p["mean_depth"] for p in of_kind if p["busy_ns"]) / busy)
        same(found["bytes_per_second"], sum(r["size_bytes"] for r in issued) * 1e9 / busy)
        same(found["median_ns"], median(r["duration_ns"] for r in issued if not pd.isna(r["duration_ns"])))
    assert requests.by_kind(SMALL).empty
