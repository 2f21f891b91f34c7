"""What chance alone would give: p of a permutation test, its range, and the p of many tests, adjusted.

A permutation test asks how often data whose order says nothing show as much as was observed. With `DRAWS` shuffles

    p = (1 + shuffles that differ from their mean by at least as much as observed) / (1 + DRAWS)

which is two-sided and never 0 (Phipson and Smyth 2010). Seeds are fixed: the same run gives the same p.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # a site of versions loads no pandas
    import pandas as pd

Floats = np.ndarray

DRAWS = 999
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


def with_older_name(table: "pd.DataFrame") -> "pd.DataFrame":
    """The table with its p_adjusted a second time as p_held, the name that this column had in earlier versions."""
    return table.assign(p_held=table["p_adjusted"])


def adjusted(ps: Sequence[float] | Floats) -> Floats:
    """The p of many tests, adjusted for their number by Holm's step-down method; in the order given."""
    given = np.asarray(ps, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    result = np.empty_like(given)
    result[order] = np.maximum.accumulate(np.minimum(1.0, given[order] * np.arange(len(given), 0, -1)))
    return result


def around_mean(values: Floats, n_parts: int) -> float:
    """Half the 95 % interval of the mean of values that resemble their neighbours, from the means of so many parts.

    The parts follow each other (batch means; Student's t).
    """
    parts = np.array([part.mean() for part in np.array_split(values, n_parts)])
    around: float = t_95(n_parts) * float(parts.std(ddof=1)) / n_parts**0.5
    return around


@cache
def t_95(n: int) -> float:
    """The two-sided 95 % point of Student's t with n - 1 degrees of freedom, by bisection of `t_tail`."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if float(t_tail(np.array([middle]), n)[0]) > 0.05 else (low, middle)
    return (low + high) / 2


def t_tail(t: Floats, n: int) -> Floats:
    """P(|T| >= |t|) for Student's t with n - 1 degrees of freedom, n even: the finite sum for odd degrees.

    With v = n - 1 and θ = atan(|t| / √v) it is 1 - (2/π)(θ + sin θ (cos θ + (2/3) cos³θ + … )), Abramowitz and Stegun
    26.7.3. Exact to about 1e-15, so that a smaller p is given as that.
    """
    if n % 2 or n < 2:
        raise ValueError(f"n is {n}: the sum is that of odd degrees of freedom, so n must be even")
    v = n - 1
    angle = np.arctan(np.abs(np.asarray(t, dtype=np.float64)) / np.sqrt(v))
    cos = np.cos(angle)
    term, total = cos.copy(), np.zeros_like(cos)
    for power in range(1, v - 1, 2):
        total += term
        term = term * cos**2 * (power + 1) / (power + 2)
    tail: Floats = np.clip(1 - 2 / np.pi * (angle + np.sin(angle) * total), 1e-15, 1.0)
    return tail
