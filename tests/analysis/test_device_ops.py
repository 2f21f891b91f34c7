"""What a device's operations take: never more than it was busy, held against a count of each nanosecond."""

import numpy as np
import pandas as pd
import pytest

from tracegen.analysis import device_ops
from tracegen.contract.tables import frame


def table(
    intervals: list[tuple[int, int]], devices: list[str] | None = None, passes: list[int] | None = None
) -> pd.DataFrame:
    n = len(intervals)
    return frame(
        "device_ops",
        {
            "pass_id": np.array(passes or [0] * n, np.int32),
            "part": np.arange(n, dtype=np.int32),
            "split": np.zeros(n, np.int32),
            "device": devices or ["GPU"] * n,
            "node": pd.array(range(n), "Int32"),
            "label": [f"ADD n{i}" for i in range(n)],
            "begin_ns": np.array([begin for begin, _ in intervals], np.int64),
            "end_ns": np.array([end for _, end in intervals], np.int64),
            "exact": np.zeros(n, bool),
        },
    )


@pytest.mark.parametrize("seed", range(20))
def test_times_together_are_the_time_in_which_a_device_was_busy(seed: int) -> None:
    random = np.random.default_rng(seed)
    begins = random.integers(0, 300, 60)
    lengths = random.integers(0, 30, 60)
    devices = [f"GPU{i}" for i in random.integers(0, 2, 60)]
    rows = table([(int(b), int(b + n)) for b, n in zip(begins, lengths, strict=True)], devices)
    timed = device_ops.timed(rows)
    for device, of in timed.groupby("device"):
        busy = np.zeros(400, int)
        for row in rows[rows["device"] == device].itertuples():
            busy[row.begin_ns : row.end_ns] = 1
        assert of["took_ns"].sum() == busy.sum() == device_ops.busy_ns(rows)[0, device]
        own = np.zeros(400, int)
        for row in of.itertuples():
            own[row.from_ns : row.end_ns] += 1
        assert own.max(initial=0) <= 1
    assert (timed["took_ns"] >= 0).all() and (timed["took_ns"] <= timed["end_ns"] - timed["begin_ns"]).all()


def test_one_after_another_each_takes_what_its_stamps_say() -> None:
    timed = device_ops.timed(table([(10, 20), (20, 35), (40, 41)]))
    assert timed["took_ns"].tolist() == [10, 15, 1] and timed["from_ns"].tolist() == [10, 20, 40]


def test_one_within_another_takes_nothing_of_its_own() -> None:
    timed = device_ops.timed(table([(0, 50), (10, 20)])).set_index("part")
    assert timed["took_ns"].to_dict() == {0: 50, 1: 0}


def test_where_several_begin_at_once_each_takes_from_the_end_before() -> None:
    timed = device_ops.timed(table([(0, 10), (1, 25), (2, 30), (40, 50)]))
    assert timed["took_ns"].tolist() == [10, 15, 5, 10]


def test_without_rows_there_is_nothing() -> None:
    assert device_ops.timed(frame("device_ops")).empty and device_ops.busy_ns(frame("device_ops")).empty
