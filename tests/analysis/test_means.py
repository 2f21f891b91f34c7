"""Means of layers by part of the model, against plain loops; of nodes (tests/recompute), where something is unknown."""

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis.layer_means import layer_means
from tracegen.analysis.node_means import bounds, node_means, population
from tracegen.analysis.operations import op_rows
from tracegen.charts import theme


def test_a_part_whose_operations_have_no_time_has_no_mean() -> None:
    tables = scaled_case(2, 2)
    ops = op_rows(tables)
    ops.loc[ops["component"] == "norm", "duration_ns"] = pd.NA
    means = layer_means(ops, tables["passes"]["pass_id"], theme.GROUP_OF)
    norms = means[means["group"] == "norm"]
    assert len(norms) and norms["duration_ns"].isna().all() and norms["work_ns"].notna().all()
    for column in ("duration_ns", "work_ns", "disk_bytes", "buffer_bytes"):
        assert means[column].sum() == pytest.approx(ops[column].sum() / len(tables["passes"])), column


def test_without_passes_there_is_no_row() -> None:
    tables = scaled_case(2, 2)
    assert layer_means(op_rows(tables), pd.Series([], dtype="int32"), theme.GROUP_OF).empty


def test_without_generate_passes_all_measured_ones_count_and_warm_up_does_not() -> None:
    tables = scaled_case(0, 1)
    counted = population(tables, [0, 1])
    kinds = tables["passes"].set_index("pass_id")["kind"]
    assert not counted.generate and [kinds[p] for p in counted.passes] == ["prompt"]
    assert population(tables, [1]).passes == () and node_means(op_rows(tables), ()).empty


def test_a_mean_with_an_unknown_part_is_unknown() -> None:
    ops = op_rows(scaled_case(2, 1))
    counted = population(scaled_case(2, 1), [1]).passes
    lost = (ops["node"] == 1) & (ops["pass_id"] == counted[0])
    ops.loc[lost, ["duration_ns", "buffer_bytes"]] = pd.NA
    means = node_means(ops, counted).set_index("node")
    assert pd.isna(means.loc[1, "duration_ns"]) and pd.isna(means.loc[1, "touched_bytes"])


def test_a_node_that_is_fused_names_its_other() -> None:
    ops = op_rows(scaled_case(2, 1))
    fused = ops[ops["state"] == "fused"].iloc[0]
    means = node_means(ops, [int(p) for p in ops["pass_id"].unique()]).set_index("node")
    assert means.loc[fused["node"], "fused_into"] == fused["fused_into"] and means.loc[fused["node"], "n_timed"] == 0


def test_steps_end_at_the_largest_value_and_grow_by_their_factor() -> None:
    assert bounds(pd.Series([3.0, 80.0, None]), 4, 2) == [10.0, 20.0, 40.0, 80.0]
    assert bounds(pd.Series([0.0, None]), 4, 2) == [] == bounds(pd.Series([], dtype="Float64"), 4, 2)
