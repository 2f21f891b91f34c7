"""Where threads wait, against sums over single spans."""

import pandas as pd

from tests.builders import only, scaled_case
from tracegen.analysis import operations, waiting
from tracegen.analysis.passes import measured

CASE = scaled_case(3, 2, moe=True, threads=3)


def waited(tables: dict[str, pd.DataFrame], keys: tuple[str, ...]) -> pd.DataFrame:
    return waiting.by(operations.op_rows(tables), measured(tables), keys)


def test_a_thread_that_computes_alone_waits_for_nobody() -> None:
    alone = scaled_case(3, 2, threads=1)
    table = waited(alone, waiting.KIND)
    assert (table["wait_ns"] > 0).any() and (table["waiting_ns"] == 0).all() and (table["share"] == 0).all()
    passes = measured(alone)
    ops = operations.op_rows(alone)
    assert waiting.thread_time(ops, passes) == (int((passes["end_ns"] - passes["begin_ns"]).sum()), 1)


def test_without_spans_or_measured_passes_there_are_no_rows() -> None:
    for tables in (CASE | {"spans": CASE["spans"].head(0)}, only(CASE, ("load", "warmup"))):
        assert waited(tables, waiting.KIND).empty
