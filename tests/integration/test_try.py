"""A remedy is tried on a real llama.cpp: runs with and without, a version that shows it, and what goes wrong."""

import json
import os
from pathlib import Path

import pytest

from tests.integration.conftest import SHORT
from tracegen.analysis.remedies.remedy import Remedy
from tracegen.cli.commands import try_
from tracegen.cli.main import main
from tracegen.measure.capture import machine, storage
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.capture.read_ahead import _knob, _number
from tracegen.publishing.tried import FILE
from tracegen.report.findings.remedies import advice
from tracegen.storing import store

pytestmark = pytest.mark.llama
FASTER = Remedy(
    key="fewer-threads",
    phase="generate",
    settings=({"threads": 1},),
    now_ns=100.0,
    low_ns=1.0,
    high_ns=99.0,
    numbers={"n_threads": 2.0, "n_processors": 1.0},
)


@pytest.fixture
def here(hooked: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one run of a small model, whose page has a remedy."""
    monkeypatch.chdir(tmp_path)
    arguments = ["--model", "demo", "--prompt", SHORT, "-n", "4", "--name", "one"]
    assert main(["run", *arguments, "--llama-cpp", str(hooked.programs)]) == 0
    named = try_._advice

    def advised(text: str):  # type: ignore[no-untyped-def]
        name, facts, _, _ = named(text)
        return name, facts, (advice(FASTER),), ""

    monkeypatch.setattr(try_, "_advice", advised)
    return tmp_path


def test_a_remedy_is_tried_in_pairs_and_goes_on(
    here: Path, hooked: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ["--llama-cpp", str(hooked.programs)]
    assert main(["try", "one"]) == 0
    shown = capsys.readouterr().out
    assert "1. Use as many threads as processors" in shown and "tracegen try one --run 1" in shown
    assert main(["try", "one", "--run", "1", "--pairs", "2", "--plan", *programs]) == 0
    folder = here / "experiments/one-run-001-fewer-threads"
    assert "4 runs to make" in capsys.readouterr().out and not folder.exists()
    monkeypatch.setattr(machine, "machine_id", lambda: "another")
    assert main(["try", "one", "--run", "1", "--pairs", "2", *programs]) == 0
    first = capsys.readouterr().out
    assert "one/run-001 was made on another machine" in first
    assert "threads = 1 instead of 2. Predicted 1.01 to 100" in first and "not decided" in first
    assert len(store.run_folders(folder)) == 4
    tried = json.loads((folder / FILE).read_text())["tried"]
    assert (tried["of"], tried["before"], tried["after"], tried["pairs"]) == ("one/run-001", "2", "1", 2)
    assert main(["try", "one", "--run", "1", "--pairs", "2", *programs]) == 0  # every run is there
    assert len(store.run_folders(folder)) == 4
    assert "Predicted" in capsys.readouterr().out
    assert main(["try", "one"]) == 0
    assert "2 pairs of runs): not decided." in capsys.readouterr().out
    assert main(["try", "one", "--run", "1", "--pairs", "3", *programs]) == 2
    assert "is a trial of another prediction or of other --pairs" in capsys.readouterr().err
    assert main(["publish", "one", "1", "-m", "tried"]) == 0
    page = (here / "experiments/one/versions/1/index.html").read_text()
    assert "experiment one-run-001-fewer-threads" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one", "--run", "2"], "has no remedy 2"),
        (["one", "--plan"], "add --run K"),
        (["one", "--run", "1", "--model", "pyproject.toml"], "is not the model of one/run-001"),
        (["none"], "there is no such run"),
    ],
)
def test_what_cannot_be_tried(here: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pyproject.toml").write_text("")
    assert main(["try", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set the read-ahead")
def test_the_read_ahead_of_a_run_is_recorded_and_restored(
    hooked: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.chdir(tmp_path)
    knob = _knob(_number(tmp_path))
    if not os.access(knob, os.W_OK):
        pytest.skip("the device below has no read-ahead to set")
    before = knob.read_text()
    folder = tmp_path / "experiments/ahead"
    folder.mkdir(parents=True)
    settings = f'question = "?"\nmodel = "demo"\nprompt = "{SHORT}"\ntokens = 2\nread_ahead_kib = 36\n'
    (folder / "experiment.toml").write_text(settings)
    assert main(["run", "ahead", "--llama-cpp", str(hooked.programs)]) == 0
    facts = store.read_run(store.run_folders(folder)[0]).facts
    assert knob.read_text() == before and facts.settings.get("read_ahead_kib") == 36
    recorded = (facts.conditions.storage or {})["readahead_bytes"]
    if storage._block(tmp_path.stat().st_dev) is not None:
        assert recorded == 36 << 10
