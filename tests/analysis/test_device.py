"""What devices did in passes, against sums over single rows."""

import pandas as pd
import pytest

from tests.builders import scaled_case, with_faults
from tracegen.analysis import device
from tracegen.analysis.passes import measured
from tracegen.contract import tables as contract

CASE = with_faults(scaled_case(3, 2, moe=True, threads=2))


def test_each_pass_has_the_counters_of_its_device() -> None:
    table = device.by_pass(CASE, 4096).set_index("pass_id")
    passes = measured(CASE)
    assert list(table.index) == list(passes["pass_id"])
    cache = CASE["cache"].to_dict("records")
    for row in CASE["device"].to_dict("records"):
        if row["pass_id"] not in table.index:
            continue
        found = table.loc[row["pass_id"]]
        assert (found["n_reads"], found["read_bytes"]) == (row["n_reads"], row["read_bytes"])
        assert found["busy_share"] == pytest.approx(row["busy_ns"] / row["counted_ns"])
        assert found["bytes_per_second"] == pytest.approx(row["read_bytes"] / row["counted_ns"] * 1e9)
        if row["n_reads"]:
            assert found["bytes_per_read"] == pytest.approx(row["read_bytes"] / row["n_reads"])
        else:
            assert pd.isna(found["bytes_per_read"])
        for name in ("cached", "evicted"):
            pages = sum(c[f"{name}_pages"] for c in cache if c["pass_id"] == row["pass_id"])
            assert found[f"{name}_bytes"] == 4096 * pages


def test_two_devices_are_added_up_and_the_busier_one_counts() -> None:
    rows = CASE["device"].to_dict("records")
    both = [*rows, *(row | dict(device="vdb", n_reads=5, read_bytes=999, busy_ns=row["counted_ns"]) for row in rows)]
    both.sort(key=lambda row: (row["pass_id"], row["device"]))
    one, two = device.by_pass(CASE, 4096), device.by_pass({**CASE, "device": contract.frame("device", both)}, 4096)
    assert (two["n_reads"] == one["n_reads"] + 5).all() and (two["read_bytes"] == one["read_bytes"] + 999).all()
    assert (two["busy_share"] == 1.0).all()


def test_a_run_without_counters_has_no_rows_and_without_cachestat_no_bytes() -> None:
    assert device.by_pass(scaled_case(2, 1), 4096).empty
    without = {**CASE, "cache": contract.frame("cache")}
    assert device.by_pass(without, 4096)["cached_bytes"].isna().all()
