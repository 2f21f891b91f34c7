"""Is a timed value different: the rule, its bounds, what it refuses, and how often it errs in a simulation."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegen.analysis import significance
from tracegen.analysis.significance import Difference, difference, holm, least_runs, reverse, runs_needed

DIFFERENT, SAME, NOT_ENOUGH = "different", "same within the margin", "not enough runs"
TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=9)
PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=10)


def around(centre: float, n: int, step: float = 0.001) -> list[float]:
    """n different values near a centre, up and down in turn."""
    return [centre * (1 + step * (i + 1) * (-1) ** i / n) for i in range(n)]


def test_a_row_says_all_that_a_page_shows() -> None:
    a, b = [100.0, 101, 102, 103, 104, 105, 106], [120.0, 121, 122, 123, 124, 125, 126]
    row = difference(a, b)
    assert row == Difference(
        n_a=7,
        n_b=7,
        paired=False,
        median_a=103,
        median_b=123,
        shift=20,
        low=row.low,
        high=row.high,
        relative=20 / 103,
        p=pytest.approx(2 / 3432, rel=1e-12),
        least_p=2 / 3432,
        p_adjusted=row.p,
        verdict=DIFFERENT,
    )
    differences = sorted(y - x for x in a for y in b)
    assert (row.low, row.high) == (differences[4], differences[-5])  # U <= 4 is the critical value of 7 against 7


def test_a_difference_is_sure_and_at_least_one_per_cent() -> None:
    a, b = around(100, 7), around(103, 7)
    assert difference(a, b).verdict == DIFFERENT
    small = difference(a, around(100.9, 7))
    assert small.p < significance.LEVEL and small.verdict == SAME  # certain, but below 1 %
    assert difference([100.0] * 7, [101.0] * 7).verdict == DIFFERENT
    mixed = difference([100, 100, 100, 100, 100, 200, 200], [150.0] * 7)
    assert mixed.relative == 0.5 and mixed.p >= significance.LEVEL and mixed.verdict == NOT_ENOUGH


def test_the_same_needs_the_whole_interval_within_the_margin() -> None:
    a = around(100, 7, 0.02)
    row = difference(a, a)
    assert row.ends is not None and 0 < row.ends[1] < 0.03 and row.verdict == SAME
    assert difference(a, a, margin=row.ends[1] * 1.001 / (1 - row.ends[1])).verdict == SAME
    assert difference(a, a, margin=row.ends[1] * 0.999).verdict == NOT_ENOUGH
    wide = around(100, 7, 0.2)
    assert difference(wide, wide).p == 1 and difference(wide, wide).verdict == NOT_ENOUGH  # p = 1 shows no likeness
    for bad in (0, -0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match=r"^margin is .*: it must be above 0 and at most 1$"):
            difference(a, a, margin=bad)


@pytest.mark.parametrize("n", [5, 7])
def test_a_fall_is_the_same_as_far_as_the_rise_that_undoes_it(n: int) -> None:
    """Which side is A does not matter: 5 % more is 4.76 % less."""
    assert reverse(0.05) == pytest.approx(0.05 / 1.05) and reverse(1.0) == 0.5
    for rise, verdict in ((1.0499, SAME), (1.0501, NOT_ENOUGH)):
        a, b = [100.0] * n, [100.0 * rise] * (n - 2) + [100.0] * 2
        there, back = difference(a, b), difference(b, a)
        ends = (there.ends, back.ends)
        assert there.p >= significance.LEVEL and there.verdict == back.verdict == verdict, ends


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (1, 100), (4, 4), (4, 20), (20, 4)])
def test_too_few_repeats_are_never_called_the_same_or_different(n_a: int, n_b: int) -> None:
    for centre in (100, 500):
        assert difference(around(100, n_a), around(centre, n_b)).verdict == NOT_ENOUGH


def test_the_least_numbers_of_repeats_are_those_that_can_reach_the_level() -> None:
    n, pairs = significance.LEAST_VALUES, significance.LEAST_PAIRS
    assert difference(around(100, n), around(200, n)).verdict == DIFFERENT
    assert 2 / math.comb(2 * n, n) < significance.LEVEL <= 2 / math.comb(2 * n - 2, n - 1)
    assert difference(around(100, pairs), around(200, pairs), paired=True).verdict == DIFFERENT
    assert difference(around(100, pairs - 1), around(200, pairs - 1), paired=True).verdict == NOT_ENOUGH
    assert 2 * 0.5**pairs < significance.LEVEL <= 2 * 0.5 ** (pairs - 1)


def test_pairs_find_what_the_drift_of_independent_runs_hides() -> None:
    a = [100.0 + 10 * i for i in range(9)]
    b = [x * 1.04 + i % 2 for i, x in enumerate(a)]
    assert difference(a, b).verdict == NOT_ENOUGH and difference(a, b, paired=True).verdict == DIFFERENT


def test_runs_against_themselves_and_values_that_are_all_equal() -> None:
    for values in (around(100, 7), [5.0] * 7, [0.0] * 7):
        for paired in (False, True):
            row = difference(values, values, paired=paired)
            assert (row.p, row.shift) == (1, 0)
            assert row.verdict == (NOT_ENOUGH if paired or not values[0] else SAME)  # of 0 there is no share


def test_a_base_of_zero_has_no_relative_shift() -> None:
    row = difference([0.0] * 7, around(5, 7))
    assert (row.relative, row.verdict) == (None, DIFFERENT)
    fall = difference(around(5, 7), [0.0] * 7)
    assert (fall.relative, fall.verdict) == (pytest.approx(-1, rel=0.01), DIFFERENT)
    assert difference([0.0] * 7, [0, 0, 0, 0, 0, 1, 1]).verdict == NOT_ENOUGH


def test_a_fall_to_almost_nothing_is_found_though_what_is_left_varies() -> None:
    waits, left = around(1e9, 7, 0.05), [1e6, 3e6, 1e6, 4e6, 1e6, 2e6, 5e6]
    assert difference(waits, left).verdict == difference(left, waits).verdict == DIFFERENT


BAD = (math.nan, math.inf, -math.inf, -1.0, -1, None, "5", pd.NA, 1j, 10**400)


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_what_is_no_time_is_refused_by_its_place(bad: Any) -> None:
    fine = around(100, 5)
    with pytest.raises(ValueError, match=r"^a\[2\] is .*: it must be a finite number that is not negative$"):
        difference([1.0, 2.0, bad, 3.0, 4.0], fine)
    with pytest.raises(ValueError, match=r"^b\[0\] is "):
        difference(fine, [bad], paired=False)


def test_sides_that_cannot_be_compared_are_refused() -> None:
    fine = around(100, 5)
    for a, b in (([], fine), (fine, []), ([], [])):
        with pytest.raises(ValueError, match=r"^[ab] has no values$"):
            difference(a, b)
    with pytest.raises(ValueError, match=r"^pairs need as many values in a as in b: 5 and 4$"):
        difference(fine, fine[:4], paired=True)
    with pytest.raises(ValueError, match=r"^b has 101 values; at most 100 are compared$"):
        difference(fine, around(100, 101))


@given(TIMES, TIMES)
def test_swapping_the_sides_negates_the_shift_and_keeps_p(a: list[int], b: list[int]) -> None:
    there, back = difference(a, b), difference(b, a)
    assert there.p == pytest.approx(back.p, rel=1e-12) and there.shift == -back.shift
    assert (there.low, there.high) == (
        None if back.high is None else -back.high,
        None if back.low is None else -back.low,
    )


@given(TIMES, TIMES, st.integers(1, 1000), st.integers(0, 1000))
def test_a_unit_scales_the_shift_and_a_constant_moves_nothing(a: list[int], b: list[int], k: int, c: int) -> None:
    row, scaled = difference(a, b), difference([k * x for x in a], [k * x for x in b])
    assert scaled.p == row.p and scaled.shift == k * row.shift and scaled.verdict == row.verdict
    assert scaled.relative == row.relative
    moved = difference([x + c for x in a], [x + c for x in b])
    assert (moved.p, moved.shift, moved.low, moved.high) == (row.p, row.shift, row.low, row.high)


@given(PAIRS)
def test_pairs_swapped_or_moved_as_a_pair_keep_p(pairs: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    row = difference(a, b, paired=True)
    back = difference(b, a, paired=True)
    assert row.p == pytest.approx(back.p, rel=1e-12) and row.shift == -back.shift
    drifted = difference([x + 7 * i for i, x in enumerate(a)], [y + 7 * i for i, y in enumerate(b)], paired=True)
    assert (drifted.p, drifted.shift, drifted.low, drifted.high) == (row.p, row.shift, row.low, row.high)


@settings(max_examples=300)
@given(TIMES, TIMES, st.integers(0, 40), st.booleans())
def test_the_interval_holds_0_if_and_only_if_p_is_not_below_the_level(
    a: list[int], b: list[int], more: int, paired: bool
) -> None:
    n = min(len(a), len(b)) if paired else 9
    row = difference(a[:n], [x + more for x in b[:n]], paired=paired)
    holds_0 = row.low is None or row.high is None or row.low <= 0 <= row.high
    assert holds_0 == (row.p >= significance.LEVEL)
    assert (row.low is None) == (row.high is None) == (row.least_p >= significance.LEVEL)
    assert row.low is None or row.high is None or row.low <= row.shift <= row.high
    assert (row.verdict == DIFFERENT) <= (row.p < significance.LEVEL) and (row.verdict == DIFFERENT) <= (not holds_0)


def with_p(p: float, n: int = 30) -> Difference:
    """A row with this p and a large shift."""
    return replace(difference(around(100, n), around(200, n)), p=p, p_adjusted=p)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_a_loop_over_ascending_p(ps: list[float]) -> None:
    expected: dict[int, float] = {}
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        expected[place] = max([min(1.0, (len(ps) - rank) * ps[place]), *expected.values()])
    rows = holm([with_p(p) for p in ps])
    assert [row.p_adjusted for row in rows] == [expected[place] for place in range(len(ps))]
    assert [row.p for row in rows] == ps
    assert [row.verdict for row in rows] == [DIFFERENT if row.p_adjusted < 0.01 else NOT_ENOUGH for row in rows]
    assert holm(rows) == rows  # and so nothing is adjusted twice
    wider = [row.verdict for row in holm([with_p(p) for p in ps], 0.03)]  # no difference whose interval holds 0
    assert wider == [DIFFERENT if row.p < 0.01 and row.p_adjusted < 0.03 else NOT_ENOUGH for row in rows]


def test_rows_with_too_few_repeats_take_nothing_from_others() -> None:
    few, row = difference([100.0], [200.0]), difference(around(100, 5), around(200, 5))
    assert holm([few, row, few]) == [few, row, few] and row.verdict == DIFFERENT
    assert [of.runs_needed for of in holm([few] * 3)] == [6] * 3  # 3 x 0.0079 is not a p below 0.01


@pytest.mark.parametrize(("n", "most"), [(5, 1), (6, 4), (7, 17), (8, 64)])
def test_with_too_many_rows_even_the_least_p_tells_nothing(n: int, most: int) -> None:
    apart, same = difference(around(100, n), around(200, n)), difference(around(100, n), around(100, n))
    assert {row.verdict for row in holm([apart] * most)} == {DIFFERENT}
    rows = holm([apart] * (most + 1))
    assert {(row.verdict, row.runs_needed) for row in rows} == {(NOT_ENOUGH, n + 1)}
    assert {row.verdict for row in holm([same] * (most + 1))} == {SAME}  # that needs no small p
    assert least_runs(most) == n and least_runs(most + 1) == n + 1


def test_five_measures_that_are_asked_get_a_verdict_with_six_runs_and_in_nine_pairs() -> None:
    level = significance.ASKED_LEVEL
    apart = difference(around(100, 6), around(200, 6))
    assert {row.verdict for row in holm([apart] * 5, level)} == {DIFFERENT}
    assert [least_runs(rows, level) for rows in (1, 3, 5)] == [5, 5, 6]
    assert [least_runs(rows, level, paired=True) for rows in (1, 3, 5)] == [8, 8, 9]
    assert level + significance.OTHERS_LEVEL <= 0.05


def test_the_documented_least_p_and_numbers_of_rows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    page = page[page.index("| runs on each side |") :]
    rows = [[float(cell) for cell in row.split("|")] for row in re.findall(r"^\| (\d[\d. |]+) \|$", page, re.MULTILINE)]
    assert [row[0] for row in rows] == [4, 5, 6, 7, 8, 10]
    for n, *columns in rows:
        for least_p, most, paired in ((*columns[:2], False), (*columns[2:], True)):
            row = difference(around(100, int(n)), around(200, int(n)), paired=paired)
            assert row.least_p == pytest.approx(least_p, rel=0.05)
            assert row.least_p * most < significance.LEVEL <= row.least_p * (most + 1)


def test_how_many_runs_would_do_is_that_of_the_interval() -> None:
    """By hand: an interval of -8 to +8 % of 6 runs lies within 4.76 % with 6 x (8 / 4.76)² = 16.9 runs."""
    row = replace(difference(around(100, 6), around(100, 6)), shift=0.0, relative=0.0, low=-8.0, high=8.0, median_a=100)
    assert runs_needed(row) == 17
    shifted = replace(row, shift=10.0, relative=0.1, low=-5.0, high=25.0)  # leaves out 0 with 6 x 1.5² = 13.5
    assert runs_needed(shifted) == 14 and runs_needed(shifted, 10**6) == least_runs(10**6) > 14
    both = replace(row, shift=4.0, relative=0.04, low=-1.0, high=9.0)  # 6 x 1.25² = 9.4 leave out 0; 6 x 5² are within
    assert runs_needed(both) == 10
    assert runs_needed(difference([100.0], [100.0])) == 5 and runs_needed(replace(row, low=None, high=None)) == 5
    no_share = difference([0.0] * 7, [0, 0, 0, 0, 0, 1, 1])
    assert no_share.shift == 0 and runs_needed(no_share) is None  # neither can ever be shown


@pytest.mark.parametrize("rise", [0.05, 0.10])
def test_what_differs_by_the_margin_is_seldom_called_the_same(rise: float) -> None:
    """In at most half of 1 %: the interval of 99 % then lies within the margin on one side only by accident."""
    rng = np.random.default_rng(8)
    pairs = [(rng.lognormal(0, 0.01, 7), rng.lognormal(math.log1p(rise), 0.01, 7)) for _ in range(1000)]
    assert sum(difference(a.tolist(), b.tolist()).verdict == SAME for a, b in pairs) <= 12


def test_a_disturbed_run_costs_runs_and_is_no_likeness() -> None:
    """The side that is faster has a run that is slower than all of the other side."""
    found = {n: difference([*around(100, n - 1), 300], around(200, n)) for n in (7, 8, 9, 10)}
    assert {n: row.verdict for n, row in found.items()} == {7: NOT_ENOUGH, 8: NOT_ENOUGH, 9: DIFFERENT, 10: DIFFERENT}
    assert (found[8].runs_needed or 0) >= 9
