"""Reads that a thread makes inside an operation are waiting for the disk, as a page fault of that time would be."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case, with_faults
from tracegen.analysis import attribution
from tracegen.analysis.own_reads import as_faults
from tracegen.contract.tables import empty, frame

Tables = dict[str, pd.DataFrame]


def hull(fault: dict[Any, Any], requests: list[dict[Any, Any]]) -> tuple[int, int]:
    """From the first to the last moment of a time with a request under way, request by request."""
    begin, end = int(fault["begin_ns"]), int(fault["begin_ns"] + fault["duration_ns"])
    times = [(max(begin, r["issue_ns"]), min(end, r["issue_ns"] + r["duration_ns"])) for r in requests]
    inside = [(a, b) for a, b in times if a < b]
    return (min(a for a, _ in inside), max(b for _, b in inside)) if inside else (begin, begin)


def requests_during(faults: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """Requests of which some begin before, within or after a page fault, and some are under way together."""
    rows = []
    for fault in faults[random.random(len(faults)) < 0.6].to_dict("records"):
        took = int(fault["duration_ns"]) + 1
        begin = int(fault["begin_ns"]) + int(random.integers(-took, took))
        about = dict(device="8:0", place=0, size_bytes=4096, file_bytes=0, kind="read")
        rows.append({**about, "issue_ns": begin, "duration_ns": int(random.integers(0, took))})
    rows.sort(key=lambda row: row["issue_ns"])
    return frame("requests", [{**row, "request": at} for at, row in enumerate(rows)])


def as_reads(tables: Tables, chosen: np.ndarray) -> Tables:
    """The tables with reads in place of the chosen page faults: these took no time of any span."""
    faults = tables["faults"]
    rows = [
        dict(
            read=n,
            pass_id=f["pass_id"],
            thread=7,
            file=f["file"],
            offset=f["offset"] - 512,
            size_bytes=1024,
            got_bytes=1024,
            begin_ns=f["begin_ns"],
            end_ns=f["begin_ns"] + f["duration_ns"],
            call="pread",
            direct=False,
            n_calls=1,
            pool_thread=f["thread"],
            node=f["node"],
        )
        for n, f in enumerate(faults[chosen].to_dict("records"))
    ]
    return {**tables, "faults": faults[~chosen].reset_index(drop=True), "reads": frame("reads", rows)}


def in_spans(tables: Tables) -> Tables:
    """The tables with the time of page faults of each span that its faults have."""
    sums = tables["faults"].groupby(["pass_id", "node", "thread"])["duration_ns"].sum().to_dict()
    spans = tables["spans"]
    keys = zip(spans["pass_id"], spans["node"], spans["thread"], strict=True)
    return {**tables, "spans": spans.assign(fault_ns=pd.array([sums.get(key, 0) for key in keys], dtype="Int64"))}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_read_counts_as_a_page_fault_in_which_a_request_was_under_way(threads: int, seed: int) -> None:
    tables = with_faults(scaled_case(3, 2, moe=True, threads=threads), seed=seed)
    random = np.random.default_rng(seed)
    tables["requests"] = requests_during(tables["faults"], random)
    tables["passes"] = tables["passes"].assign(read_bytes=pd.array([4096] * len(tables["passes"]), dtype="Int64"))
    chosen = (random.random(len(tables["faults"])) < 0.5) & tables["faults"]["duration_ns"].notna().to_numpy(bool)
    requests = tables["requests"].dropna(subset=["duration_ns"]).to_dict("records")
    faults = tables["faults"].copy()
    for at in np.flatnonzero(chosen):
        begin, end = hull(faults.loc[at].to_dict(), requests)
        faults.loc[at, ["begin_ns", "duration_ns"]] = begin, end - begin
    expected = attribution.attribution(in_spans({**tables, "faults": faults}))
    found = attribution.attribution(in_spans(as_reads(tables, chosen)))
    by = ["pass_id", "part", "tensor", "op", "component", "dtype"]
    order = expected.astype({"tensor": "float64"}).sort_values(by, ignore_index=True)
    pd.testing.assert_frame_equal(
        found.astype({"tensor": "float64"}).sort_values(by, ignore_index=True), order, check_dtype=False
    )
    assert found.loc[found["part"] == "disk_ns", "thread_ns"].sum() > 0


def test_without_requests_a_read_waits_all_of_its_time_where_the_pass_read_anything() -> None:
    tables = with_faults(scaled_case(3, 2, threads=2), seed=5)
    tables = in_spans(as_reads(tables, np.ones(len(tables["faults"]), bool)))
    passes = tables["passes"].assign(read_bytes=pd.array([4096] * len(tables["passes"]), dtype="Int64"))
    with_disk = as_faults({**tables, "passes": passes})
    took = tables["reads"]["end_ns"] - tables["reads"]["begin_ns"]
    assert with_disk["spans"]["fault_ns"].sum() == took.sum() == with_disk["faults"]["duration_ns"].sum() > 0
    none = as_faults({**tables, "passes": passes.assign(read_bytes=pd.array([0] * len(passes), dtype="Int64"))})
    assert none["spans"]["fault_ns"].sum() == 0 and len(none["faults"]) == 0


def test_what_is_only_asked_for_and_what_lies_outside_operations_waits_for_nothing() -> None:
    tables = with_faults(scaled_case(3, 2, threads=2), seed=5)
    tables = as_reads(tables, np.ones(len(tables["faults"]), bool))
    reads = tables["reads"]
    asked = {
        **tables,
        "reads": reads.assign(call=pd.Categorical(["madvise"] * len(reads), reads["call"].cat.categories)),
    }
    outside = {**tables, "reads": reads.assign(node=pd.array([None] * len(reads), dtype="Int32"))}
    for of in (asked, outside, {**tables, "reads": empty()["reads"]}):
        assert as_faults(of) is of
