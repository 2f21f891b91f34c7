"""The runs of a matrix on the workers of a Dask scheduler (`tracegen run NAME --executor dask://…`).

A run is a task that takes the resource `tracegen=1` of a worker. Dask decides which worker makes it, and makes it
again when that worker is lost. It comes back as the content of a folder, is verified against its manifest and stored
like one that was made here. The runs of a round depend on one small task, its home: Dask takes a task to the worker
that holds what it depends on, so they are made on one machine.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from tracegen.contract.errors import EnvironmentFailure, SettingsError, StoreError
from tracegen.contract.facts import Slot
from tracegen.contract.matrix import MatrixCell
from tracegen.contract.model import NAMED_MODELS, Run
from tracegen.contract.text import printable
from tracegen.measure.runs import remote
from tracegen.measure.runs.matrix_runs import Outcome, Todo
from tracegen.measure.runs.measure import model_path
from tracegen.measure.runs.placing import FAILED, KEPT, RUNS, keep_failed, place
from tracegen.readers.gguf.file import read_model
from tracegen.storing import resources, store
from tracegen.storing.progress import Progress

SCHEME = "dask://"
RESOURCE = {"tracegen": 1}
_ADDRESS = re.compile(r"dask://(?:[^\s/:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
TIMEOUT_S = 15.0  # for the scheduler to answer
PATIENCE_S = 60.0  # for a worker to come when there is none
POLL_S = 1.0  # between looks for machines that came or vanished
_START = "dask worker HOST:PORT --nthreads 1 --memory-limit 0 --resources tracegen=1"


@contextlib.contextmanager
def cluster(
    address: str, folder: Path, progress: Progress, plan: Todo, program: str | None = None
) -> Iterator[Cluster]:
    """The machines behind the scheduler at `dask://HOST:PORT`, for runs of a plan that are stored below `folder`.

    Raises SettingsError for another address or without Dask, EnvironmentFailure when no scheduler answers.
    """
    if not _ADDRESS.fullmatch(address):
        raise SettingsError(f"--executor: {address!r} is no address of a scheduler; write {SCHEME}HOST:PORT")
    try:
        from distributed import Client
    except ImportError as error:
        raise SettingsError("--executor: needs Dask; install it here and on each worker: docs/cluster.md") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said below
    try:
        client = Client(f"tcp://{address.removeprefix(SCHEME)}", timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EnvironmentFailure(
            f"{address}: no Dask scheduler answers ({printable(str(error) or type(error).__name__)}); start one with "
            f"`dask scheduler`, and on each machine `{_START}`"
        ) from error
    try:
        yield Cluster(client, folder, progress, plan, program)
    finally:
        client.close(timeout=TIMEOUT_S)


class Cluster:
    """The machines of a scheduler, for `matrix_runs.carry_out`."""

    def __init__(self, client: Any, folder: Path, progress: Progress, plan: Todo, program: str | None) -> None:
        """Contact no worker yet. `program`: llama.cpp, where a cell names none. Raises TracegenError as for a run."""
        self._client, self._folder, self._progress, self._program = client, folder, progress, program
        self._begun = {run.slot.round: run.facts.host.id for run in plan.stored}
        self._homes: dict[int, Any] = {}  # by the round
        self._machines: dict[str, str] = {}  # of each worker that was looked at
        self._seen = time.monotonic()  # when there was a worker
        asked = dict.fromkeys((cell.experiment.model, cell.program or program) for cell, _ in plan.missing)
        self._needs = {of: self._needs_of(*of) for of in asked}

    def _needs_of(self, model: str, program: str | None) -> remote.Needs:
        """What a run needs of a machine. Raises TracegenError when it is not here either."""
        needs = remote.Needs(resources.program_hash(), model)
        if model not in NAMED_MODELS:
            self._progress.step("hash model")
            paths = read_model(model_path(model, self._progress), self._progress.update).paths
            needs = replace(needs, model=str(Path(model).absolute()), files=remote.files_of(paths, self._progress))
            self._progress.done()
        if program is None:
            return needs
        return replace(needs, folder=str(Path(program).absolute()), build=remote.build_files(Path(program)))

    def room(self) -> int:
        """How many machines there are; each makes one run at a time.

        Raises EnvironmentFailure for a worker that lacks something, after a minute without any, or without a scheduler.
        """
        try:
            known = self._client.sync(self._client.scheduler.identity, n_workers=-1)["workers"]
        except Exception as error:  # Dask raises several kinds
            raise EnvironmentFailure("--executor: the scheduler has vanished; start it, run again") from error
        there = {at: worker["host"] for at, worker in known.items() if worker["resources"].get("tracegen", 0) >= 1}
        if new := sorted(there.keys() - self._machines.keys()):
            self._look_at(new)
        if there:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > PATIENCE_S:
            raise EnvironmentFailure(
                f"no machine is there to make runs: no worker has the resource tracegen=1; start one with `{_START}`, "
                "then the same command goes on"
            )
        return len(set(there.values()))

    def _look_at(self, workers: list[str]) -> None:
        """Refuse workers that cannot make the runs: Dask may give a run to any."""
        answers = self._client.run(remote.about, list(self._needs.values()), workers=workers, on_error="return")
        for address, found in answers.items():
            machine, lacks = found if isinstance(found, tuple) else ("", f"has another tracegen or lacks it ({found})")
            if lacks and not isinstance(found, OSError):  # which says that it has vanished meanwhile
                raise EnvironmentFailure(f"the worker {address}: {printable(lacks)}; or stop this worker")
            if machine:
                self._machines[address] = machine

    def submit(self, cell: MatrixCell, slot: Slot) -> Any:
        """Begin a run: on the machine of its round, if that is there. The future of Dask, for `ended` and `take`."""
        if slot.round not in self._homes:
            at = [at for at, machine in self._machines.items() if machine == self._begun.get(slot.round)]
            where = {"workers": at, "allow_other_workers": True} if at else {"resources": RESOURCE}
            self._homes[slot.round] = self._client.submit(socket.gethostname, pure=False, **where)
        home, needs = self._homes[slot.round], self._needs[cell.experiment.model, cell.program or self._program]
        # Dask retries what fails for another reason than the run, whose errors are results
        how = {"resources": RESOURCE, "retries": 1, "pure": False}
        return self._client.submit(remote.make, home, cell.experiment, slot, needs, **how)

    def ended(self, jobs: Collection[Any]) -> list[Any]:
        """Those of the jobs that have ended, also as a scheduler forgot them; waits a while for one."""
        from distributed import wait

        if not jobs:
            time.sleep(POLL_S)
        else:
            with contextlib.suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(list(jobs), timeout=POLL_S, return_when="FIRST_COMPLETED")
        return [job for job in jobs if job.done()]

    def take(self, job: Any, outcome: Outcome) -> Run:
        """Verify the run that came back, and store it. Raises TracegenError with what failed on the machine."""
        try:
            made = job.result()
        except Exception as error:  # of Dask, or of a worker
            raise EnvironmentFailure(f"no worker made the run: {type(error).__name__}: {printable(error)}") from error
        on = f"on {printable(made.host)}"
        folder = self._folder / (RUNS if made.error is None else FAILED)
        with store.part_folder(folder) as part:
            write(made.files, part)
            if made.error is not None:
                kept = keep_failed(part, folder)
                raise type(made.error)(f"{on}: {made.error}" if kept is None else f"{on}: {made.error}\n{KEPT} {kept}")
            store.verify_run(part)
            run, slot = store.read_run(part), outcome.slot
            of = run.facts.slot.number if run.facts.slot else None
            if (run.experiment, of) != (outcome.cell.experiment.name, slot.number):
                raise StoreError(f"{on}: another run came back than was asked for; nothing was stored")
            self._progress.say(f"run {slot.number} of {slot.of} was made {on}")
            return place(part, folder, run, store.last_published_run(self._folder))


def write(files: Mapping[str, bytes], target: Path) -> None:
    """Write files that came from a worker below `target`.

    Raises StoreError for a name that leads out of it, EnvironmentFailure when they cannot be written.
    """
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) != name or "\0" in name:
            raise StoreError(f"{name!r}: leads out of the folder that was sent; nothing was stored")
        try:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(content)
        except OSError as error:
            raise EnvironmentFailure(f"{target / path}: could not be written: {error.strerror or error}") from error
