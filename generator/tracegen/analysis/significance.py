"""Is a timed value different between two sets of runs? docs/comparing.md explains the rule.

Different means that both hold: the exact two-sided p of a rank test is below LEVEL, and the shift is larger than what
neighbouring runs of one cell differ by anyway. Counted values need no test: any difference of theirs is real.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import numpy as np

from tracegen.analysis.rank_tests import Floats, mann_whitney, signed_rank

Verdict = Literal["different", "no difference shown", "too few repeats to tell"]

# A difference has p < LEVEL; the interval of the shift has the level 1 - LEVEL.
LEVEL = 0.01
# Fewer values on a side cannot reach LEVEL: 4 against 4 have p >= 0.029, 5 against 5 p >= 0.008, 7 pairs p >= 0.016.
LEAST_VALUES, LEAST_PAIRS = 5, 8
# The exact distribution of more values takes too long: of 200 on a side, seconds for each comparison.
MOST_VALUES = 100
# A smaller shift, as a share of the median, is never called a difference.
LEAST_SHIFT = 0.01
# A quartile of fewer differences of neighbours says little; two cells of LEAST_VALUES runs have 8.
LEAST_NEIGHBOURS = 8


@dataclass(frozen=True)
class Difference:
    """How a timed value of the runs `b` differs from that of the runs `a`; values, shift and ends share one unit.

    `shift` is the Hodges-Lehmann estimate: the median of all b - a; of pairs, the median of the Walsh averages of
    their differences. `low` and `high` are the ends of its interval at the level 1 - LEVEL, found by inverting the same
    test: it holds 0 if and only if p >= LEVEL. Both are None if n is so small that the interval has no ends.
    `relative` is shift / median_a; None if median_a is 0.
    `p` is exact and two-sided, `least_p` the least that n_a and n_b values can have, `p_held` is p after `holm`, which
    adjusts for many rows; of a single row it is p.
    `threshold` is what a rise must exceed: max(LEAST_SHIFT, noise). A fall must exceed threshold / (1 + threshold): the
    same change, seen from the other side. None if median_a is 0 (then any shift exceeds it) or if the noise is unknown,
    which it is only with too few repeats.
    """

    n_a: int
    n_b: int
    paired: bool
    median_a: float
    median_b: float
    shift: float
    low: float | None
    high: float | None
    relative: float | None
    p: float
    least_p: float
    p_held: float
    threshold: float | None
    verdict: Verdict


def difference(
    a: Sequence[float], b: Sequence[float], *, paired: bool = False, noise: float | None = None
) -> Difference:
    """Compare a timed value of the runs `a` (the base) with that of the runs `b`, each in order of time.

    Independent runs take the Mann-Whitney test. `paired`: a[i] and b[i] are of the same round of an interleaved
    design; they take the Wilcoxon signed-rank test, which can tell nothing from fewer than LEAST_PAIRS pairs. Compare
    fewer pairs as independent runs: what a round has in common then only makes the test more careful.
    `noise` is what `neighbour_noise` says of the cells of the host. None: it is taken from `a` and `b`, as a share of
    the median of `a`, because 1 % alone would be too little where nothing is known of the noise.

    ValueError if a side has no value or more than MOST_VALUES, if a value or `noise` is negative, infinite or no
    number, or if `paired` sides have different lengths.
    """
    first, second = _checked("a", a), _checked("b", b)
    if paired and len(first) != len(second):
        raise ValueError(f"pairs need as many values in a as in b: {len(first)} and {len(second)}")
    test = signed_rank(second - first, LEVEL) if paired else mann_whitney(first, second, LEVEL)
    median_a = float(np.median(first))
    if noise is None:
        noise = neighbour_noise([first.tolist(), second.tolist()], scale=median_a)
    elif not _is_value(noise):
        raise ValueError(f"noise is {noise!r}: it must be a finite number that is not negative")
    row = Difference(
        n_a=len(first),
        n_b=len(second),
        paired=paired,
        median_a=median_a,
        median_b=float(np.median(second)),
        shift=test.shift,
        low=test.low,
        high=test.high,
        relative=test.shift / median_a if median_a else None,
        p=test.p,
        least_p=test.least_p,
        p_held=test.p,
        threshold=max(LEAST_SHIFT, noise) if noise is not None and median_a else None,
        verdict="too few repeats to tell",
    )
    return replace(row, verdict=_verdict(row, row.least_p))


def neighbour_noise(cells: Sequence[Sequence[float]], *, scale: float | None = None) -> float | None:
    """What a timed value of neighbouring runs differs by anyway: Q3 + 3 IQR of |x[i + 1] - x[i]| / median.

    `cells` has, for each cell, the values of its runs on one host in order of time; neighbours are of one cell. The
    median is that of the cell, or `scale` for all cells. A cell whose median is 0 is left out. None if fewer than
    LEAST_NEIGHBOURS differences are left. ValueError as in `difference`, but a cell may have any number of values.
    """
    shares: list[float] = []
    for number, cell in enumerate(cells):
        if len(cell):
            values = _checked(f"cell {number}", cell, most=None)
            median = float(np.median(values)) if scale is None else scale
            shares += (np.abs(np.diff(values)) / median).tolist() if median else []
    if len(shares) < LEAST_NEIGHBOURS:
        return None
    q1, q3 = np.quantile(shares, [0.25, 0.75])
    return float(q3 + 3 * (q3 - q1))


def holm(differences: Sequence[Difference]) -> list[Difference]:
    """The same rows with `p_held` and `verdict` adjusted for their number (Holm's step-down method).

    The chance that any row is called different without being so stays below LEVEL. Rows with fewer repeats than any
    comparison needs are not tested and do not count. With many rows, even the least possible p may not be below LEVEL
    after the adjustment: then the verdict of a row that is not different is "too few repeats to tell".
    """
    rows = list(differences)
    ranked = sorted((place for place, row in enumerate(rows) if not _too_few(row)), key=lambda place: rows[place].p)
    ps = [rows[place].p for place in ranked]
    ps_held = list(accumulate((min(1.0, p * (len(ps) - rank)) for rank, p in enumerate(ps)), max))
    for place, p_held in zip(ranked, ps_held, strict=True):
        row = replace(rows[place], p_held=p_held)
        before = bisect_left(ps, row.least_p)  # rows that would stay before this one, were its p the least possible
        least_held = max(row.least_p * (len(ps) - before), ps_held[before - 1] if before else 0.0)
        rows[place] = replace(row, verdict=_verdict(row, least_held))
    return rows


def _checked(name: str, values: Sequence[float], most: int | None = MOST_VALUES) -> Floats:
    if len(values) == 0:
        raise ValueError(f"{name} has no values")
    if most is not None and len(values) > most:
        raise ValueError(f"{name} has {len(values)} values; at most {most} are compared")
    for place, value in enumerate(values):
        if not _is_value(value):
            raise ValueError(f"{name}[{place}] is {value!r}: it must be a finite number that is not negative")
    return np.array(values, dtype=np.float64)


def _is_value(value: object) -> bool:
    """Whether it is a number from 0 to the greatest float; NaN is not."""
    return isinstance(value, int | float | np.integer | np.floating) and bool(0 <= value <= sys.float_info.max)


def _too_few(row: Difference) -> bool:
    return min(row.n_a, row.n_b) < LEAST_VALUES or row.least_p >= LEVEL


def _least_shift(shift: float, threshold: float) -> float:
    """What a shift must exceed: a fall is held against its reverse, as no fall can be more than all of a value.

    With a threshold of 100 %, a rise must be to more than the double and a fall to less than the half.
    """
    return threshold if shift > 0 else threshold / (1 + threshold)


def _verdict(row: Difference, least_p: float) -> Verdict:
    """The verdict of a row; `least_p` is what its p_held would be if its p were the least possible."""
    if _too_few(row):
        return "too few repeats to tell"
    shift = row.shift if row.relative is None else row.relative
    if row.p_held < LEVEL and abs(shift) > _least_shift(shift, row.threshold or 0):
        return "different"
    return "too few repeats to tell" if least_p >= LEVEL else "no difference shown"
