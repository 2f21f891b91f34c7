"""Exact rank tests of two samples: p, the shift between them, and the interval of shifts that the test allows.

The Mann-Whitney test is for independent samples, the Wilcoxon signed-rank test for pairs. Both rank values, so neither
assumes a distribution, and one extreme value counts no more than any other that is larger than the rest. Equal values
get the mean of their ranks, and the distribution of the statistic is counted for exactly these ranks.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Signs = NDArray[np.int64]
# P(T <= t) and P(T >= t) of the statistic T under the null hypothesis, given the signs of (contrast - shift).
Tails = Callable[[Signs], tuple[float, float]]


@dataclass(frozen=True)
class RankTest:
    """The result of a test; `shift`, `low` and `high` have the unit of the values.

    `p` is two-sided: twice the smaller tail, at most 1. `least_p` is the least p that samples of this size can have
    (without equal values). `low` and `high` are the ends of the interval, both ends included, of those shifts which
    the test does not reject at the level; None if the samples are so small that it rejects none.
    """

    p: float
    least_p: float
    shift: float
    low: float | None
    high: float | None


def mann_whitney(a: Floats, b: Floats, level: float) -> RankTest:
    """The Mann-Whitney test of two independent samples; `shift` is the median of all differences b - a.

    `a` and `b` are finite and have at least one value each.
    """
    contrasts = b[None, :] - a[:, None]
    ranks_a, ranks_b = _doubled_ranks(_signs(a)), _doubled_ranks(_signs(b))

    def tails(signs: Signs) -> tuple[float, float]:
        in_a = ranks_a + len(b) - signs.sum(axis=1)  # each of b that is smaller adds 2, each that is equal adds 1
        in_b = ranks_b + len(a) + signs.sum(axis=0)
        return _tails(_subset_sums(tuple(sorted((*in_a.tolist(), *in_b.tolist()))), len(b)), int(in_b.sum()))

    least_p = min(1.0, 2 / math.comb(len(a) + len(b), len(a)))
    return _result(contrasts, contrasts.ravel(), tails, least_p, level)


def signed_rank(differences: Floats, level: float) -> RankTest:
    """The Wilcoxon signed-rank test of the differences of pairs; `shift` is the median of their Walsh averages.

    The Walsh averages are the means of each difference with itself and with each later one. Differences of 0 get a
    rank, which counts half on either side (Pratt). `differences` are finite; there is at least one.
    """
    contrasts = (differences[:, None] + differences[None, :]) / 2
    order = _signs(differences)

    def tails(signs: Signs) -> tuple[float, float]:
        ranks, side = _doubled_ranks(signs * order), np.diagonal(signs)  # |x| > |y| if (x - y) (x + y) > 0
        return _tails(_sign_sums(tuple(sorted(ranks[side != 0].tolist()))), int(ranks[side > 0].sum()))

    walsh = contrasts[np.triu_indices(len(differences))]
    return _result(contrasts, walsh, tails, 2.0 ** (1 - len(differences)), level)


def _result(contrasts: Floats, values: Floats, tails: Tails, least_p: float, level: float) -> RankTest:
    p = min(1.0, 2 * min(tails(np.sign(contrasts).astype(np.int64))))
    low, high = _interval(contrasts, tails, level)
    if p < level and low is not None and high is not None:  # 0 is rejected, but an end, if a and b share a value
        low, high = (math.nextafter(0, 1) if low == 0 else low), (math.nextafter(0, -1) if high == 0 else high)
    return RankTest(p, least_p, float(np.median(values)), low, high)


def _interval(contrasts: Floats, tails: Tails, level: float) -> tuple[float | None, float | None]:
    """The least and the greatest shift that are not rejected.

    The p of a shift changes only where the shift passes a contrast: all shifts between two neighbouring contrasts have
    one p. P(T >= t) never falls as the shift grows and P(T <= t) never rises, so both ends are found by bisection.
    """
    steps = np.unique(contrasts)
    gaps = range(len(steps) + 1)  # gap g lies below steps[g] and above steps[g - 1]

    def in_gap(gap: int) -> tuple[float, float]:
        return tails(np.where(contrasts >= steps[gap], 1, -1) if gap < len(steps) else np.full(contrasts.shape, -1))

    first = bisect_left(gaps, level, key=lambda gap: 2 * in_gap(gap)[1])
    last = len(steps) - bisect_left(gaps, level, key=lambda gap: 2 * in_gap(len(steps) - gap)[0])
    if first == 0 or last == len(steps):
        return None, None
    return float(steps[first - 1]), float(steps[last])


def _signs(values: Floats) -> Signs:
    """The sign of each value less each, a matrix: no subtraction, which could round to 0 or overflow."""
    larger = (values[:, None] > values[None, :]).astype(np.int64)
    return larger - larger.T


def _doubled_ranks(signs: Signs) -> Signs:
    """Twice the rank of each row, equal ones sharing the mean: whole numbers; `signs` compares each row with each."""
    ranks: Signs = signs.sum(axis=1) + len(signs) + 1
    return ranks


@dataclass(frozen=True)
class _Null:
    """P(T <= t) and P(T >= t) at t = 0, step, 2 step, …"""

    step: int
    at_most: Floats
    at_least: Floats


def _tails(null: _Null, statistic: int) -> tuple[float, float]:
    place = statistic // null.step
    return float(null.at_most[place]), float(null.at_least[place])


def _null(counts: Floats, step: int) -> _Null:
    up, down = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]  # both, so that a small tail keeps its digits
    return _Null(step, up / up[-1], down / up[-1])


@lru_cache(maxsize=256)
def _subset_sums(ranks: tuple[int, ...], size: int) -> _Null:
    """The distribution of the sum of `size` of the ranks, chosen at random; `ranks` ascend."""
    step = math.gcd(*ranks)
    counts = np.zeros((size + 1, sum(ranks[-size:]) // step + 1))
    counts[0, 0] = 1
    for i, rank in enumerate(ranks):
        first, last = max(0, size - len(ranks) + i), min(i + 1, size)  # fewer cannot be filled up, more are not there
        reach = sum(ranks[i + 1 - last : i + 1]) // step + 1  # no sum of these is greater
        counts[first + 1 : last + 1, rank // step : reach] += counts[first:last, : reach - rank // step]
    return _null(counts[size], step)


@lru_cache(maxsize=256)
def _sign_sums(ranks: tuple[int, ...]) -> _Null:
    """The distribution of the sum of ranks of which each counts or does not, with equal chances."""
    step = math.gcd(*ranks) or 1
    counts = np.zeros(sum(ranks) // step + 1)
    counts[0] = 1
    for rank in ranks:
        counts[rank // step :] += counts[: -(rank // step)]
    return _null(counts, step)
