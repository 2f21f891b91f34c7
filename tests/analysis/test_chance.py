"""p, ranges and adjustments of tests by permutation, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from tracegen.analysis import chance


@pytest.mark.parametrize("n", [2, 4, 10, 20])
def test_tails_and_points_of_student(n: int) -> None:
    t = np.array([0.0, 0.3, 1.0, -2.5, 4.0, 9.0])
    assert chance.t_tail(t, n) == pytest.approx(2 * stats.t.sf(np.abs(t), n - 1), abs=1e-13)
    assert chance.t_95(n) == pytest.approx(stats.t.ppf(0.975, n - 1), rel=1e-9)
    with pytest.raises(ValueError, match="must be even"):
        chance.t_tail(t, n + 1)


def test_p_counts_both_sides_and_is_never_nought() -> None:
    drawn = np.array([1.0, 2.0, 3.0, 4.0])
    assert chance.p_value(3.0, drawn, 2.5) == 1.0  # all are at least half away
    assert chance.p_value(1.0, drawn, 2.5) == pytest.approx(3 / 5)
    assert chance.p_value(9.0, drawn, 2.5) == pytest.approx(1 / 5)
