"""A matrix on a cluster: its workers live in two networks; they and the command are killed again and again."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from tests.attack.tried import TRACEGEN
from tests.dask_workers import Workers
from tracegen.storing import store

pytestmark = [pytest.mark.attack, pytest.mark.llama]

N_RUNS, N_KILLS = 18, 10


class Network:
    """A network of its own for one process: a namespace that reaches this machine, and nothing else."""

    def __init__(self, number: int) -> None:
        self.name, here, there = f"tracegen{number}", f"tg{number}here", f"tg{number}there"
        self.here, self.there = f"10.213.{number}.1", f"10.213.{number}.2"
        self.close()
        for words in (
            f"netns add {self.name}",
            f"link add {here} type veth peer name {there} netns {self.name}",
            f"address add {self.here}/30 dev {here}",
            f"link set {here} up",
            f"-n {self.name} address add {self.there}/30 dev {there}",
            f"-n {self.name} link set {there} up",
            f"-n {self.name} link set lo up",
        ):
            subprocess.run(["ip", *words.split()], check=True, capture_output=True)

    def close(self) -> None:
        """Remove it, and with it both ends of its line."""
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


@pytest.fixture
def networks() -> Iterator[list[Network]]:
    with ExitStack() as stack:
        try:
            made = [Network(number) for number in (1, 2)]
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("needs permission to make network namespaces, and the program ip")
        for network in made:
            stack.callback(network.close)
        yield made


def test_killed_again_and_again(networks: list[Network], prototype: Path, tmp_path: Path, llama: str) -> None:
    experiment = tmp_path / "experiments" / "case"
    experiment.mkdir(parents=True)
    (experiment / "experiment.toml").write_text(
        f'question = "Why?"\nprompt = "The page"\ntokens = 8\nmodel = {json.dumps(str(prototype / "model.gguf"))}\n'
        f"[matrix]\nrepack = [true, false]\nrepeat = {N_RUNS // 2}\n"
    )
    (tmp_path / "cluster").mkdir()
    workers = Workers(tmp_path / "cluster", "0.0.0.0")
    port = workers.address.rpartition(":")[2]
    command = [*TRACEGEN, "run", "case", "--executor", f"dask://127.0.0.1:{port}", "--llama-cpp", llama]
    draw = random.Random(1)

    def begin(network: Network) -> subprocess.Popen[bytes]:
        workers.address = f"{network.here}:{port}"
        return workers.worker("--host", network.there, before=("ip", "netns", "exec", network.name))

    stored_before: dict[str, bytes] = {}
    try:
        running = [begin(network) for network in networks]
        for kill in range(N_KILLS):
            client = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if kill:  # while a run after a stored one is made
                _wait_for(experiment, 1 + len(stored_before))
            time.sleep(draw.uniform(0.2, 1.2))
            if kill % 3 == 2:  # a worker, and the command a moment later
                victim, left = _at_work(running)
                running[victim].kill()
                running[victim].wait()
                _, alive = psutil.wait_procs(left, timeout=10)
                assert not alive, "llama.cpp outlived its worker"
                running[victim] = begin(networks[victim])
                time.sleep(draw.uniform(0.0, 2.0))
            client.send_signal(signal.SIGKILL)
            _, said = client.communicate(timeout=60)
            assert b"Traceback" not in said, said.decode()
            stored = _stored(experiment)
            assert stored_before.items() <= stored.items(), "a run that was stored is gone, or was made again"
            stored_before = stored
        last = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    finally:
        workers.close()
    assert last.returncode == 0, last.stderr
    assert f"{N_RUNS} of {N_RUNS} runs stored and usable" in last.stdout
    runs = [store.read_run(folder) for folder in store.run_folders(experiment)]
    assert [run.number for run in runs] == list(range(1, N_RUNS + 1))
    slots = [run.slot.number for run in runs]
    assert sorted(slots) == list(range(1, N_RUNS + 1)), "a run is lost, or was made twice"
    for run in runs:
        assert run.folder is not None
        store.verify_run(run.folder)
    assert stored_before.items() <= _stored(experiment).items()


def _stored(experiment: Path) -> dict[str, bytes]:
    """The description of each stored run, by its folder."""
    return {folder.name: (folder / "run.json").read_bytes() for folder in store.run_folders(experiment)}


def _at_work(workers: list[subprocess.Popen[bytes]]) -> tuple[int, list[psutil.Process]]:
    """The first worker that is found to run llama.cpp, and that process."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for number, worker in enumerate(workers):
            with suppress(psutil.NoSuchProcess):
                children = psutil.Process(worker.pid).children(recursive=True)
                if left := [child for child in children if child.name().startswith("llama")]:
                    return number, left
        time.sleep(0.01)
    raise AssertionError("no worker ran llama.cpp")


def _wait_for(experiment: Path, n_stored: int) -> None:
    until = time.monotonic() + 120  # the lock of a worker that was killed is free after half a minute
    while len(store.run_folders(experiment)) < n_stored:
        assert time.monotonic() < until, "no run was stored"
        time.sleep(0.05)
