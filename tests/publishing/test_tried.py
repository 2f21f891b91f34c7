"""What was tried of a run is found by its name, and stands on the pages of a version that is published later."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_run
from tests.builders.runs import with_groups
from tests.report.rendered import CASES, body, rendered, words
from tracegen.publishing.tried import FILE, tried_of

TRIED = {
    "of": "demo/run-003",
    "experiment": "demo-run-003-memory",
    "remedy": "memory",
    "setting": "memory_limit_gb",
    "before": "0.5",
    "after": "1.5",
    "predicted_low": 1.25,
    "predicted_high": 2.0,
    "measured": 1.1,
    "low": 1.05,
    "high": 1.15,
    "pairs": 6,
    "outcome": "not as predicted",
    "parts": {"waiting for the disk per token": [2e9, 1.8e9]},
}


@pytest.mark.parametrize("document", [{"tried": TRIED}, {"tried": TRIED, "sweep": []}])
def test_trials_are_found_by_the_run_that_they_try(tmp_path: Path, document: Any) -> None:
    for name, text in (("a", json.dumps(document)), ("b", "{"), ("c", "[]"), ("d", '{"tried": {"of": 1}}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_text(text)
    (found,) = tried_of(tmp_path, "demo/run-003", "demo@v1")
    assert found.measured == 1.1 and found.outcome == "not as predicted"
    assert tried_of(tmp_path, "demo/run-002") == () == tried_of(tmp_path / "none", "demo/run-003")


def test_a_miss_stays_on_the_page() -> None:
    run = with_groups(a_run(), tried=[TRIED])
    text = words(body(rendered(CASES["dense"], run), "overview")).replace("\u202f", " ")
    assert (
        "Tried ( memory_limit_gb = 1.5 , experiment demo-run-003-memory): Predicted 1.25 to 2.00, measured 1.10 times"
        in text
    )
    assert "not as predicted. waiting for the disk per token: 2.00 s before, 1.80 s with the remedy." in text
    assert "Tried" not in words(body(rendered(CASES["dense"]), "overview"))
