"""What tracing changed: numbers that were worked out by hand, and Student's t as SciPy has it."""

import math
import statistics
from typing import Any

import pytest
from scipy import stats

from tracegen.analysis import observer
from tracegen.analysis.observer import effects
from tracegen.contract.facts import Control, Execution
from tracegen.contract.records import decode


def execution(eval_ms: float | None = 1000.0, runs: int | None = 10, **more: Any) -> Execution:
    known = dict(seconds=2.0, prompt_ms=None, prompt_tokens=None, others_share=0.0, failure=None)
    return decode(Execution, {**known, "eval_ms": eval_ms, "eval_runs": runs, **more})


def control(traced: Execution, *untraced: Execution) -> Control:
    return Control(untraced, traced, None)


def test_one_control_compares_the_time_per_token() -> None:
    (effect,) = effects(control(execution(1100.0), execution(2000.0, 20)), [])
    assert (effect.phase, effect.n) == ("generation", 1)
    assert effect.traced == pytest.approx(10 / 1.1) and effect.untraced == pytest.approx(10)
    assert effect.slower == pytest.approx(0.1) and effect.noise == 0


def test_neighbours_and_the_spread_of_tokens_are_noise() -> None:
    given = control(execution(others_share=0.03), execution(others_share=0.01))
    tokens = [90.0, 110.0, 90.0, 110.0]  # their standard deviation is 20 / sqrt(3), that of their mean half of it
    (effect,) = effects(given, tokens)
    assert effect.noise == pytest.approx(0.04 + 2 * math.sqrt(2) * 10 / math.sqrt(3) / 100)


@pytest.mark.parametrize("shares, noise", [((0.45, 0.44, 0.46), 0.01), ((0.45, 0.1, 0.45), 0.35), ((0.45, 0.45), 0.9)])
def test_what_others_take_in_several_executions_alike_is_no_noise(shares: tuple[float, ...], noise: float) -> None:
    """As a server that computes for the program, on the same machine; of two executions that is not known."""
    others = [execution(others_share=share) for share in shares]
    (effect,) = effects(control(execution(1020.0, others_share=0.45), *others), [])
    assert effect.noise == pytest.approx(noise) and effect.slower == pytest.approx(0.02)


def test_several_controls_say_how_far_one_more_may_lie_from_them() -> None:
    times = [1000.0, 1040.0, 980.0]
    (effect,) = effects(control(execution(1000.0), *map(execution, times)), [])
    assert effect.slower == 0 and effect.n == 3
    assert effect.noise == pytest.approx(4.303 * statistics.stdev(times) * math.sqrt(4 / 3) / 1000, rel=1e-3)
    (many,) = effects(control(execution(1000.0), *map(execution, times * 20)), [])
    assert many.noise == pytest.approx(1.96 * statistics.stdev(times * 20) * math.sqrt(61 / 60) / 1000)


def test_a_traced_execution_that_was_faster_shows_the_noise() -> None:
    (effect,) = effects(control(execution(500.0), execution(1000.0)), [])
    assert (effect.slower, effect.noise) == (-0.5, 0.5)
    assert not effect.surely_within(0.1) and not effect.surely_over(0.02)


def test_prompt_and_generation_are_compared_each() -> None:
    prompts = [execution(prompt_ms=ms, prompt_tokens=5) for ms in (60.0, 50.0)]
    found = {effect.phase: effect.slower for effect in effects(control(*prompts), [])}
    assert found == {"prompt": pytest.approx(0.2), "generation": 0}


def test_without_counters_the_whole_program_is_compared() -> None:
    (effect,) = effects(control(execution(None, None, seconds=3.0), execution(None, None, seconds=2.0)), [])
    assert (effect.phase, effect.slower, effect.untraced) == ("whole program", 0.5, 0.5)


def test_what_failed_is_no_control() -> None:
    failed = execution(1.0, failure="killed by SIGKILL")
    (effect,) = effects(control(execution(), failed, execution()), [])
    assert effect.n == 1 and effect.slower == 0
    assert effects(control(execution(), failed), []) == ()


@pytest.mark.parametrize("eval_ms", [0.0, None])
def test_times_that_are_not_known_are_no_zero(eval_ms: float | None) -> None:
    (effect,) = effects(control(execution(), execution(eval_ms)), [])
    assert effect.phase == "whole program"


def test_the_quantiles_are_those_of_the_distribution() -> None:
    degrees = range(1, len(observer._T) + 1)
    assert pytest.approx(stats.t.ppf(0.975, degrees), abs=5e-4) == observer._T
