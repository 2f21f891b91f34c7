"""The order of accesses: by hand, on random ranges in plain loops, and against what is known of a run of gpt-oss."""

import csv
import itertools
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tracegen.analysis import order
from tracegen.analysis.accesses import ranges

READS = Path(__file__).with_name("reads_of_gpt_oss.csv")


def accesses(*passes: list[tuple[int, int]], layers: list[int | None] | None = None) -> pd.DataFrame:
    """Accesses of passes 0, 1, …, each a list of (begin, end) in one file."""
    rows = [(p, at, begin, end) for p, of in enumerate(passes) for at, (begin, end) in enumerate(of)]
    table = pd.DataFrame(rows, columns=["pass_id", "node", "begin", "end"])
    known = pd.array([None] * len(rows) if layers is None else layers, dtype="Int32")
    return table.assign(slot="src0", tensor=0, layer=known, component="other", file=0)


def tables(n_passes: int) -> dict[str, pd.DataFrame]:
    """Generate passes without anything in them."""
    numbers = range(n_passes)
    passes = pd.DataFrame({"pass_id": numbers, "kind": "generate", "begin_ns": numbers, "end_ns": numbers})
    return {"passes": passes}


def test_each_kind_of_step() -> None:
    touched = accesses([(0, 10), (10, 20), (25, 30), (5, 25), (24, 40), (0, 4)], layers=[None, 0, 1, 0, 0, None])
    moves = order.steps(touched)
    assert moves["kind"].tolist() == ["contiguous", "forward", "backward", "overlapping", "backward"]
    assert moves["gap_bytes"].tolist() == [0, 5, -25, -1, -40] and moves["layers"].tolist() == [pd.NA, 1, -1, 0, pd.NA]


def test_the_end_of_one_file_is_not_followed_by_the_begin_of_the_next() -> None:
    touched = accesses([(0, 10), (10, 20)]).assign(file=[0, 1])
    moves = order.steps(touched)
    assert moves["kind"].tolist() == ["forward"] and not order.is_sequential(moves, 4096).any()


def test_what_is_known_of_gpt_oss() -> None:
    """435 reads of a pass of gpt-oss-20b, whole tensors, recorded by another tracer: none follows the one before."""
    rows = list(csv.DictReader(READS.read_text(encoding="utf-8").splitlines()))
    places = [(int(row["offset"]), int(row["offset"]) + int(row["size_bytes"])) for row in rows]
    layers = [int(row["layer"]) if row["layer"] else None for row in rows]
    touched = accesses(places, layers=layers)
    one = order.by_pass(tables(1), touched).iloc[0]
    kinds = {kind: int(one[f"n_{kind}"]) for kind in order.KINDS}
    assert one["n_accesses"] == 435
    assert kinds == {"contiguous": 0, "forward": 146, "backward": 288, "overlapping": 0}
    assert one["distance_bytes"] / 434 / 2**30 == pytest.approx(1.909, abs=5e-4) and one["n_layers_down"] == 0


RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=20)


@given(st.lists(RANGES, min_size=1, max_size=3))
def test_every_step_counts_once(passes: list[list[tuple[int, int]]]) -> None:
    """Kinds add up to the steps, bytes to the bytes, and each tolerance joins what the next smaller one joined."""
    ranges = [[(begin, begin + size) for begin, size in of] for of in passes]
    table = order.by_pass(tables(len(ranges)), accesses(*ranges))
    assert len(table) == len(ranges)
    for row, of in zip(table.to_dict("records"), ranges, strict=True):
        steps = list(itertools.pairwise(of))
        assert row["n_accesses"] == len(of) and row["touched_bytes"] == sum(end - begin for begin, end in of)
        assert sum(row[f"n_{kind}"] for kind in order.KINDS) == len(steps)
        assert row["distance_bytes"] == sum(abs(now[0] - last[1]) for last, now in steps)
        assert row["n_overlapping"] == sum(len({*range(*last)} & {*range(*now)}) > 0 for last, now in steps)
        joined = [row[f"reads_{tolerance}"] for tolerance in order.TOLERANCES]
        assert joined == sorted(joined, reverse=True) and joined[0] == len(of) - row["n_contiguous"]
        assert joined[-1] == len(of) - sum(now[0] >= last[1] for last, now in steps)  # all are nearer than 2 MiB


def test_a_file_that_is_read_from_end_to_end_is_one_read() -> None:
    places = [(at, at + 100) for at in range(0, 1000, 100)]
    table = order.reads(order.by_pass(tables(2), accesses(places, places)))
    assert table["reads"].tolist() == [1.0] * 4 and table["sequential_share"].tolist() == [1.0] * 4
    assert table["mean_bytes"].tolist() == [1000.0] * 4


def test_one_access_has_no_step() -> None:
    table = order.reads(order.by_pass(tables(1), accesses([(0, 10)])))
    assert table["reads"].tolist() == [1.0] * 4 and table["sequential_share"].isna().all()


def test_passes_without_an_access_have_no_read() -> None:
    passes = order.by_pass(tables(2), accesses([]))
    assert passes["n_accesses"].tolist() == [0, 0]
    assert order.reads(passes[passes["n_accesses"] > 0])["reads"].isna().all()


def test_the_path_of_a_pass_has_the_accesses_of_fused_operations() -> None:
    """A norm whose weight the kernel of the operation before it reads, at the time of that operation."""
    case = scaled_case(2, 2)
    touched = order.disk_accesses(case, ranges(case))
    last = int(touched["pass_id"].max())
    fused, kernel = touched.loc[touched["pass_id"] == last, "node"].drop_duplicates().iloc[[1, 0]]
    ops = case["ops"].copy()
    row = (ops["pass_id"] == last) & (ops["node"] == fused)
    ops.loc[row, "state"] = "fused"
    ops.loc[row, "fused_into"] = kernel
    ops.loc[row, ["begin_ns", "end_ns", "duration_ns"]] = None
    path = order.path(case | {"ops": ops}, touched, last)
    assert len(path) == (touched["pass_id"] == last).sum()
    whole = order.path(case, touched, last)
    nodes = touched.loc[touched["pass_id"] == last, "node"].to_numpy()
    assert set(path.loc[nodes == fused, "begin_ns"]) == {whole.loc[nodes == kernel, "begin_ns"].iloc[0]}
