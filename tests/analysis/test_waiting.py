"""Where threads wait: runs that say nothing of it; tests/recompute counts single spans."""

import pandas as pd

from tests.builders import only, scaled_case
from tracegen.analysis import operations, waiting
from tracegen.analysis.passes import measured

CASE = scaled_case(3, 2, moe=True, threads=3)


def waited(tables: dict[str, pd.DataFrame], keys: tuple[str, ...]) -> pd.DataFrame:
    return waiting.by(operations.op_rows(tables), measured(tables), keys)


def test_without_spans_or_measured_passes_there_are_no_rows() -> None:
    for tables in (CASE | {"spans": CASE["spans"].head(0)}, only(CASE, ("load", "warmup"))):
        assert waited(tables, waiting.KIND).empty
