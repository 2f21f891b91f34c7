"""The answer of recorded runs, beside what a person who looked at their tables wrote down before."""

import json
from pathlib import Path

import pytest

from tracegen.reading.notebook.loaded import LoadedVersion, load
from tracegen.report.figures.context import Context
from tracegen.report.findings.found import findings

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
# Version -> kind, scope, and words of the answer; and of what must stand among the next four.
HELD = {
    "hot-set-wide/versions/1": ("waiting", "generation", ("16 of 259 tokens", "token_embd.weight"), "memory"),
    "hot-set/versions/1": ("waiting", "prompt", ("Waiting for the disk",), "experts"),
    "disk-small/versions/1": ("waiting", "prompt", ("Waiting for the disk",), "bytes"),
    "sample/versions/1": ("time", "generation", ("MUL_MAT_ID", "experts"), "bytes"),
    "sample/versions/2": ("time", "generation", ("MUL_MAT_ID", "experts"), "bytes"),
}


@pytest.mark.parametrize("version", HELD)
def test_the_answer_is_the_one_that_was_written_down(version: str) -> None:
    loaded = load(EXPERIMENTS / version)
    assert isinstance(loaded, LoadedVersion)
    found = findings(Context(loaded.measured, loaded.tables))
    kind, scope, words, also = HELD[version]
    answer = found[0]
    assert (answer.kind, answer.scope) == (kind, scope)
    assert all(word in answer.text for word in words)
    assert also in {finding.kind for finding in found[1:5]}
    assert json.loads(json.dumps([finding.data for finding in found]))[0]["amount"]["value"] == answer.amount.value
