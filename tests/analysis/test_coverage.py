"""What measured passes used of the file, by group of components, against adding up tensor by tensor."""

import pandas as pd

from tests.builders import scaled_case
from tracegen.analysis import accesses, coverage
from tracegen.charts import theme


def test_a_group_is_unknown_where_one_of_its_tensors_is() -> None:
    columns = dict(component="ffn_up", size_bytes=8, memory="disk")
    bytes_used = ("touched_bytes", "mapped_bytes", "copied_bytes")
    use = pd.DataFrame([columns | dict.fromkeys(bytes_used, 8), columns | dict.fromkeys(bytes_used)])
    made = coverage.group_use(use.astype(dict.fromkeys(bytes_used, "Int64")), theme.GROUP_OF)
    assert list(made["group"]) == ["FFN"] and list(made["size_bytes"]) == [16]
    assert made[["touched_bytes", "mapped_bytes", "copied_bytes"]].isna().all(axis=None)


def test_warm_up_uses_nothing_that_is_measured() -> None:
    tables = scaled_case(2, 2)
    inside = [int(p) for p, k in zip(tables["passes"]["pass_id"], tables["passes"]["kind"], strict=True) if p > 1 and k]
    used = accesses.ranges(tables, inside)
    expected = coverage.tensor_use(tables, used, accesses.unseen(tables, inside))
    pd.testing.assert_frame_equal(coverage.measured_use(tables), expected)
