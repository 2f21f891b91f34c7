"""Is a timed value different between two sets of runs, or the same? docs/comparing.md explains the rule.

There are three verdicts. `different`: the exact two-sided p of a rank test is below LEVEL, so that the interval of the
shift leaves out 0, p adjusted for all that was asked together is below the level of the family (Holm), and the shift
is at least LEAST_SHIFT. `same within the margin`: the whole interval lies within the margin. `not enough runs`: neither
can be said; `runs_needed` says how many would do. Counted values need no test: any difference of theirs is real.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tracegen.analysis.chance import adjusted
from tracegen.analysis.rank_tests import Floats, mann_whitney, signed_rank

Verdict = Literal["different", "same within the margin", "not enough runs"]

# A difference has p < LEVEL; the interval of the shift has the level 1 - LEVEL.
LEVEL = 0.01
# What all rows of a family together may err: the measures that a comparison is made for, and all others that it shows.
# Of comparisons of what does not differ, at most the sum of both says of any row that it does.
ASKED_LEVEL, OTHERS_LEVEL = 0.03, 0.01
# A change that is surely smaller, as a share of the median of A, is called none. A fall counts as its reverse.
MARGIN = 0.05
# Fewer values on a side cannot reach LEVEL: 4 against 4 have p >= 0.029, 5 against 5 p >= 0.008, 7 pairs p >= 0.016.
LEAST_VALUES, LEAST_PAIRS = 5, 8
# The exact distribution of more values takes too long: of 200 on a side, seconds for each comparison.
MOST_VALUES = 100
# A smaller shift, as a share of the median, is never called a difference.
LEAST_SHIFT = 0.01


@dataclass(frozen=True)
class Difference:
    """How a timed value of the runs `b` differs from that of the runs `a`; values, shift and ends share one unit.

    `shift` is the Hodges-Lehmann estimate: the median of all b - a; of pairs, the median of the Walsh averages of
    their differences. `low` and `high` are the ends of its interval at the level 1 - LEVEL, found by inverting the same
    test: it holds 0 if and only if p >= LEVEL. Both are None if n is so small that the interval has no ends.
    `relative` is shift / median_a; None if median_a is 0.
    `p` is exact and two-sided, `least_p` the least that n_a and n_b values can have, `p_adjusted` is p after
    `holm`, which adjusts for many rows; of a single row it is p. `level` is what p_adjusted must be below.
    `margin` is the share of median_a within which the interval must lie for the same. `runs_needed`: the runs a side
    (of pairs: the pairs) that would do where these are not enough, see `runs_needed`; None if nothing is known of it.
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
    p_adjusted: float
    verdict: Verdict
    level: float = LEVEL
    margin: float = MARGIN
    runs_needed: int | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval as shares of median_a, as `relative` is; None if one is not known."""
        if self.low is None or self.high is None or self.relative is None or not self.median_a:
            return None
        return self.low / self.median_a, self.high / self.median_a


def difference(a: Sequence[float], b: Sequence[float], *, paired: bool = False, margin: float = MARGIN) -> Difference:
    """Compare a timed value of the runs `a` (the base) with that of the runs `b`, each in order of time.

    Independent runs take the Mann-Whitney test. `paired`: a[i] and b[i] are of the same round of an interleaved
    design; they take the Wilcoxon signed-rank test, which can tell nothing from fewer than LEAST_PAIRS pairs. Compare
    fewer pairs as independent runs: what a round has in common then only makes the test more careful.

    ValueError if a side has no value or more than MOST_VALUES, if a value is negative, infinite or no number, if
    `paired` sides have different lengths, or if `margin` is not above 0 and at most 1.
    """
    first, second = _checked("a", a), _checked("b", b)
    if paired and len(first) != len(second):
        raise ValueError(f"pairs need as many values in a as in b: {len(first)} and {len(second)}")
    if not (_is_value(margin) and 0 < margin <= 1):
        raise ValueError(f"margin is {margin!r}: it must be above 0 and at most 1")
    test = signed_rank(second - first, LEVEL) if paired else mann_whitney(first, second, LEVEL)
    median_a = float(np.median(first))
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
        p_adjusted=test.p,
        verdict="not enough runs",
        margin=margin,
    )
    return with_verdict(row)


def holm(differences: Sequence[Difference], level: float = LEVEL) -> list[Difference]:
    """The same rows with `level`, `p_adjusted` and `verdict` adjusted for their number (Holm's step-down method).

    The chance that any row is called different without being so stays below `level`. Rows with fewer repeats than any
    comparison needs are not tested and do not count.
    """
    rows = list(differences)
    tested = [place for place, row in enumerate(rows) if not _too_few(row)]
    adjusted_ps = dict(zip(tested, adjusted([rows[place].p for place in tested]).tolist(), strict=True))
    return [
        with_verdict(replace(row, p_adjusted=adjusted_ps.get(place, row.p), level=level), len(tested) or len(rows))
        for place, row in enumerate(rows)
    ]


def with_verdict(row: Difference, n_rows: int = 1) -> Difference:
    """The row with its verdict, as one of `n_rows` whose p are adjusted together; see the module."""
    if not _too_few(row):
        if row.p < LEVEL and row.p_adjusted < row.level and _is_large(row):
            return replace(row, verdict="different", runs_needed=None)
        if row.ends is not None and -reverse(row.margin) <= row.ends[0] and row.ends[1] <= row.margin:
            return replace(row, verdict="same within the margin", runs_needed=None)
    return replace(row, verdict="not enough runs", runs_needed=runs_needed(row, n_rows))


def reverse(rise: float) -> float:
    """The fall that undoes a rise, both as shares: 5 % up is 4.76 % down seen from the other side, 100 % is 50 %.

    With it, the same two sides get the same verdict whichever is A.
    """
    return rise / (1 + rise)


def least_runs(n_rows: int, level: float = LEVEL, *, paired: bool = False) -> int:
    """The least number of runs a side (of pairs: of pairs) that can tell one of `n_rows` rows, their p adjusted.

    The exact p of n runs a side is at least 2 / C(2n, n), that of n pairs at least 2 ** (1 - n).
    """
    n = LEAST_PAIRS if paired else LEAST_VALUES
    while (2.0 ** (1 - n) if paired else 2 / math.comb(2 * n, n)) * n_rows >= level:
        n += 1
    return n


def runs_needed(row: Difference, n_rows: int = 1) -> int | None:
    """About how many runs a side (of pairs: pairs) would end in a verdict, if shift and spread stay as they are.

    With too few for any interval these are the fewest that can show anything. Otherwise each end of the interval comes
    nearer to the shift with the root of the number of runs: so many that it leaves out 0, and no fewer than
    `least_runs`; or so many that it lies within the margin; whichever are fewer. None if neither can ever be.
    """
    least = least_runs(n_rows, row.level, paired=row.paired)
    if _too_few(row) or row.low is None or row.high is None:
        return least
    n = 2 * row.n_a * row.n_b / (row.n_a + row.n_b)
    down, up = row.shift - row.low, row.high - row.shift
    found = []
    if row.shift and _is_large(row):
        found.append(max(least, _grown(n, (down if row.shift > 0 else up) / abs(row.shift))))
    if row.relative is not None and -reverse(row.margin) < row.relative < row.margin:
        room = (row.relative + reverse(row.margin), row.margin - row.relative)
        found.append(_grown(n, max(down / row.median_a / room[0], up / row.median_a / room[1])))
    return min(found, default=None)


def _grown(n: float, factor: float) -> int:
    """The number of runs for which an interval is narrower by `factor`; more than the present n in any case."""
    return max(math.floor(n) + 1, math.ceil(min(n * factor**2, 1e9)))


def _checked(name: str, values: Sequence[float]) -> Floats:
    if len(values) == 0:
        raise ValueError(f"{name} has no values")
    if len(values) > MOST_VALUES:
        raise ValueError(f"{name} has {len(values)} values; at most {MOST_VALUES} are compared")
    for place, value in enumerate(values):
        if not _is_value(value):
            raise ValueError(f"{name}[{place}] is {value!r}: it must be a finite number that is not negative")
    return np.array(values, dtype=np.float64)


def _is_value(value: object) -> bool:
    """Whether it is a number from 0 to the greatest float; NaN is not."""
    return isinstance(value, int | float | np.integer | np.floating) and bool(0 <= value <= sys.float_info.max)


def _too_few(row: Difference) -> bool:
    return min(row.n_a, row.n_b) < LEAST_VALUES or row.least_p >= LEVEL


def _is_large(row: Difference) -> bool:
    """Whether the shift is at least LEAST_SHIFT, a fall its reverse; without a share, any is."""
    if row.relative is None:
        return True
    return abs(row.relative) >= (LEAST_SHIFT if row.shift > 0 else reverse(LEAST_SHIFT))
