"""How often a comparison errs, and what it finds: whole comparisons of simulated runs, seeded."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from tests.comparing.made import run_with, side, slot, timed
from tracegen.analysis.measures import ASKED
from tracegen.comparing import prose
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Comparison, compare
from tracegen.publishing.side import Side

Row = tuple[object, ...]
OTHERS = 6  # layers and kinds of operation


def run_of(rng: np.random.Generator, slower: float, spread: float, disturbed: float = 0.0) -> list[Row]:
    """All timed measures of a run: what they share (the clock of the processor), and what each has alone."""
    shared = rng.normal(0, spread) + (rng.uniform(0.1, 0.5) if rng.random() < disturbed else 0)
    times = [1e8 * math.exp(shared + rng.normal(0, spread / 2) + math.log1p(slower)) for _ in range(OTHERS)]
    rows: list[Row] = [timed(t, "time for a token", "layer", f"layer {i}", "ns") for i, t in enumerate(times)]
    rows.append(timed(1e9 / math.exp(math.log(1e7) + shared + math.log1p(slower))))
    rows += [timed(1e6 * math.exp(shared + rng.normal(0, 2 * spread)), key) for key in ASKED[1:]]
    return rows


def comparisons(seed: int, number: int, n: int, slower: float, spread: float, disturbed: float) -> Iterator[Comparison]:
    rng = np.random.default_rng(seed)
    for _ in range(number):
        sides = [
            side(name, [run_of(rng, by, spread, disturbed) for _ in range(n)], first)
            for name, by, first in (("a", 0.0, 1), ("b", slower, 21))
        ]
        yield compare(*sides)


def calls(comparison: Comparison) -> bool:
    return any(row.state == "different" for row in comparison.rows)


@pytest.mark.parametrize("number", [100, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("n", "spread", "disturbed"), [(6, 0.02, 0.0), (9, 0.05, 0.1)])
def test_of_equal_runs_at_most_one_comparison_in_twenty_calls_anything(
    n: int, spread: float, disturbed: float, number: int
) -> None:
    found = list(comparisons(n, number, n, 0.0, spread, disturbed))
    assert len(found[0].rows) == OTHERS + len(ASKED)
    assert sum(map(calls, found)) <= number / 20


def test_ten_per_cent_are_found_in_nine_of_ten_quiet_pairs_of_six_and_never_called_the_same() -> None:
    found = [c.named("tokens_per_second_generate") for c in comparisons(1, 100, 6, 0.1, 0.02, 0.0)]
    states = [row.state for row in found if row is not None]
    assert states.count("different") >= 90 and states.count("same within the margin") == 0
    assert all(row is not None and row.better is False for row in found if row is not None and row.state == "different")


def drifting(rng: np.random.Generator, n: int, in_rounds: bool) -> Comparison:
    """Runs of two equal cells while the machine drifts: each step keeps 95 % of what the one before it was off by."""
    order = [rng.permutation(2) for _ in range(n)] if in_rounds else np.sort(np.arange(2 * n) % 2).reshape(n, 2)
    runs: tuple[list[list[Row]], list[list[Row]]] = ([], [])
    times: tuple[list[int], list[int]] = ([], [])
    off = rng.normal(0, 0.1)
    for number, cell in enumerate(np.concatenate(order)):
        off = 0.95 * off + rng.normal(0, 0.03)
        rows = [
            timed(1e7 * math.exp(-off + rng.normal(0, 0.01))),
            *(
                timed(1e8 * math.exp(off + rng.normal(0, 0.02)), "time for a token", "layer", f"layer {i}", "ns")
                for i in range(4)
            ),
        ]
        runs[cell].append(rows)
        times[cell].append(number)
    sides = [
        Side(
            name,
            tuple(
                run_with(at, rows, **({"slot": slot(turn, threads=name)} if in_rounds else {}))
                for turn, (at, rows) in enumerate(zip(times[cell], runs[cell], strict=True), 1)
            ),
        )
        for cell, name in enumerate("ab")
    ]
    return compare(*sides)


@pytest.mark.parametrize("n", [6, 9])
def test_rounds_in_random_order_bear_a_drift(n: int) -> None:
    rng = np.random.default_rng(n)
    found = [drifting(rng, n, in_rounds=True) for _ in range(150)]
    assert sum(map(calls, found)) <= 7
    assert {c.paired for c in found} == {n >= 8} and not any(c.one_after_the_other for c in found)
    assert "one side were made before" not in " ".join(say.rule(found[0]))


def test_one_side_after_the_other_does_not_and_the_rule_says_so() -> None:
    """No test can tell a drift from a difference then."""
    rng = np.random.default_rng(2)
    found = [drifting(rng, 9, in_rounds=False) for _ in range(60)]
    assert sum(map(calls, found)) >= 12  # of 60; 3 were allowed
    assert all(c.one_after_the_other for c in found)
    assert "All runs of one side were made before those of the other" in say.rule(found[0])[-1]


def test_the_answer_has_effect_and_interval_in_per_cent_and_the_rule_with_its_margin() -> None:
    """The runs of 1 and 2 threads that were completely apart and were called no difference."""
    a = side("threads=2", [[timed(v)] for v in (20.0, 20.1, 20.2, 20.05, 24.4, 20.15)])
    b = side("threads=1", [[timed(v)] for v in (31.4, 31.5, 35.8, 31.6, 31.45, 31.3)], first=9)
    comparison = compare(a, b, margin=0.02)
    (speed,) = map(prose.text_of, prose.answers(comparison))
    assert speed == (
        "Generation speed is 20.1 tokens/s in A and 31.5 tokens/s in B, 1.56 × as fast: better. These are medians of "
        "6 and 6 runs. The 99 % interval of the change is +35.0 % to +78.0 % (p = 0.0022)."
    )
    rule = say.rule(comparison)[0]
    assert "below 0.03 for the 1 measure asked about, below 0.01 for all others" in rule
    assert "Same within 2 %: the whole 99 % interval lies from −1.96 % to +2 %" in rule
    assert say.rule(compare(side("a", [[timed(5.0)]]), side("b", [[timed(5.0)]]))) == []


def test_where_the_interval_reaches_the_double_effect_and_ends_are_factors() -> None:
    a = side("a", [[timed(v)] for v in (10.0, 10.1, 10.2, 10.05, 12.4, 10.15)])
    b = side("b", [[timed(v)] for v in (20.4, 20.5, 31.8, 20.6, 19.45, 20.3)], first=9)
    there, back = (say.certainty(compare(*sides).rows[0], 0.05, ends=True) for sides in ((a, b), (b, a)))
    assert there == "better, × 2.02, 99 % interval × 1.79 to × 3.14, p = 0.0022, n = 6 and 6"
    assert back == "worse, −10.3 tokens/s, 99 % interval −21.7 to −8.00 tokens/s, p = 0.0022, n = 6 and 6"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((100.0, 100.5, 99.5, 100.2, 99.8, 100.1), ", the same within 5 %."),
        ((100.0, 109.0, 91.0, 104.0, 96.0, 101.0), "includes zero; it takes about 45 runs per side."),
        ((100.0, 101.0, 99.0), "There are 3 and 3 runs; it takes at least 5 runs per side."),
        ((100.0, 300.0, 20.0, 210.0, 55.0, 130.0), "includes zero; it takes more than 100 runs per side."),
    ],
)
def test_what_is_not_different_is_the_same_or_wants_runs(values: tuple[float, ...], words: str) -> None:
    a, b = (side(name, [[timed(v + i / 1000)] for v in values]) for i, name in enumerate("ab"))
    assert words in prose.text_of(prose.answers(compare(a, b))[0])
