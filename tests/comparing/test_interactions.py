import itertools
import math
import random
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
from scipy.stats import wilcoxon

from tests.comparing.made import HOST, run_with, slot, timed
from tracegen.comparing.interactions import Interaction, interactions
from tracegen.comparing.side import Side

Speed = Callable[[int, str, str, str], float]


def cells(
    rounds: int, speed: Speed, machine: Callable[[int, str], str] = lambda turn, a: "m", seed: int = 1
) -> list[Side]:
    """The cells of a matrix of three factors with two values; speeds have a noise of 2 %."""
    noise, sides = random.Random(seed), []
    for number, values in enumerate(itertools.product("01", "xy", "pq")):
        runs = []
        for turn in range(1, rounds + 1):
            value = speed(turn, *values) * noise.lognormvariate(0, 0.02)
            facts: dict[str, Any] = dict(slot=slot(turn, **dict(zip("abc", values, strict=True))))
            facts["host"] = {**HOST, "id": machine(turn, values[0])}
            runs.append(run_with(turn * 8 + number, [timed(value)], **facts))
        sides.append(Side(str(values), tuple(runs)))
    return sides


def found(sides: list[Side]) -> dict[tuple[str, str], Interaction]:
    rows = [row for row in interactions(sides) if row.phase == "generate"]
    return {(row.factor, row.other): row for row in rows}


def planted(turn: int, a: str, b: str, c: str) -> float:
    """a doubles speed, b halves it, and a does so only a half as much where b is y; c changes nothing."""
    return 100.0 * turn * (2.0 if a == "1" else 1.0) * (0.5 if b == "y" else 1.0) * (0.5 if a + b == "1y" else 1.0)


def test_a_planted_interaction_is_found_and_no_other() -> None:
    rows = found(cells(9, planted))
    assert set(rows) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert {key: row.difference.verdict for key, row in rows.items()} == {
        ("a", "b"): "different",
        ("a", "c"): "same within the margin",
        ("b", "c"): "same within the margin",
    }
    of = rows["a", "b"].difference
    assert of.median_a == pytest.approx(2.0, rel=0.03) and of.median_b == pytest.approx(1.0, rel=0.03)
    assert of.relative == pytest.approx(-0.5, abs=0.03) and of.n_a == 18
    assert of.low is not None and of.high is not None and of.low / of.median_a < -0.5 < of.high / of.median_a


def test_ratios_and_p_are_those_of_four_runs_of_a_round() -> None:
    sides = cells(8, planted, seed=4)
    speed = {
        (run.round, *run.factors.values()): float(run.measures["value"].iloc[0]) for side in sides for run in side.runs
    }
    rounds = list(itertools.product(range(1, 9), "pq"))
    at = {b: [speed[turn, "1", b, c] / speed[turn, "0", b, c] for turn, c in rounds] for b in "xy"}
    of = found(sides)["a", "b"].difference
    assert of.median_a == pytest.approx(median(at["x"])) and of.median_b == pytest.approx(median(at["y"]))
    logs = [math.log(y) - math.log(x) for x, y in zip(at["x"], at["y"], strict=True)]
    assert of.p == pytest.approx(wilcoxon(logs, method="exact").pvalue)


@pytest.mark.parametrize("n", [50, pytest.param(200, marks=pytest.mark.nightly)])
def test_without_interaction_few_are_called(n: int) -> None:
    """Of `n` matrices without one, Holm calls two at most."""

    def plain(turn: int, a: str, b: str, c: str) -> float:
        return 100.0 * (2.0 if a == "1" else 1.0) * (0.5 if b == "y" else 1.0)

    called = sum(
        any(row.difference.verdict == "different" for row in found(cells(8, plain, seed=seed)).values())
        for seed in range(n)
    )
    assert called <= 2


def test_too_few_rounds_cannot_tell() -> None:
    rows = found([side for side in cells(7, planted) if side.runs[0].factors["c"] == "p"])
    assert set(rows) == {("a", "b")} and rows["a", "b"].difference.verdict == "not enough runs"


def test_four_runs_of_two_machines_are_not_compared() -> None:
    assert found(cells(9, planted, lambda turn, a: a)).keys() == {("b", "c")}
    mixed = found(cells(18, planted, lambda turn, a: "1" if turn % 2 else "2"))
    assert mixed["a", "b"].difference.verdict == "different" and mixed["a", "b"].difference.n_a == 36


def test_rounds_that_lack_a_run_are_left_out() -> None:
    sides = cells(10, planted)
    short = [Side(side.name, side.runs[:9] if i == 0 else side.runs) for i, side in enumerate(sides)]
    assert found(short)["a", "b"].difference.n_a == 19
    assert found([side for side in sides if side.runs[0].factors["a"] == "0"]).keys() == {("b", "c")}
    assert interactions([side for side in sides if side.name in ("('0', 'x', 'p')", "('1', 'x', 'p')")]) == []


def test_more_than_a_hundred_ratios_are_spread() -> None:
    rows = found(cells(60, planted))
    assert rows["a", "b"].difference.n_a == 100 and rows["a", "b"].difference.verdict == "different"
