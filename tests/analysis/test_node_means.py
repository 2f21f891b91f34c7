"""The mean cost of a node, against the same worked out row by row."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import operations
from tracegen.analysis.node_means import bounds, node_means, population


def plainly(
    tables: Mapping[str, pd.DataFrame], node: int, passes: tuple[int, ...]
) -> tuple[float | None, float | None]:
    """The mean time and bytes of a node: one op and one operand after the other."""
    ops = operations.op_rows(tables).to_dict("records")
    own = [o for o in ops if o["node"] == node and o["pass_id"] in passes]
    times = [int(o["duration_ns"]) for o in own if o["state"] == "executed"]
    sizes = [
        int(o["disk_bytes"]) + int(o["copied_bytes"]) + int(o["buffer_bytes"])
        for o in own
        if o["state"] in ("executed", "fused")
    ]
    return fmean(times) if times else None, fmean(sizes) if sizes else None


@pytest.mark.parametrize("moe", [True, False])
def test_means_are_those_of_generate_passes_one_by_one(moe: bool) -> None:
    tables = scaled_case(3, 2, moe=moe)
    counted = population(tables, [0, 1])
    kinds = tables["passes"].set_index("pass_id")["kind"]
    assert counted.generate and {kinds[p] for p in counted.passes} == {"generate"} and len(counted.passes) == 3
    made = node_means(operations.op_rows(tables), counted.passes)
    assert made["node"].is_monotonic_increasing and made["node"].is_unique
    for row in made.to_dict("records"):
        time, size = plainly(tables, row["node"], counted.passes)
        assert (None if pd.isna(row["duration_ns"]) else row["duration_ns"]) == pytest.approx(time)
        assert (None if pd.isna(row["touched_bytes"]) else row["touched_bytes"]) == pytest.approx(size)
        assert (time is None) == (row["state"] != "executed")


def test_without_generate_passes_all_measured_ones_count_and_warm_up_does_not() -> None:
    tables = scaled_case(0, 1)
    counted = population(tables, [0, 1])
    kinds = tables["passes"].set_index("pass_id")["kind"]
    assert not counted.generate and [kinds[p] for p in counted.passes] == ["prompt"]
    assert population(tables, [1]).passes == ()
    assert node_means(operations.op_rows(tables), ()).empty


def test_a_mean_with_an_unknown_part_is_unknown() -> None:
    ops = operations.op_rows(scaled_case(2, 1))
    counted = population(scaled_case(2, 1), [1]).passes
    lost = (ops["node"] == 1) & (ops["pass_id"] == counted[0])
    ops.loc[lost, ["duration_ns", "buffer_bytes"]] = pd.NA
    made = node_means(ops, counted).set_index("node")
    assert pd.isna(made.loc[1, "duration_ns"]) and pd.isna(made.loc[1, "touched_bytes"])


def test_a_node_that_is_fused_names_its_other() -> None:
    ops = operations.op_rows(scaled_case(2, 1))
    fused = ops[ops["state"] == "fused"].iloc[0]
    made = node_means(ops, [int(p) for p in ops["pass_id"].unique()]).set_index("node")
    assert made.loc[fused["node"], "fused_into"] == fused["fused_into"]
    assert made.loc[fused["node"], "n_timed"] == 0


def test_steps_end_at_the_largest_value_and_grow_by_their_factor() -> None:
    assert bounds(pd.Series([3.0, 80.0, None]), 4, 2) == [10.0, 20.0, 40.0, 80.0]
    assert bounds(pd.Series([0.0, None]), 4, 2) == [] == bounds(pd.Series([], dtype="Float64"), 4, 2)
