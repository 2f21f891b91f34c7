"""What chance alone would give: p of a permutation test, its range, and the p of many tests, adjusted.

A permutation test asks how often data whose order says nothing show as much as was observed. With `DRAWS` shuffles

    p = (1 + shuffles that differ from their mean by at least as much as observed) / (1 + DRAWS)

which is two-sided and never 0 (Phipson and Smyth 2010). Seeds are fixed: the same run gives the same p.
"""

from collections.abc import Sequence

import numpy as np

Floats = np.ndarray

DRAWS = 999
N_PARTS = 10  # of rows that follow each other, for an interval
T_95 = 2.2621571627982044  # the two-sided 95 % point of Student's t with N_PARTS - 1 degrees of freedom
LEVEL = 0.05  # a smaller p, adjusted for all others of its table, is more than chance
_TIE = 1e-9  # sums of floats that differ by less are equal


def p_value(observed: float, drawn: Floats, mean: float) -> float:
    """p of `observed` against the values `drawn` by shuffling, two-sided around their exact or estimated `mean`."""
    as_far = np.abs(drawn - mean) >= abs(observed - mean) - _TIE
    return float((1 + as_far.sum()) / (1 + len(drawn)))


def range_95(drawn: Floats) -> tuple[float, float]:
    """The range that holds the middle 95 % of the values."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def adjusted(ps: Sequence[float] | Floats) -> Floats:
    """The p of many tests, adjusted for their number by Holm's step-down method; in the order given."""
    given = np.asarray(ps, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    result = np.empty_like(given)
    result[order] = np.maximum.accumulate(np.minimum(1.0, given[order] * np.arange(len(given), 0, -1)))
    return result


def around_mean(values: Floats) -> float:
    """Half the 95 % interval of the mean of values that resemble their neighbours, from the means of N_PARTS parts.

    The parts follow each other (batch means; Student's t).
    """
    parts = np.array([part.mean() for part in np.array_split(values, N_PARTS)])
    around: float = T_95 * float(parts.std(ddof=1)) / N_PARTS**0.5
    return around
