"""p, ranges and adjustments of tests by permutation, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from tracegen.analysis import chance


def test_the_quantile_of_t_is_that_of_scipy() -> None:
    assert pytest.approx(stats.t.ppf(0.975, chance.N_PARTS - 1), rel=1e-12) == chance.T_95


def test_p_counts_both_sides_and_is_never_nought() -> None:
    drawn = np.array([1.0, 2.0, 3.0, 4.0])
    assert chance.p_value(3.0, drawn, 2.5) == 1.0  # all are at least half away
    assert chance.p_value(1.0, drawn, 2.5) == pytest.approx(3 / 5)
    assert chance.p_value(9.0, drawn, 2.5) == pytest.approx(1 / 5)
