"""The growth of attention: the slope against plain loops, its interval by how often it holds, and what it is of."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tracegen.analysis.context_growth import LEAST_TOKENS, _slope, growth


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-99, 99)), min_size=2, max_size=20))
def test_the_slope_is_the_median_of_those_of_all_pairs(points: list[tuple[int, int]]) -> None:
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for n, a in enumerate(points) for b in points[n + 1 :] if a[0] != b[0]]
    x, y = (np.array(of, float) for of in zip(*points, strict=True))
    found, low, high = _slope(x, y)
    assert found == pytest.approx(np.median(slopes) if slopes else 0)
    assert low <= found <= high or not slopes


def test_the_interval_holds_as_often_as_it_says() -> None:
    """A known slope in noise, with a tenth of the tokens disturbed."""
    random, n = np.random.default_rng(1), 400
    x, inside = np.arange(60.0), 0
    for _ in range(n):
        noise = random.normal(0, 40, len(x)) + (random.random(len(x)) < 0.1) * 2000
        _, low, high = _slope(x, 10 * x + noise)
        inside += low <= 10 <= high
    assert 0.9 <= inside / n <= 0.99


def case(slope: int, n: int) -> tuple[dict[str, pd.DataFrame], pd.DataFrame, pd.DataFrame]:
    """Tokens of two threads with attention of 1,000 ns and `slope` for each token before, and a product beside it."""
    ids = range(10, 10 + n)
    passes = {
        "pass_id": ids,
        "kind": "generate",
        "position_begin": range(5, 5 + n),
        "begin_ns": 0,
        "end_ns": [5000 + slope * position for position in range(5, 5 + n)],
    }
    spans = [(pass_id, thread) for pass_id in ids for thread in (0, 1)]
    tables = {
        "passes": pd.DataFrame(passes).astype({"end_ns": "Int64", "position_begin": "Int64"}),
        "spans": pd.DataFrame(spans, columns=["pass_id", "thread"]),
        "contexts": pd.DataFrame({"n_ctx": pd.array([100], "Int64")}),
    }
    timed, accessed = [], []
    for place, pass_id in enumerate(ids):
        work = 2 * (1000 + slope * (5 + place))
        timed += [
            (pass_id, 1, "FLASH_ATTN_EXT", work),
            (pass_id, 2, "MUL_MAT", 70 * place),
            (pass_id, 3, "CPY", 9 * place),
        ]
        accessed += [(pass_id, 1, "src1", "cache_k_l0 (view)"), (pass_id, 2, "src0", "blk.0.ffn_up.weight")]
        accessed += [(pass_id, 3, "dst", "cache_k_l0 (view)"), (pass_id, 3, "src0", None)]
    columns = ["pass_id", "node", "op", "work_ns"], ["pass_id", "node", "slot", "source_name"]
    return tables, pd.DataFrame(timed, columns=columns[0]), pd.DataFrame(accessed, columns=columns[1])


def test_it_is_of_operations_that_read_the_kv_cache() -> None:
    found = growth(*case(20, LEAST_TOKENS))
    assert found is not None and (found.slope, found.low, found.high) == (20, 20, 20)
    assert found.full_ns == 5000 + 20 * 100


@pytest.mark.parametrize(("slope", "n"), [(20, LEAST_TOKENS - 1), (0, LEAST_TOKENS), (-3, LEAST_TOKENS)])
def test_nothing_is_said_of_few_tokens_or_without_growth(slope: int, n: int) -> None:
    assert growth(*case(slope, n)) is None


def test_a_run_without_positions_has_none() -> None:
    tables = scaled_case(4, 2)
    empty = pd.DataFrame({"pass_id": [], "node": [], "op": [], "work_ns": []})
    assert growth(tables, empty, pd.DataFrame({"pass_id": [], "node": [], "slot": [], "source_name": []})) is None
