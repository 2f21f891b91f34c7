"""Killed at any moment of storing or publishing: a numbered folder is whole or absent."""

import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import NOW, a_run, a_version, drawn
from tracegen.contract.errors import StoreError
from tracegen.contract.experiment import Experiment
from tracegen.contract.matrix import matrix_from
from tracegen.contract.model import Run, Slot
from tracegen.measure.runs import matrix_runs
from tracegen.measure.runs.matrix_runs import carry_out, todo
from tracegen.publishing import versions as publish
from tracegen.publishing.bundle import read_bundle, verify_bundle
from tracegen.storing import store
from tracegen.storing.hashes import HashCache
from tracegen.storing.progress import Progress

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def killed_at(event: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that is killed at access `event` to the disk; False if the work was done before."""
    child = os.fork()
    if child == 0:
        left = iter(range(event))

        def count(name: str, _: object) -> None:
            if name.startswith(("open", "os.", "shutil.", "tempfile.")) and next(left, None) is None:
                signal.raise_signal(signal.SIGKILL)

        status = 1
        try:
            sys.addaudithook(count)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def test_storing_a_run(tmp_path: Path) -> None:
    def work(runs: Path) -> None:
        with store.part_folder(runs) as part:
            store.write_text(part / "raw" / "trace.txt", "evidence")
            store.place_numbered(part, runs, lambda number: store.write_run_file(part, a_run(number=number)))

    outcomes = []
    for event in range(1000):
        runs = tmp_path / str(event)
        killed = killed_at(event, partial(work, runs))
        stored = store.run_folders_in(runs)
        for folder in stored:
            store.verify_run(folder)
            assert store.read_run(folder).number == 1
        outcomes.append((killed, len(stored)))
        if not killed:
            break
    assert outcomes[0] == (True, 0) and outcomes[-1] == (False, 1)
    assert {number for _, number in outcomes} == {0, 1}


def test_a_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at ten moments, the same command makes what is missing: no run is lost, and none made twice."""

    def measure(experiment: Experiment, folder: Path, progress: Progress, program: Any = None, *, slot: Slot) -> Run:
        with store.part_folder(folder / "runs") as part:
            store.write_text(part / "raw" / "trace.txt", "evidence")
            run = replace(a_run("a"), facts={**a_run().facts, "slot": asdict(slot), "host": {"id": "1"}})
            stored = store.place_numbered(
                part, folder / "runs", lambda n: store.write_run_file(part, replace(run, number=n))
            )
        return store.read_run(stored)

    monkeypatch.setattr(matrix_runs, "measure", measure)
    folder = tmp_path / "experiments" / "a"
    folder.mkdir(parents=True)
    settings = {
        "question": "Why?",
        "model": "demo",
        "prompt": "Hello",
        "tokens": 4,
        "matrix": {"threads": [1, 2], "repeat": 2},
    }
    matrix = matrix_from("a", settings, folder)

    def work() -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        list(carry_out(todo(matrix, folder), folder, Progress()))

    def slots() -> list[int]:
        runs = store.run_folders(folder)
        for run in runs:
            store.verify_run(run)
        return [store.read_run(run).facts["slot"]["number"] for run in runs]

    moments, kills = random.Random(26), 0
    while kills < 10:
        stored = slots()
        kills += killed_at(moments.randrange(10, 200), work)
        assert slots()[: len(stored)] == stored and len(set(slots())) == len(slots())
        if len(slots()) == 4:
            shutil.rmtree(folder / "runs")
    work()
    assert slots() == [1, 2, 3, 4] and not list(folder.rglob("*.part"))


def test_publishing_a_version(tmp_path: Path) -> None:
    """Killed between writing folder and ledger, the next publishing reports it; killed elsewhere, it succeeds."""
    a_version(tmp_path / "before", number=1)  # loads what is loaded once
    outcomes = []
    for event in range(1000):
        experiment = tmp_path / str(event) / "sample"
        experiment.mkdir(parents=True)
        killed = killed_at(event, partial(publish.publish, experiment, a_run(), drawn, "why", NOW))
        whole = sorted(path for path in experiment.glob("versions/*") if path.name.isdigit())
        for folder in whole:
            verify_bundle(read_bundle(folder), HashCache(tmp_path / "none"))
        listed = list(publish.read_ledger(experiment))
        assert len(listed) <= len(whole) <= 1
        if len(listed) < len(whole):
            with pytest.raises(StoreError, match="if publishing was interrupted, delete this folder"):
                publish.publish(experiment, a_run(), drawn, "again", NOW)
        else:
            version = publish.publish(experiment, a_run(), drawn, "again", NOW, again=True)
            assert version.number == len(listed) + 1
            assert len(publish.read_published(experiment, HashCache(tmp_path / "none"))) == version.number
        outcomes.append((killed, len(whole), len(listed)))
        if not killed:
            break
    assert outcomes[0] == (True, 0, 0) and outcomes[-1] == (False, 1, 1)
    assert (True, 1, 0) in outcomes
