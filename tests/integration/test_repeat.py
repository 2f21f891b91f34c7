"""`tracegen run --repeat` with the real llama.cpp: each run is one of its own, and what is whole stays."""

import re
from pathlib import Path

import pytest

from tests.integration.conftest import written
from tracegen.cli.main import main
from tracegen.contract.facts import Repetition
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs import recording
from tracegen.storing import store

pytestmark = pytest.mark.llama


@pytest.fixture
def experiment(here: Path, demo: Path) -> Path:
    return written(demo)


def interrupted_at(number: int, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Let Ctrl-C be pressed while this run is read; what was read until then, and goes on to be."""
    read, reads = recording.read_trace, []

    def interrupted(*arguments: object) -> object:
        reads.append(arguments)
        if len(reads) == number:
            raise KeyboardInterrupt
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(recording, "read_trace", interrupted)
    return reads


def test_three_runs(experiment: Path, hooked: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "case", "--repeat", "3", "--llama-cpp", str(hooked.programs)]) == 0
    captured = capsys.readouterr()
    assert re.search(r"^generation +[0-9.]+ tokens/s \([0-9.]+ to [0-9.]+\)$", captured.out, re.MULTILINE)
    assert [line for line in captured.err.splitlines() if line.startswith("run ")] == [
        "run 1 of 3",
        "run 2 of 3",
        "run 3 of 3",
    ]
    runs = [store.read_run(folder) for folder in store.run_folders(experiment)]
    assert [run.facts.repetition for run in runs] == [Repetition(n, 3, "run-001") for n in (1, 2, 3)]
    for run in runs:
        assert run.facts.settings == runs[0].facts.settings and run.facts.settings.repeat == 3
        assert run.facts.text == runs[0].facts.text
    assert main(["run", "case", "--llama-cpp", str(hooked.programs)]) == 0
    assert store.read_run(experiment / "runs" / "004").facts.repetition is None


def with_a_matrix(experiment: Path, factors: str) -> None:
    path = experiment / "experiment.toml"
    path.write_text(f"{path.read_text()}[matrix]\n{factors}\n")


def test_a_matrix_goes_on_after_ctrl_c(
    experiment: Path, hooked: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_a_matrix(experiment, 'repack = [true, false]\nprompt = ["The page", "And then"]')
    reads = interrupted_at(3, monkeypatch)
    command = ["run", "case", "--llama-cpp", str(hooked.programs)]
    assert main([*command, "--plan"]) == 0
    assert not (experiment / "runs").exists() and "4 runs to make" in capsys.readouterr().out
    assert main(command) == 130
    captured = capsys.readouterr()
    assert "2 of 4 runs stored and usable" in captured.out
    assert "interrupted; what was captured is kept in experiments/case/failed/" in captured.err
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "2 runs to make: about" in captured.out and "4 of 4 runs stored and usable" in captured.out
    assert next(line for line in captured.err.splitlines() if line.startswith("run ")).startswith("run 3 of 4: ")
    runs = [store.read_run(folder) for folder in store.run_folders(experiment)]
    assert [run.facts.slot.number for run in runs] == [1, 2, 3, 4] and len(reads) == 5
    for run in runs:
        factors, settings = run.facts.slot.factors, run.facts.settings
        assert factors == {"repack": str(settings.get("repack")).lower(), "prompt": run.facts.text.prompt}
    assert len({str(run.facts.slot.factors) for run in runs}) == 4
    assert main(command) == 0
    assert "every run is stored" in capsys.readouterr().out and len(reads) == 5


def test_options_that_do_not_go_with_a_matrix(experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--plan"], ["--again"]):
        assert main(["run", "case", *option]) == 2
        assert "need an experiment with a matrix" in capsys.readouterr().err
    with_a_matrix(experiment, f"threads = {list(range(1, 102))}")
    for option in (["--publish", "-m", "x"], ["--name", "x"]):
        assert main(["run", "case", *option]) == 2
        assert "has a matrix; only --plan" in capsys.readouterr().err
    assert main(["run", "case"]) == 2
    captured = capsys.readouterr()
    assert "the matrix has 101 runs to make; add --yes" in captured.err and "101 cells" in captured.out
