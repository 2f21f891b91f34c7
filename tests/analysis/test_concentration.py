"""How uneven use is, against loops over pairs of bytes, and known spreads."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tracegen.analysis import concentration
from tracegen.analysis.accesses import ranges
from tracegen.analysis.order import disk_accesses
from tracegen.analysis.pieces import pieces

USES = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 90)), min_size=1, max_size=20)


def use_of(sizes_and_uses: list[tuple[int, float]]) -> pd.DataFrame:
    return pd.DataFrame(sizes_and_uses, columns=["size_bytes", "touched_bytes"])


@given(USES)
def test_gini_equals_a_count_over_pairs_of_bytes(uses: list[tuple[int, int]]) -> None:
    """Half the mean difference of use per byte between two bytes, beside the mean use per byte."""
    points = concentration.curve(use_of(uses), "touched_bytes")
    if not sum(use for _, use in uses):
        assert points.empty
        return
    bytes_ = [use / size for size, use in uses for _ in range(size)]
    differences = np.abs(np.subtract.outer(bytes_, bytes_)).mean()
    assert concentration.gini(points) == pytest.approx(differences / 2 / np.mean(bytes_), abs=1e-9)


def test_gini_and_shares_of_known_distributions() -> None:
    even = concentration.curve(use_of([(10, 30), (20, 60), (5, 15)]), "touched_bytes")
    assert concentration.gini(even) == pytest.approx(0) and concentration.file_share(even, 0.8) == pytest.approx(0.8)
    one = concentration.curve(use_of([(10, 7), (90, 0)]), "touched_bytes")
    assert concentration.gini(one) == pytest.approx(0.9) and concentration.file_share(one, 0.5) == pytest.approx(0.05)
    zipf = concentration.curve(use_of([(1, 1 / n**1.1) for n in range(1, 1001)]), "touched_bytes")
    weights = 1 / np.arange(1, 1001) ** 1.1
    n_half = int(np.searchsorted(np.cumsum(weights) / weights.sum(), 0.5)) + 1
    assert (n_half - 1) / 1000 < concentration.file_share(zipf, 0.5) <= n_half / 1000


def test_thinned_curves_keep_their_ends_and_lie_on_the_curve() -> None:
    points = concentration.curve(use_of([(1, 1 / n) for n in range(1, 3000)]), "touched_bytes")
    few = concentration.thinned(points)
    assert 200 < len(few) <= 400
    assert few.iloc[0].tolist() == points.iloc[0].tolist() and few.iloc[-1].tolist() == points.iloc[-1].tolist()
    assert few.merge(points).shape == few.shape
    assert concentration.gini(few) == pytest.approx(concentration.gini(points), abs=0.001)


def test_a_time_that_is_missing_leaves_no_curve_of_time_and_copies_are_no_part_of_the_file() -> None:
    tables = scaled_case(3, 2, moe=True)
    used, cut = ranges(tables), pieces(tables)
    accesses = disk_accesses(tables, used)
    first = accesses.iloc[0]
    spans = tables["spans"]
    gone = (spans["pass_id"] == first["pass_id"]) & (spans["node"] == first["node"])
    use = concentration.piece_use({**tables, "spans": spans[~gone]}, used, accesses, cut)
    assert concentration.curve(use, "work_ns").empty and len(concentration.curve(use, "n_accesses"))
    tensor = int(first["tensor"])
    copied = used.assign(memory=used["memory"].astype("object").mask(used["tensor"] == tensor, "copied"))
    use = concentration.piece_use(tables, copied, accesses[accesses["tensor"] != tensor], cut)
    assert tensor not in set(use["tensor"]) and len(use) < len(cut)
