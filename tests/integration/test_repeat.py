"""`tracegen run --repeat` with the real llama.cpp: each run is one of its own, and what is whole stays."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tracegen import store
from tracegen.capture.llama_cpp import Build
from tracegen.cli import main
from tracegen.runs import recording

pytestmark = pytest.mark.llama


@pytest.fixture
def experiment(tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("experiments/case")
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(
        f'question = "Why?"\nprompt = "The page"\ntokens = 2\nmodel = {json.dumps(str(demo))}\n'
    )
    return folder


def test_three_runs(experiment: Path, hooked: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "case", "--repeat", "3", "--llama-cpp", str(hooked.programs)]) == 0
    captured = capsys.readouterr()
    assert re.search(r"^generation +[0-9.]+ tokens/s \([0-9.]+ to [0-9.]+\)$", captured.out, re.MULTILINE)
    assert [line for line in captured.err.splitlines() if line.startswith("run ")] == [
        "run 1 of 3", "run 2 of 3", "run 3 of 3",
    ]  # fmt: skip
    runs = [store.read_run(folder) for folder in store.run_folders(experiment)]
    assert [run.facts["repetition"] for run in runs] == [
        {"number": n, "of": 3, "first_run": "run-001"} for n in (1, 2, 3)
    ]
    for run in runs:
        assert run.facts["settings"] == runs[0].facts["settings"] and run.facts["settings"]["repeat"] == 3
        assert run.facts["text"] == runs[0].facts["text"]
    assert main(["run", "case", "--llama-cpp", str(hooked.programs)]) == 0
    assert "repetition" not in store.read_run(experiment / "runs" / "004").facts


def test_ctrl_c_in_the_second_leaves_the_first(
    experiment: Path, hooked: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read, reads = recording.read_trace, []

    def interrupted(*arguments: object) -> object:
        reads.append(arguments)
        if len(reads) == 2:
            raise KeyboardInterrupt
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(recording, "read_trace", interrupted)
    assert main(["run", "case", "--repeat", "3", "--llama-cpp", str(hooked.programs)]) == 130
    captured = capsys.readouterr()
    assert "1 of 3 runs stored (run-001), 1 usable" in captured.out
    assert "interrupted; what was captured is kept in experiments/case/failed/" in captured.err
    assert sorted(path.name for path in (experiment / "runs").iterdir()) == ["001"] and len(reads) == 2
    store.verify_run(experiment / "runs" / "001")
