"""Trying a remedy: what is run, and whether what was measured is what was predicted."""

from dataclasses import replace
from typing import Any

import pytest

from tests.comparing.made import run_with, slot, timed
from tests.comparing.test_reproduce import MADE
from tracegen.analysis.remedies.remedy import Remedy
from tracegen.comparing.trial import Trial, best, judged, text_of, trial
from tracegen.contract.errors import SettingsError
from tracegen.contract.facts import Facts
from tracegen.contract.matrix import matrix_from
from tracegen.contract.records import decode, encode
from tracegen.publishing.side import Side
from tracegen.report.findings.tried import instead, sentence

MEMORY = Remedy(key="memory", phase="generate", settings=({"memory_limit_gb": 1.5},), now_ns=100, low_ns=50, high_ns=80)
SWEEP = Remedy(
    key="read-ahead",
    phase="generate",
    settings=tuple({"read_ahead_kib": kib} for kib in (64, 256)),
    now_ns=100,
    low_ns=20,
    high_ns=40,
)


def facts(**storage: Any) -> Facts:
    return decode(Facts, {"conditions": {"storage": storage}})


def read(text: str) -> dict[str, object]:
    import tomllib

    return tomllib.loads(text)


def test_the_experiment_is_that_of_the_run_with_and_without_the_remedy(tmp_path: Any) -> None:
    made = trial("demo/run-001", MEMORY, MADE, Facts())
    assert (made.name, made.before, made.values) == ("demo-run-001-memory", 0.5, (1.5,))
    mapping = read(text_of(made, MADE, 6))
    assert "demo/run-001" in str(mapping["question"])
    matrix = matrix_from(made.name, mapping, tmp_path)
    assert matrix.repeat == 6 and [dict(cell.factors) for cell in matrix.cells] == [
        {"memory_limit_gb": "0.5"},
        {"memory_limit_gb": "1.5"},
    ]
    for cell, limit in zip(matrix.cells, (0.5, 1.5), strict=True):
        again = replace(
            MADE, name=made.name, memory_limit_gb=limit, question=cell.experiment.question, control=False, repeat=1
        )
        assert cell.experiment == again


def test_a_sweep_begins_with_the_read_ahead_that_the_device_had() -> None:
    made = trial("demo@v1", SWEEP, replace(MADE, memory_limit_gb=None), facts(readahead_bytes=8 << 20))
    assert (made.name, made.before, made.values) == ("demo-v1-read-ahead", 8192, (64, 256))
    with pytest.raises(SettingsError, match="does not say what it was"):
        trial("demo@v1", SWEEP, MADE, facts())


def test_a_remedy_without_a_setting_is_not_tried() -> None:
    with pytest.raises(SettingsError, match="no setting of an experiment"):
        trial("demo@v1", replace(SWEEP, settings=()), MADE, Facts())


def cell(value: str, speeds: list[float], setting: str = "memory_limit_gb") -> Side:
    runs = [run_with(n, [timed(speed)], slot=slot(n, **{setting: value})) for n, speed in enumerate(speeds, 1)]
    return Side(f"{setting}={value}", tuple(runs))


def one(after: list[float]) -> Any:
    before = [10.0, 10.1, 9.9, 10.2, 9.8, 10.05]
    made = Trial("demo/run-001", MEMORY, "memory_limit_gb", 0.5, (1.5,))
    ((tried, comparison),) = judged(made, [cell("1.5", after), cell("0.5", before[: len(after)])])
    assert comparison.a.name == "memory_limit_gb=0.5"
    return tried


@pytest.mark.parametrize(
    ("times", "outcome"), [(1.6, "as predicted"), (3.0, "not as predicted"), (1.1, "not as predicted")]
)
def test_a_gain_is_as_predicted_inside_of_the_interval(times: float, outcome: str) -> None:
    """It is predicted to be 1.25 to 2 times as fast."""
    tried = one([times * speed for speed in (10.0, 10.1, 9.9, 10.2, 9.8, 10.05)])
    assert tried.outcome == outcome and tried.measured == pytest.approx(times, rel=0.01)
    assert tried.low is not None and tried.high is not None and tried.low <= tried.measured <= tried.high
    text = sentence(tried).replace("\u202f", " ")
    assert text.startswith("Predicted 1.25 to 2.00, measured") and "(99 %: " in text
    assert text.endswith(f"pairs of runs): {outcome}.")
    assert decode(type(tried), encode(tried)) == tried


def test_too_few_runs_decide_nothing() -> None:
    tried = one([16.0, 16.1])
    assert tried.outcome == "not decided" and tried.pairs == 2 and "99 %" not in sentence(tried).replace("\u202f", " ")


def test_of_a_sweep_the_fastest_is_the_remedy() -> None:
    made = Trial("demo/run-001", SWEEP, "read_ahead_kib", 8192, (64, 256))
    cells = [cell(str(kib), [speed] * 6, "read_ahead_kib") for kib, speed in ((64, 28.0), (256, 31.0), (8192, 10.0))]
    found = judged(made, cells)
    assert [tried.after for tried, _ in found] == ["64", "256"] and best(found).after == "256"
    assert judged(made, cells[1:])[0][0].after == "256", "a value whose runs failed is left out"
    with pytest.raises(SettingsError, match="no usable runs"):
        judged(made, cells[:2])


def test_a_miss_says_where_the_time_went() -> None:
    tried = decode(
        type(one([10.0, 10.0])),
        {**encode(one([10.0, 10.0])), "parts": {"waiting for the disk per token": [2e9, 5e6]}},
    )
    assert instead(tried) == ["waiting for the disk per token: 2.00 s before, 5.00 ms with the remedy"]
