"""Waiting for the disk and the busy device in the timeline of a pass, against lookups at single moments."""

import random

import pandas as pd
import pytest

from tests.builders import scaled_case, with_barriers, with_device_ops, with_faults
from tests.golden.hard_case import hard_case
from tracegen.analysis import timeline
from tracegen.charts import timeline as charts
from tracegen.contract import tables as contract

Rows = list[dict[str, int]]


def state_at(moment: int, spans: Rows, faults: Rows, *, placed: bool) -> str | None:
    """What a thread does at a moment, read from single spans and faults; `placed`: see `with_barriers`."""
    for span in spans:
        since = moment - span["begin_ns"]
        if placed and 0 <= since - span["work_ns"] // 3 < span["barrier_ns"]:
            return "waiting inside"
        if 0 <= since < span["work_ns"] + (span["barrier_ns"] if placed else 0):
            waits = any(0 <= moment - fault["begin_ns"] < fault["duration_ns"] for fault in faults)
            return timeline.DISK if waits else "work"
        if 0 <= since - span["work_ns"] < span["barrier_ns"]:
            return "waiting inside"
        if 0 <= since - span["work_ns"] - span["barrier_ns"] < span["wait_ns"]:
            return "barrier wait"
    return None


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_each_moment_has_the_state_of_its_span_and_faults(seed: int, placed: bool) -> None:
    tables = with_faults(hard_case(), seed)
    tables = with_barriers(tables) if placed else tables
    n_inside = 0
    chosen = random.Random(seed)
    n_waits = 0
    for pass_id in tables["spans"]["pass_id"].unique():
        rows, width = timeline.segments(tables, pass_id)
        assert width == 0 and (rows["end_ns"] > rows["begin_ns"]).all()
        begin = int(tables["passes"].set_index("pass_id")["begin_ns"][pass_id])
        faults = tables["faults"][(tables["faults"]["pass_id"] == pass_id).to_numpy(bool)]
        for thread, lane in rows.groupby("thread"):
            assert (lane["begin_ns"].to_numpy()[1:] >= lane["end_ns"].to_numpy()[:-1]).all()
            here = tables["spans"][(tables["spans"]["pass_id"] == pass_id) & (tables["spans"]["thread"] == thread)]
            own = faults[(faults["thread"] == thread).to_numpy(bool)].to_dict("records")
            assert (
                lane.loc[lane["state"].isin(["work", timeline.DISK]), ["begin_ns", "end_ns"]]
                .diff(axis=1)["end_ns"]
                .sum()
                == here["work_ns"].sum()
            )
            edges = [*lane["begin_ns"], *lane["end_ns"]]
            moments = [chosen.randrange(int(max(edges))) for _ in range(100)]
            for moment in [*moments, *map(int, edges)]:
                at = lane[(lane["begin_ns"] <= moment) & (moment < lane["end_ns"])]
                expected = state_at(begin + moment, here.to_dict("records"), own, placed=placed)
                n_inside += expected == "waiting inside"
                assert at["state"].tolist() == ([expected] if expected else [])
                n_waits += expected == timeline.DISK
    assert n_waits > 0 and n_inside > 0


@pytest.mark.parametrize("seed", range(3))
def test_the_device_is_busy_where_a_request_is_under_way(seed: int) -> None:
    chosen, tables = random.Random(seed), hard_case()
    pass_id = int(tables["spans"]["pass_id"].iloc[0])
    begin = int(tables["passes"].set_index("pass_id")["begin_ns"][pass_id])
    length = int(timeline.segments(tables, pass_id)[0]["end_ns"].max())
    requests = [
        (begin + chosen.randrange(-length // 4, length), chosen.randrange(1, max(2, length // 5))) for _ in range(6)
    ]
    rows = [
        {
            "request": i,
            "device": "8:0",
            "place": 0,
            "size_bytes": 4096,
            "file_bytes": 0,
            "kind": "read",
            "issue_ns": issue,
            "duration_ns": None if i == 3 else took,
        }
        for i, (issue, took) in enumerate(requests)
    ]
    drawn, _ = timeline.segments({**tables, "requests": contract.frame("requests", rows)}, pass_id)
    busy = drawn[drawn["thread"].isna()]
    assert set(busy["state"]) <= {timeline.DEVICE}
    for moment in [chosen.randrange(length) for _ in range(300)]:
        expected = any(0 <= begin + moment - issue < took for i, (issue, took) in enumerate(requests) if i != 3)
        assert ((busy["begin_ns"] <= moment) & (moment < busy["end_ns"])).sum() == expected
    without = drawn[drawn["thread"].notna()].reset_index(drop=True)
    pd.testing.assert_frame_equal(without, timeline.segments(tables, pass_id)[0], check_dtype=False)


def test_what_devices_compute_follows_without_a_thread() -> None:
    """Lanes of their own, from the table of their operations; in bins, too."""
    tables = with_device_ops(scaled_case(2, 2), "GPU0")
    pass_id = int(tables["passes"].loc[tables["passes"]["kind"].eq("generate").to_numpy(bool), "pass_id"].iloc[0])
    begin = int(tables["passes"].set_index("pass_id").loc[pass_id, "begin_ns"])
    rows, _ = timeline.segments(tables, pass_id)
    drawn = rows[rows["device"].notna().to_numpy(bool)]
    ops = tables["device_ops"][tables["device_ops"]["pass_id"].eq(pass_id).to_numpy(bool)]
    assert len(drawn) == len(ops) > 5 and drawn["thread"].isna().all() and set(drawn["device"]) == {"GPU0"}
    assert (drawn["begin_ns"].to_numpy() + begin).tolist() == ops["begin_ns"].tolist()
    assert drawn["node"].tolist() == ops["node"].tolist() and set(drawn["state"]) == {"work"}
    binned, width = timeline.segments(tables, pass_id, n_bins=50, max_segments=5)
    busy = binned[binned["device"].notna().to_numpy(bool)]
    apart = (busy["end_ns"] - busy["begin_ns"]).sum() - (ops["end_ns"] - ops["begin_ns"]).sum()
    assert width and abs(apart) <= width * (len(busy) + 1)
    assert charts.chart(rows).to_dict()["encoding"]["y"]["sort"][-1] == "GPU0"
