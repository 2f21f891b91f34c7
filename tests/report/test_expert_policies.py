"""What a token still has to read where a rule keeps some experts in memory."""

import pandas as pd
import pytest

from tracegen.analysis.expert_cache import Group
from tracegen.analysis.read_time import STATED, ReadTime
from tracegen.report.figures.expert_policies import _left, _missed

DATA = pd.DataFrame(
    {
        "n_held": [2, 4],
        "recent": [0.5, 0.7],
        "everywhere": [0.25, 0.9],
        "fixed": [0.75, 0.8],
        "ahead": [1.0, 1.0],  # reads ahead: not counted
        "best": [1.0, 1.0],
    }
)


class Known:
    def __init__(self, read_time: ReadTime) -> None:
        self.read_time = read_time


def test_what_is_missed_is_read_one_tensor_after_another() -> None:
    """Two layers whose experts have tensors of 10 and 20 bytes, two of four chosen by a token."""
    group = Group((0, 1), 4, (10, 20))
    found = _missed(Known(ReadTime(1_000.0, 1e9, 1.0, 4)), DATA, [group])  # type: ignore[arg-type]
    assert found["missed_bytes"].tolist() == pytest.approx([0.25 * 2 * 60, 0.1 * 2 * 60])
    reads = [0.25 * 2 * 4, 0.1 * 2 * 4]
    assert found["missed_ns"].tolist() == pytest.approx(
        [1_000 * n + n_bytes for n, n_bytes in zip(reads, found["missed_bytes"], strict=True)]
    )


def test_a_device_that_was_not_measured_gives_no_time() -> None:
    found = _missed(Known(STATED), DATA, [Group((0,), 4, (1 << 20,))])  # type: ignore[arg-type]
    rows = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]
    assert [_left(row) for row in rows] == ["512 KiB", "205 KiB"]
    unknown = _missed(Known(STATED), DATA, [])  # type: ignore[arg-type]
    assert unknown["missed_bytes"].isna().all() and _left({"missed_bytes": float("nan")}) == ""
