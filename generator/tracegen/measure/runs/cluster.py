"""The machines behind a Dask scheduler as places for the runs of a matrix (`tracegen run NAME --executor dask://…`).

Each worker must have the same tracegen and the resource `tracegen=1`. Workers that share a kernel are one machine,
which makes one run at a time. A worker finds the model by its hash, or receives it. A run comes back as a folder,
is verified against its manifest and stored like one that was made here.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.matrix import MatrixCell
from tracegen.contract.model import Run, Slot
from tracegen.contract.text import printable
from tracegen.measure.capture.hashing import hash_files
from tracegen.measure.demo.models import KINDS
from tracegen.measure.runs import remote
from tracegen.measure.runs.measure import model_path
from tracegen.measure.runs.parcel import PIECE, Item, read_piece, receive
from tracegen.measure.runs.places import Place
from tracegen.measure.runs.recording import FAILED, RUNS
from tracegen.readers.gguf.file import read_model
from tracegen.storing import resources, store
from tracegen.storing.progress import BYTES, Progress

SCHEME = "dask://"
RESOURCE = {"tracegen": 1}
_ADDRESS = re.compile(r"dask://(?:[^\s/:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
TIMEOUT_S = 15.0  # for the scheduler to answer
_START = "dask worker HOST:PORT --nthreads 1 --memory-limit 0 --resources tracegen=1"


@contextlib.contextmanager
def cluster(address: str, folder: Path, progress: Progress, program: str | None = None) -> Iterator[Cluster]:
    """The machines behind the scheduler at `dask://HOST:PORT`, for runs that are stored below `folder`.

    Raises SettingsError for another address or without Dask, EnvironmentFailure when no scheduler answers.
    """
    if not _ADDRESS.fullmatch(address):
        raise SettingsError(f"--executor: {address!r} is no address of a scheduler; write {SCHEME}HOST:PORT")
    try:
        from distributed import Client
    except ImportError as error:
        raise SettingsError("--executor: needs Dask; install it here and on each worker: docs/cluster.md") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said below
    target = f"tcp://{address.removeprefix(SCHEME)}"
    try:
        client = Client(target, timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EnvironmentFailure(
            f"{address}: no Dask scheduler answers ({printable(str(error) or type(error).__name__)}); start one with "
            f"`dask scheduler`, and on each machine `{_START}`"
        ) from error
    try:
        yield Cluster(client, address, folder, progress, program)
    finally:
        client.close(timeout=TIMEOUT_S)


class Cluster:
    """The machines whose workers can make runs; the others, and why they cannot, are told once."""

    def __init__(self, client: Any, address: str, folder: Path, progress: Progress, program: str | None) -> None:
        """Contact no worker yet."""
        self.client, self.folder, self.progress, self.program = client, folder, progress, program
        self._address = address
        self._known: dict[str, remote.About | str] = {}  # by the address of a worker: what it is, or why it is left out
        self._places: dict[str, ClusterPlace] = {}  # by the kernel

    def addresses(self) -> set[str]:
        """The addresses of the workers that are there now. Raises EnvironmentFailure without a scheduler."""
        try:
            return set(self.client.nthreads())
        except Exception as error:  # Dask raises several kinds
            raise EnvironmentFailure(f"{self._address}: the scheduler has vanished; start it, run again") from error

    def present(self) -> Sequence[Place]:
        """The machines that there are now."""
        there = self.addresses()
        for address in sorted(there - self._known.keys()):
            self._known[address] = found = self._about(address)
            if isinstance(found, str):
                self.progress.say(f"left out: the worker {address}: {found}")
            else:
                self._places.setdefault(found.kernel, ClusterPlace(self, found))
        kernels: dict[str, set[str]] = {}
        for address in there:
            known = self._known[address]
            if isinstance(known, remote.About):
                kernels.setdefault(known.kernel, set()).add(address)
        for kernel, addresses in kernels.items():
            self._places[kernel].workers = addresses
        return [self._places[kernel] for kernel in sorted(kernels)]

    def _about(self, address: str) -> remote.About | str:
        """What a worker is, or why it cannot make runs."""
        try:
            resources_of = self.client.run(_resources, workers=[address], on_error="return").get(address)
            found = self.client.run(remote.about, workers=[address], on_error="return").get(address)
        except Exception as error:  # it has vanished meanwhile, or cannot read what was sent
            return f"does not answer ({type(error).__name__})"
        if isinstance(found, ModuleNotFoundError):
            return f"lacks the module {found.name}; install it there as in docs/cluster.md"
        if not isinstance(found, remote.About):
            return f"has another tracegen than this one ({type(found).__name__}); install the same there"
        if found.program != resources.program_hash():
            return f"has another tracegen ({found.version}, this is {resources.package_version()}); install the same"
        if not isinstance(resources_of, dict) or resources_of.get("tracegen", 0) < 1:
            return f"has no resource tracegen=1; start it with `{_START}`"
        return found


def _resources(dask_worker: Any) -> dict[str, float]:
    return dict(dask_worker.state.total_resources)


class ClusterPlace:
    """A machine with one or several workers. One of them makes a run; the others are there if it vanishes."""

    def __init__(self, of: Cluster, about: remote.About) -> None:
        """The machine that a worker is on."""
        self._of, self._about = of, about
        self.workers: set[str] = set()
        self._jobs: dict[Future[Any], str] = {}  # the worker of each
        self._models: dict[tuple[str, str], tuple[Item, ...]] = {}  # by worker and model

    @property
    def machine(self) -> str:
        """The id of the machine."""
        return self._about.machine

    @property
    def words(self) -> str:
        """` on node7`."""
        return f" on {printable(self._about.host)}"

    def submit(self, cell: MatrixCell, slot: Slot) -> Future[Any]:
        """Begin a run; a model that the machine lacks is sent before."""
        worker = min(self.workers)
        experiment = replace(cell.experiment, model=_absolute(cell.experiment.model))
        folder = cell.program or self._of.program
        build = remote.build_files(Path(folder)) if folder is not None else ()
        request = remote.Request(
            experiment, slot, self._model(worker, experiment.model), folder and _absolute(folder), build
        )
        job = self._executor(worker, resources=RESOURCE).submit(remote.make, request)
        self._jobs[job] = worker
        return job

    def lost(self, job: Future[Any]) -> bool:
        """Whether the worker that has this job is gone."""
        return self._jobs[job] not in self._of.addresses()

    def take(self, job: Future[Any]) -> Run:
        """Fetch the folder of a run, verify it and store it. Raises TracegenError with what failed on the machine."""
        worker = self._jobs.pop(job)
        try:
            result = job.result()
        except (CancelledError, _killed_worker()) as error:
            raise EnvironmentFailure(f"{self.words.strip()}: the worker vanished during the run") from error
        assert isinstance(result, remote.Made)
        folder = self._of.folder / (RUNS if result.error is None else FAILED)
        with store.part_folder(folder) as part:
            if result.items:
                self._fetch(worker, result, part)
            self._call(worker, remote.discard, result.folder)
            if result.error is not None:
                kept = self._keep(part, folder) if result.items else ""
                raise type(result.error)(f"{self.words.strip()}: {result.error}{kept}")
            store.verify_run(part)
            made = store.read_run(part)
            target = store.place_numbered(
                part, folder, lambda number: store.write_run_file(part, replace(made, number=number)),
                after=store.last_published_run(self._of.folder),
            )  # fmt: skip
        return store.read_run(target)

    def _fetch(self, worker: str, result: remote.Made, part: Path) -> None:
        total = sum(item.size_bytes for item in result.items)

        def piece(name: str, offset: int) -> bytes:
            content = self._call(worker, read_piece, f"{result.folder}/{name}", offset)
            assert isinstance(content, bytes)
            return content

        self._of.progress.step(f"fetch the run{self.words.replace(' on ', ' from ')}")
        receive(result.items, part, piece, lambda done: self._of.progress.update(done, total, BYTES))
        self._of.progress.done()

    def _keep(self, part: Path, folder: Path) -> str:
        """Give what a failed attempt captured its place; returns where, for the message."""
        target = folder / time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
        try:
            part.rename(target)
        except OSError:
            return ""
        return f"\nwhat was captured is kept in {target}"

    def _model(self, worker: str, model: str) -> tuple[Item, ...]:
        """The files of a model, which the worker has now; none of a demo model, which it writes itself."""
        if model in KINDS:
            return ()
        if (worker, model) not in self._models:
            path = model_path(model, self._of.progress)
            self._of.progress.step("hash model")
            paths = read_model(path, self._of.progress.update).paths
            hashes = hash_files(paths, self._of.progress)
            self._of.progress.done()
            items = tuple(Item(p.name, p.stat().st_size, sha) for p, sha in zip(paths, hashes, strict=True))
            if self._call(worker, remote.find_model, model, items) is None:
                self._send(worker, paths, items)
            self._models[worker, model] = items
        return self._models[worker, model]

    def _send(self, worker: str, paths: Sequence[Path], items: Sequence[Item]) -> None:
        part = self._call(worker, remote.begin_model, items)
        self._of.progress.step(f"send the model{self.words.replace(' on ', ' to ')}")
        total, sent = sum(item.size_bytes for item in items), 0
        for path, item in zip(paths, items, strict=True):
            for offset in range(0, item.size_bytes, PIECE):
                piece = read_piece(str(path), offset)
                self._call(worker, remote.write_piece, part, item.name, offset, piece)
                sent += len(piece)
                self._of.progress.update(sent, total, BYTES)
        self._call(worker, remote.end_model, part, items)
        self._of.progress.done()

    def _executor(self, worker: str, **more: Any) -> Executor:
        """Dask's own executor for a worker."""
        executor: Executor = self._of.client.get_executor(
            workers=[worker], allow_other_workers=False, pure=False, retries=0, **more
        )
        return executor

    def _call(self, worker: str, fn: Any, *arguments: object) -> Any:
        """Call a function on a worker and wait. Raises EnvironmentFailure when the worker vanishes meanwhile."""
        job = self._executor(worker).submit(fn, *arguments)
        while True:
            try:
                return job.result(timeout=2.0)
            except TimeoutError:
                if worker not in self._of.addresses():
                    job.cancel()
                    raise EnvironmentFailure(f"{self.words.strip()}: the worker vanished; run again") from None
            except (OSError, CancelledError, _killed_worker()) as error:
                raise EnvironmentFailure(
                    f"{self.words.strip()}: {str(error) or type(error).__name__}; run again"
                ) from error


def _killed_worker() -> type[Exception]:
    from distributed import KilledWorker

    killed: type[Exception] = KilledWorker
    return killed


def _absolute(path: str) -> str:
    return path if path in KINDS else str(Path(path).absolute())
