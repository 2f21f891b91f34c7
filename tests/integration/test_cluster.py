"""`tracegen run NAME --executor dask://…` with a real scheduler, two worker processes and the real llama.cpp."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.dask_workers import Workers
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.matrix import MatrixCell, matrix_from
from tracegen.contract.model import Slot
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.capture.machine import machine_id
from tracegen.measure.runs import remote
from tracegen.measure.runs.cluster import Cluster, ClusterPlace
from tracegen.measure.runs.parcel import Item, listed
from tracegen.storing import store
from tracegen.storing.progress import Progress
from tracegen.storing.store import sha256_of

pytestmark = pytest.mark.llama


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = Workers(folder)
    yield made
    made.close()


@pytest.fixture
def experiment(tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("experiments/case")
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(
        f'question = "Why?"\nprompt = "The page"\ntokens = 300\nmodel = {json.dumps(str(demo))}\n'
        "[matrix]\nrepack = [true, false]\nrepeat = 2\n"
    )
    return folder


def llamas_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    return [child for child in children if child.name().startswith("llama")]


def test_a_worker_that_is_killed_in_the_middle(experiment: Path, hooked: Build, workers: Workers) -> None:
    two = [workers.worker(), workers.worker()]
    command = [sys.executable, "-m", "tracegen", "run", "case", "--executor", f"dask://{workers.address}"]
    client = subprocess.Popen(
        [*command, "--llama-cpp", str(hooked.programs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    killed: list[psutil.Process] = []
    until = time.monotonic() + 120
    while not killed and client.poll() is None and time.monotonic() < until:
        for worker in two:
            if store.run_folders(experiment) and (running := llamas_of(worker)):  # during the second run or a later one
                worker.send_signal(signal.SIGKILL)
                killed = running
        time.sleep(0.02)
    out, err = client.communicate(timeout=300)
    assert killed, err
    assert client.returncode == 0, err
    assert not any(process.is_running() for process in killed), "llama.cpp outlived its worker"
    assert "4 of 4 runs stored and usable" in out and f"run 1 of 4 on {os.uname().nodename}: repack=" in err
    runs = [store.read_run(folder) for folder in store.run_folders(experiment)]
    assert [run.number for run in runs] == [1, 2, 3, 4] and {run.experiment for run in runs} == {"case"}
    assert [run.facts["slot"]["number"] for run in runs] == [1, 2, 3, 4]
    for run in runs:
        assert run.folder is not None and run.facts["host"]["id"] == machine_id()
        store.verify_run(run.folder)
        assert len(store.read_tables(run.folder / "tables")["ops"])
    left = list((workers.folder / "cache").glob("*/tracegen/cluster/work/*/runs/*/run.json"))
    assert left == [], "a run that was fetched stays on the worker"


def test_workers_that_cannot_make_runs(
    experiment: Path,
    hooked: Build,
    workers: Workers,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tracegen.measure.runs import matrix_runs

    workers.worker(resource=False)
    monkeypatch.setattr(matrix_runs, "PATIENCE_S", 15.0)
    assert main(["run", "case", "--executor", f"dask://{workers.address}", "--llama-cpp", str(hooked.programs)]) == 3
    err = capsys.readouterr().err
    assert "has no resource tracegen=1; start it with `dask worker" in err and "no machine is there" in err
    assert not (experiment / "runs").exists()


def test_a_worker_with_another_tracegen_is_left_out(
    experiment: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tracegen.measure.runs import matrix_runs
    from tracegen.storing import resources

    workers.worker()
    monkeypatch.setattr(matrix_runs, "PATIENCE_S", 15.0)
    monkeypatch.setattr(resources, "program_hash", lambda: "another")
    assert main(["run", "case", "--executor", f"dask://{workers.address}"]) == 3
    assert "has another tracegen (" in capsys.readouterr().err and not (experiment / "runs").exists()


def test_an_address_without_a_scheduler(
    experiment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tracegen.measure.runs import cluster

    monkeypatch.setattr(cluster, "TIMEOUT_S", 2.0)
    assert main(["run", "case", "--executor", "dask://127.0.0.1:9"]) == 3
    assert "no Dask scheduler answers" in capsys.readouterr().err
    for address in ("tcp://127.0.0.1:9", "dask://", "elsewhere", "dask://localhost", "dask://a b:1", "dask://a/b:1"):
        assert main(["run", "case", "--executor", address]) == 2
        assert "write dask://HOST:PORT" in capsys.readouterr().err


class Direct(ClusterPlace):
    """A machine whose worker is this process."""

    def _call(self, worker: str, fn: Any, *arguments: object) -> Any:
        return fn(*arguments)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Direct:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(remote.MODELS, raising=False)
    of = Cluster(None, "dask://nowhere", tmp_path / "experiments" / "case", Progress(), None)
    return Direct(of, remote.about())


def a_cell(tmp_path: Path, demo: Path) -> tuple[MatrixCell, Slot]:
    settings = {"question": "?", "prompt": "The page", "tokens": 2, "model": str(demo), "matrix": {"repack": [True]}}
    return matrix_from("case", settings, tmp_path).plan[0]


def elsewhere(demo: Path) -> tuple[str, tuple[Item, ...]]:
    """The model as another machine names it."""
    return f"/nowhere/{demo.name}", (Item(demo.name, demo.stat().st_size, sha256_of(demo)),)


def test_a_model_that_the_machine_lacks_is_sent_once(
    place: Direct, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, items = elsewhere(demo)
    assert remote.find_model(path, items) is None
    place._send("", [demo], items)
    received = remote.find_model(path, items)
    assert received is not None and sha256_of(Path(received)) == items[0].sha256 and Path(received).name == demo.name
    monkeypatch.setattr(place, "_send", lambda *_: pytest.fail("sent twice"))
    assert place._model("", str(demo)) == items


def test_a_model_is_found_in_the_folders_of_the_worker(
    place: Direct, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, items = elsewhere(demo)
    monkeypatch.setenv(remote.MODELS, f"/missing{os.pathsep}{demo.parent}")
    assert remote.find_model(path, items) == str(demo)


def test_a_model_that_changes_on_its_way_is_refused(place: Direct, demo: Path) -> None:
    path, items = elsewhere(demo)
    part = remote.begin_model(items)
    remote.write_piece(part, demo.name, 0, b"x" * demo.stat().st_size)
    with pytest.raises(StoreError, match="changed on its way"):
        remote.end_model(part, items)
    assert remote.find_model(path, items) is None
    for folder, name in ((part, "../x"), (str(Path(part).parents[2]), "x"), ("/tmp", "x")):
        with pytest.raises(StoreError, match="no file to receive"):
            remote.write_piece(folder, name, 0, b"x")


def test_a_run_that_fails_brings_what_it_captured(
    place: Direct, tmp_path: Path, demo: Path, hooked: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, slot = a_cell(tmp_path, demo)
    bad = replace(cell.experiment, flags=("--no-such-flag",))
    _, items = elsewhere(demo)
    folder, build = str(hooked.programs), remote.build_files(hooked.programs)
    made = remote.make(remote.Request(bad, slot, items, folder, build))
    assert isinstance(made.error, SettingsError) and "no-such-flag" in str(made.error)
    job: Any = _Done(made)
    place._jobs[job] = ""
    with pytest.raises(SettingsError, match=r"(?s)^on .*no-such-flag.*what was captured is kept in"):
        place.take(job)
    (failed,) = (tmp_path / "experiments" / "case" / "failed").iterdir()
    assert "no-such-flag" in (failed / "raw" / "stderr.txt").read_text()
    other = (*build[:-1], replace(build[-1], sha256="0"))
    made = remote.make(remote.Request(cell.experiment, slot, items, folder, other))
    assert isinstance(made.error, SettingsError) and "another build" in str(made.error)


def test_a_run_that_changes_on_its_way_is_not_stored(
    place: Direct, tmp_path: Path, demo: Path, hooked: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, slot = a_cell(tmp_path, demo)
    _, items = elsewhere(demo)
    made = remote.make(
        remote.Request(cell.experiment, slot, items, str(hooked.programs), remote.build_files(hooked.programs))
    )
    assert made.error is None and made.items == listed(Path(made.folder))
    raw = next(Path(made.folder).glob("tables/*.parquet"))
    content = raw.read_bytes()
    raw.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    job: Any = _Done(made)
    place._jobs[job] = ""
    with pytest.raises(StoreError, match="bytes arrived, or others"):
        place.take(job)
    runs = tmp_path / "experiments" / "case" / "runs"
    assert not runs.exists() or list(runs.iterdir()) == []
    raw.write_bytes(content)
    place._jobs[job] = ""
    run = place.take(job)
    assert run.name == "run-001" and not Path(made.folder).exists()


class _Done:
    def __init__(self, made: remote.Made) -> None:
        self.result = lambda: made
