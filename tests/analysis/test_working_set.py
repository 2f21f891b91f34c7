"""Working sets against windows made one by one, and traces with known answers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.working_set import window_sizes, working_set

PASSES = st.lists(st.sets(st.integers(0, 8), max_size=6), min_size=1, max_size=12)


def found(passes: list[set[int]]) -> pd.DataFrame:
    """The working sets of passes 10, 20 … that use these granules, some of them twice; a pass 5 does not count."""
    rows = [(5, 99)] + [(10 * (i + 1), g) for i, of in enumerate(passes) for g in [*of, *of]]
    uses = pd.DataFrame(rows, columns=["pass_id", "granule"])
    return working_set(uses, [10 * (i + 1) for i in range(len(passes))])


@given(PASSES)
def test_each_window_counted_by_itself(passes: list[set[int]]) -> None:
    table, n = found(passes), len(passes)
    assert table["n_passes"].tolist() == window_sizes(n)
    for row in table.to_dict("records"):
        length = int(row["n_passes"])
        windows = [len(set().union(*passes[i : i + length])) for i in range(n - length + 1)]
        assert row["n_windows"] == len(windows) and row["granules"] == pytest.approx(np.mean(windows))
        assert (row["least_granules"], row["most_granules"]) == (min(windows), max(windows))
        new = [len(passes[i] - set().union(*passes[i - length : i])) for i in range(length, n)]
        assert row["new_granules"] == pytest.approx(np.mean(new)) if new else np.isnan(row["new_granules"])


def test_windows() -> None:
    assert [window_sizes(n) for n in (0, 1, 2, 3, 8, 9)] == [[], [1], [1, 2], [1, 2, 3], [1, 2, 4, 8], [1, 2, 4, 8, 9]]
    assert found([set()])["granules"].tolist() == [0]
    assert working_set(pd.DataFrame({"pass_id": [1], "granule": [2]}), []).empty
