"""The runs of a matrix on a Dask cluster: a scheduler and workers in this process, where a stand-in makes the runs.

`tests/attack/test_cluster.py` has llama.cpp, and kills workers.
"""

import hashlib
import json
import logging
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Scheduler, SpecCluster, Worker, get_worker

from tests.builders import a_run, with_facts
from tests.measure.test_matrix_runs import LEAST, a_matrix, stored
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure, SettingsError, StoreError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Slot
from tracegen.contract.matrix import Matrix, MatrixCell
from tracegen.contract.model import Run
from tracegen.measure.runs import cluster, remote
from tracegen.measure.runs.cluster import Cluster, write
from tracegen.measure.runs.matrix_runs import Outcome, carry_out, todo
from tracegen.storing import resources, store
from tracegen.storing.progress import Progress


class Machines:
    """Stands for `measure` on the workers: what each call made, and where; `fails` are errors of the next ones."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []
        self.fails: list[Exception | None] = []
        self.busy = threading.Lock()

    def measure(
        self, experiment: Experiment, folder: Path, progress: Progress, program: Any = None, *, slot: Slot
    ) -> Run:
        assert self.busy.acquire(blocking=False), "two runs shared a machine"
        try:
            self.calls.append((get_worker().address, slot.round, slot.number))
            time.sleep(0.05)  # so that the other worker can begin
            failure = self.fails.pop(0) if self.fails else None
            if failure:
                (folder / "failed" / "1").mkdir(parents=True)
                (folder / "failed" / "1" / "stderr.txt").write_text("why")
                raise failure
            return stored(folder, slot)
        finally:
            self.busy.release()


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    made = Machines()
    monkeypatch.setattr(remote, "measure", made.measure)
    monkeypatch.setattr(cluster, "POLL_S", 0.1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(remote.MODELS, raising=False)
    return made


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Callable[..., SpecCluster]]:
    """Starts a scheduler and a worker for each number of `resources`, each at another address of this machine."""
    begun: list[SpecCluster] = []

    def start(*resources: int) -> SpecCluster:
        def worker(number: int, tracegen: int) -> dict[str, Any]:
            given = {"tracegen": tracegen} if tracegen else None
            options = {"nthreads": 1, "host": f"127.0.0.{number}", "resources": given, "dashboard": False}
            return {"cls": Worker, "options": {**options, "local_directory": str(tmp_path / f"w{number}")}}

        workers = {number: worker(number, given) for number, given in enumerate(resources, 1)}
        options = {"protocol": "tcp://", "host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"}
        begun.append(SpecCluster(workers, {"cls": Scheduler, "options": options}, silence_logs=logging.CRITICAL))
        return begun[-1]

    yield start
    for of in begun:
        of.close()


def address(of: SpecCluster) -> str:
    return str(of.scheduler_address).replace("tcp://", cluster.SCHEME)


def all_of(matrix: Matrix, folder: Path, of: SpecCluster) -> list[Outcome]:
    plan = todo(matrix, folder)
    with cluster.cluster(address(of), folder, Progress(), plan) as there:
        return list(carry_out(plan, there, Progress()))


def test_each_run_is_made_once_and_a_round_on_one_machine(
    machines: Machines, dask: Callable[..., SpecCluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1, 2], repeat=3)
    of_a_killed_worker = tmp_path / "cache" / "tracegen" / "cluster" / socket.gethostname() / "left" / "runs"
    of_a_killed_worker.mkdir(parents=True)
    outcomes = all_of(matrix, folder, dask(1, 1))
    assert len(outcomes) == len(machines.calls) == 6 and all(of.usable and not of.problems for of in outcomes)
    at = {turn: {worker for worker, of, _ in machines.calls if of == turn} for turn in (1, 2, 3)}
    assert all(len(of) == 1 for of in at.values()) and len(set.union(*at.values())) == 2
    assert sorted(number for *_, number in machines.calls) == list(range(1, 7))
    for run in map(store.read_run, store.run_folders(folder)):
        assert run.folder is not None and run.slot.matrix == f"{matrix.identity}/1"
        store.verify_run(run.folder)
    assert todo(matrix, folder).missing == []
    assert not list((tmp_path / "cache").glob("tracegen/cluster/*/*")), "a run stays on the worker"
    assert f"run 6 of 6 was made on {os.uname().nodename}" in capsys.readouterr().err


def test_a_run_that_fails_is_kept_and_tried_once_more(
    machines: Machines, dask: Callable[..., SpecCluster], tmp_path: Path
) -> None:
    matrix, folder = a_matrix(tmp_path, threads=[1], repeat=2)
    machines.fails = [EnvironmentFailure(f"no room\n{cluster.KEPT} elsewhere"), None, SettingsError("no such flag")]
    first, second = all_of(matrix, folder, dask(1))
    assert first.usable and len(first.problems) == 1 and not second.usable
    for problem, what in ((first.problems[0], "no room"), (second.problems[0], "no such flag")):
        said, _, where = problem.partition(f"\n{cluster.KEPT} ")
        assert said == f"on {os.uname().nodename}: {what}" and (Path(where) / "stderr.txt").read_text() == "why"
    assert len(machines.calls) == 3


def test_a_round_that_was_begun_goes_on_on_its_machine(
    machines: Machines, dask: Callable[..., SpecCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def about(needs: object, dask_worker: Worker) -> tuple[str, str]:
        return dask_worker.address.rpartition(":")[0], ""

    monkeypatch.setattr(remote, "about", about)
    matrix, folder = a_matrix(tmp_path, threads=[1, 2, 3], repeat=1)
    for _ in range(2):
        plan = todo(matrix, folder)
        run = stored(folder, plan.missing[0][1])
        store.write_run_file(store.run_folders(folder)[-1], with_facts(run, host=dict(id="tcp://127.0.0.2")))
    all_of(matrix, folder, dask(1, 1))
    assert len(machines.calls) == 1 and "127.0.0.2" in machines.calls[0][0]


def test_workers_that_cannot_make_the_runs_are_refused(
    machines: Machines, dask: Callable[..., SpecCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, folder = a_matrix(tmp_path)
    of = dask(1, 0)
    for about, why in (
        (_raises(ModuleNotFoundError("No module named 'tracegen'")), r"another tracegen .*No module named"),
        (_says("on node7: has another tracegen"), "on node7: has another tracegen; or stop this worker"),
    ):
        monkeypatch.setattr(remote, "about", about)
        with pytest.raises(EnvironmentFailure, match=rf"the worker tcp://127.0.0.1:\d+: .*{why}"):
            all_of(matrix, folder, of)
    assert machines.calls == [] and not (folder / "runs").exists()


def _raises(error: Exception) -> Callable[..., Any]:
    def about(needs: object) -> None:
        raise error

    return about


def _says(lacks: str) -> Callable[..., Any]:
    return lambda needs: ("1", lacks)


def test_without_a_worker_or_a_scheduler_it_ends(
    machines: Machines, dask: Callable[..., SpecCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.2)
    monkeypatch.setattr(cluster, "TIMEOUT_S", 2.0)
    matrix, folder = a_matrix(tmp_path)
    of = dask(0)
    with pytest.raises(EnvironmentFailure, match=r"no worker has the resource tracegen=1; start one with `dask worker"):
        all_of(matrix, folder, of)
    plan = todo(matrix, folder)
    with cluster.cluster(address(of), folder, Progress(), plan) as there:
        of.close()
        with pytest.raises(EnvironmentFailure, match="the scheduler has vanished"):
            there.room()


def test_a_run_that_the_scheduler_forgot_has_ended(
    machines: Machines, dask: Callable[..., SpecCluster], tmp_path: Path
) -> None:
    """As after a restart of the scheduler: the run is tried again, and nobody waits for it."""
    matrix, folder = a_matrix(tmp_path)
    plan = todo(matrix, folder)
    cell, slot = plan.missing[0]
    with cluster.cluster(address(dask(1)), folder, Progress(), plan) as there:
        assert there.ended([]) == [] and there.room() == 1
        machines.busy.acquire()  # it would fail: nothing of it may be seen
        job = there.submit(cell, slot)
        there._client.cancel([job], force=True)
        assert there.ended([job]) == [job]
        outcome = Outcome(cell, slot)
        assert not outcome.made(lambda: there.take(job, outcome))
        assert "no worker made the run: " in outcome.problems[0]
        machines.busy.release()


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "experiments" / "case"
    folder.mkdir(parents=True)
    settings = "".join(f"{key} = {json.dumps(value)}\n" for key, value in LEAST.items())
    (folder / "experiment.toml").write_text(f"{settings}[matrix]\nthreads = [1, 2]\n")
    monkeypatch.setattr(cluster, "TIMEOUT_S", 0.5)
    assert main(["run", "case", "--executor", "dask://127.0.0.1:9"]) == 3
    assert "no Dask scheduler answers" in capsys.readouterr().err
    for wrong in ("tcp://127.0.0.1:9", "dask://", "elsewhere", "dask://localhost", "dask://a b:1", "dask://a/b:1"):
        assert main(["run", "case", "--executor", wrong]) == 2
        assert "write dask://HOST:PORT" in capsys.readouterr().err


class Simulated(Cluster):
    """Twenty machines that die, come back and are slow; their scheduler makes a lost run again, as Dask does."""

    N, LIVES = 20, 4

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.up = dict.fromkeys(range(self.N), True)
        self.queue: list[tuple[Any, ...]] = []
        self.at: dict[int, tuple[Any, ...]] = {}
        self.lost: Counter[tuple[Any, ...]] = Counter()
        self.begun: Counter[int] = Counter()
        self.taken: list[int] = []

    def room(self) -> int:
        return sum(self.up.values())

    def submit(self, cell: MatrixCell, slot: Slot) -> tuple[Any, ...]:
        rounds = [job[1] for job in (*self.queue, *self.at.values())]
        assert slot.round not in rounds, "two runs of a round at once"
        job = (slot.number, slot.round, len(self.taken), self.draw.random())
        self.queue.append(job)
        return job

    def ended(self, jobs: Collection[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """What ends in a step of time, in which machines come, go, and begin what waits."""
        ended = []
        for machine, is_up in self.up.items():
            if not is_up:
                self.up[machine] = self.draw.random() < 0.1
            elif self.draw.random() < 0.03:
                self.up[machine] = False
                if job := self.at.pop(machine, None):
                    self.lost[job] += 1
                    ended += [job] if self.lost[job] == self.LIVES else []
                    self.queue += [job] if self.lost[job] < self.LIVES else []
            elif machine in self.at:
                slow = 0.05 if machine % 7 == 0 else 0.5
                ended += [self.at.pop(machine)] if self.draw.random() < slow else []
            elif self.queue:
                self.at[machine] = self.queue.pop(0)
                self.begun[self.at[machine][0]] += 1
        assert {*jobs} == {*ended, *self.queue, *self.at.values()}
        return ended

    def take(self, job: tuple[Any, ...], outcome: Outcome) -> Run:
        if self.lost[job] == self.LIVES:
            raise EnvironmentFailure("no worker made the run")
        assert job[0] == outcome.slot.number
        self.taken.append(job[0])
        return a_run(slot=outcome.slot)


def test_a_thousand_cells_on_twenty_machines_that_die_come_back_and_are_slow(tmp_path: Path) -> None:
    matrix, folder = a_matrix(tmp_path, threads=list(range(1, 51)), repeat=20)
    machines = Simulated(random.Random(1))
    outcomes = list(carry_out(todo(matrix, folder), machines, Progress()))
    assert sorted(machines.taken) == list(range(1, 1001)), "a run is lost, or was made twice"
    assert len(outcomes) == 1000 and all(of.usable for of in outcomes)
    assert sum(machines.begun.values()) > 1010, "no machine died at its work"


def needs_of(*files: Path, model: Path) -> remote.Needs:
    return remote.Needs(resources.program_hash(), str(model), remote.files_of(files, Progress()))


def test_a_model_is_found_by_its_hash(tmp_path: Path, machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    for folder in (one, two, other):
        folder.mkdir()
    (one / "m-00001-of-00002.gguf").write_bytes(b"same")  # the second part is missing
    (two / "m-00001-of-00002.gguf").write_bytes(b"same")
    (two / "m-00002-of-00002.gguf").write_bytes(b"too")
    (other / "renamed.gguf").write_bytes(b"only")
    (other / "false.gguf").write_bytes(b"onLy")
    split = needs_of(*sorted(two.iterdir()), model=tmp_path / "nowhere" / "m-00001-of-00002.gguf")
    single = needs_of(other / "renamed.gguf", model=tmp_path / "nowhere" / "model.gguf")
    for needs in (split, single):
        with pytest.raises(SettingsError, match=r"nowhere.*copy the model to this path, or .* TRACEGEN_MODELS names"):
            remote.model_here(needs)
    monkeypatch.setenv(remote.MODELS, os.pathsep.join(map(str, ("/missing", one, two, other))))
    assert remote.model_here(split) == str(two / "m-00001-of-00002.gguf")
    assert remote.model_here(single) == str(other / "renamed.gguf")
    assert remote.model_here(replace(single, model=str(other / "x.gguf"))) == str(other / "renamed.gguf")
    with pytest.raises(SettingsError, match="has another tracegen"):
        remote.model_here(replace(single, program="another"))
    assert remote.model_here(remote.Needs(resources.program_hash(), "demo")) == "demo"


def test_another_build_of_llama_cpp_is_refused(tmp_path: Path, machines: Machines) -> None:
    (tmp_path / "llama-completion").write_bytes(b"program")
    (tmp_path / "libggml.so.1").write_bytes(b"library")
    (tmp_path / "libggml.so").symlink_to("libggml.so.1")
    (tmp_path / "notes.txt").write_bytes(b"other")
    build = remote.build_files(tmp_path)
    assert [name for name, *_ in build] == ["libggml.so.1", "llama-completion"]
    needs = remote.Needs(resources.program_hash(), "demo", folder=str(tmp_path), build=build)
    assert remote.model_here(needs) == "demo"
    (tmp_path / "libggml.so.1").write_bytes(b"Library")
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SettingsError, match="is not the build of llama"):
            remote.model_here(replace(needs, folder=str(folder)))


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a//b", "./a", "a\0b", ""])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="leads out of the folder"):
        write({name: b"x"}, tmp_path / "b")
    assert list(tmp_path.rglob("x")) == []


def test_a_run_that_came_back_otherwise_is_not_stored(tmp_path: Path) -> None:
    matrix, folder = a_matrix(tmp_path)
    cell, slot = todo(matrix, folder).missing[0]
    made = stored(tmp_path / "worker", slot)
    assert made.folder is not None
    files = remote._content(made.folder)
    place = Cluster.__new__(Cluster)
    place._folder, place._progress = folder, Progress()

    def take(files: dict[str, bytes], number: int = slot.number) -> Run:
        job: Future[remote.Made] = Future()
        job.set_result(remote.Made("node7", files))
        return place.take(job, Outcome(cell, replace(slot, number=number)))

    table = next(name for name in files if name.endswith(".parquet"))
    flipped = files[table][:-1] + bytes([files[table][-1] ^ 1])
    less = {name: content for name, content in files.items() if name != table}
    for other in ({**files, table: flipped}, less, {**files, "more": b""}, {**files, "run.json": b"{}"}, {}):
        with pytest.raises(StoreError):
            take(other)
    with pytest.raises(StoreError, match="another run came back"):
        take(files, slot.number + 1)
    with pytest.raises(EnvironmentFailure, match="could not be written"):
        take({**files, "a": b"", "a/b": b""})
    assert store.run_folders(folder) == [] and not list(folder.rglob("*.part"))
    assert take(files).name == "run-001"
    digest = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != "run.json"}
    (whole,) = store.run_folders(folder)
    assert {name: hashlib.sha256((whole / name).read_bytes()).hexdigest() for name in digest} == digest
