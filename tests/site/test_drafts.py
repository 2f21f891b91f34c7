"""Drafts are drawn by processes of their own: the same bytes, the same problems, and nothing left running."""

import os
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, stored
from tests.publishing.test_bundle import files_of
from tracegen.contract.errors import TracegenError
from tracegen.contract.model import Run
from tracegen.report.document.page import Report
from tracegen.report.pages.render import render_report
from tracegen.site.drafts import Draft, Drawing
from tracegen.storing import store, worker

pytestmark = pytest.mark.usefixtures("processes")


def runs_in(experiments: Path, n: int) -> list[Path]:
    for number in range(1, n + 1):
        stored(experiments, replace(a_run(), experiment="sample", number=number), scaled_case(1, 1))
    return store.run_folders(experiments / "sample")


def test_processes_draw_once_what_this_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_in(tmp_path / "experiments", 3)
    (runs[1] / "tables" / "ops.parquet").unlink()
    folders = []
    for cache, render in ((tmp_path / "theirs", None), (tmp_path / "ours", render_report)):
        with closing(Drawing(runs, cache, ("ada",), render)) as drawing:
            found = drawing.drawn
        first, broken, third = (found[path] for path in runs)
        assert isinstance(first, Draft) and isinstance(third, Draft) and isinstance(broken, TracegenError)
        folders.append((files_of(cache), first.run, str(broken), (first, third)))
    assert folders[0][:3] == folders[1][:3]
    assert "ops.parquet: is missing" in folders[0][2]
    assert any((tmp_path / "drawings").iterdir()), "its charts are kept for drafts that share them"
    monkeypatch.setattr(worker, "START", "raise SystemExit(1)")
    with closing(Drawing(runs[::2], tmp_path / "theirs", ("ada",))) as drawing:
        assert (drawing.drawn[runs[0]], drawing.drawn[runs[2]]) == folders[0][3], "the cache has them"


def test_a_fault_in_drawing_one_run_leaves_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = runs_in(tmp_path / "experiments", 2)

    def render(run: Run, tables: Mapping[str, pd.DataFrame], **more: Any) -> Report:
        if run.number == 1:
            raise ZeroDivisionError("division by zero")
        return render_report(run, tables, **more)

    with closing(Drawing([first, second], tmp_path / "cache", (), render)) as drawing:
        found = drawing.drawn
    said = "runs/001: could not be drawn, which is a fault of tracegen: ZeroDivisionError: division by zero"
    assert str(found[first]).endswith(said) and isinstance(found[second], Draft)
    assert "Traceback" in capsys.readouterr().err


def test_a_draft_of_an_experiment_that_became_private(tmp_path: Path) -> None:
    """Drawn again, without the prompt that its first drawing showed."""
    (path,) = runs_in(tmp_path / "experiments", 1)
    prompt = str(store.read_run(path).facts.text.prompt)
    shown = []
    for settings in ("", "private = true\n"):
        (tmp_path / "experiments" / "sample" / "experiment.toml").write_text(settings)
        with closing(Drawing([path], tmp_path / "cache", (), render_report)) as drawing:
            draft = drawing.drawn[path]
        assert isinstance(draft, Draft)
        shown.append(prompt.encode() in draft.bundle.body("index.html"))
    assert shown == [True, False]


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("pass", "exit status 0"),
        ("print('null')", "exit status 0"),
    ],
)
def test_a_process_that_ends_badly_is_a_problem_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, ending: str
) -> None:
    monkeypatch.setattr(worker, "START", code)
    (path,) = runs_in(tmp_path / "experiments", 1)
    with closing(Drawing([path], tmp_path / "cache", ())) as drawing:
        found = drawing.drawn[path]
    said = f"runs/001: could not be drawn: the process that does it ended: {ending}"
    assert isinstance(found, TracegenError) and said in str(found)


def test_ctrl_c_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"
    monkeypatch.setattr(
        worker,
        "START",
        f"import os, time; f = open({str(pid)!r}, 'w'); f.write(str(os.getpid())); f.close(); time.sleep(60)",
    )
    runs = runs_in(tmp_path / "experiments", 1)
    with pytest.raises(KeyboardInterrupt), closing(Drawing(runs, tmp_path / "cache", ())):
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.02)
        raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_drawing_that_is_interrupted_leaves_nothing_half_written(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        closing(Drawing(runs_in(tmp_path / "experiments", 2), tmp_path / "cache", ())),
    ):
        time.sleep(1.5)
        raise KeyboardInterrupt
    assert not list((tmp_path / "cache").rglob("*.part"))
