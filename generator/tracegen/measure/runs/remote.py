"""What a worker of a cluster does: say what it lacks to make runs, and make one. `cluster.py` has Dask call it."""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracegen.contract.errors import SettingsError, TracegenError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Slot
from tracegen.measure.capture.hashing import hash_files
from tracegen.measure.capture.machine import kernel_id, machine_id
from tracegen.measure.runs.measure import measure
from tracegen.measure.runs.placing import KEPT
from tracegen.storing import locks, resources
from tracegen.storing.progress import Progress

MODELS = "TRACEGEN_MODELS"  # folders of a worker with models, separated like those of PATH

File = tuple[str, int, str]  # its name, its size in bytes and its sha256


@dataclass(frozen=True)
class Needs:
    """What a run needs of a machine: the same tracegen (`program`: its hash), a model, and a llama.cpp.

    `files`: those of the model, none of a model that has a name, which the worker fetches or writes itself. `folder`:
    of the llama.cpp to run, and `build` its programs and libraries; None where the worker builds one.
    """

    program: str
    model: str
    files: tuple[File, ...] = ()
    folder: str | None = None
    build: tuple[File, ...] = ()


@dataclass(frozen=True)
class Made:
    """What became of a run on `host`: the content of each file by its path; with an `error`, of a failed attempt."""

    host: str
    files: dict[str, bytes]
    error: TracegenError | None = None


async def about(needs: Sequence[Needs]) -> tuple[str, str]:
    """The machine of this worker, and what it lacks to make the runs; empty if nothing.

    It looks in a thread: to hash a model takes longer than a worker may be silent.
    """
    try:
        for need in needs:
            await asyncio.to_thread(model_here, need)
    except TracegenError as error:
        return machine_id(), f"on {socket.gethostname()}: {error}"
    return machine_id(), ""


def make(_home: str, experiment: Experiment, slot: Slot, needs: Needs) -> Made:
    """Make a run; nothing of it stays on this machine. A second run here waits. Raises OSError without room for it."""
    from distributed import Lock

    host = socket.gethostname()
    measuring = Path(tempfile.gettempdir()) / f"tracegen-{os.getuid()}-measures"
    work = resources.cache_folder() / "cluster" / host
    measuring.mkdir(mode=0o700, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    # the first lock keeps the workers of this scheduler apart, also those in containers; the other, those of others
    with Lock(f"tracegen {kernel_id()}"), locks.alone(measuring):
        for left in work.iterdir():  # by a worker that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=work) as place:
            try:
                here = replace(experiment, model=model_here(needs))
                run = measure(here, Path(place), Progress(), needs.folder, slot=slot)
            except TracegenError as error:
                failed = sorted(Path(place).glob("failed/*"))
                text = str(error).partition(f"\n{KEPT}")[0]
                return Made(host, _content(failed[-1]) if failed else {}, type(error)(text))
            assert run.folder is not None
            return Made(host, _content(run.folder))


def _content(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def model_here(needs: Needs) -> str:
    """The path of the model on this machine. Raises SettingsError for what is missing here, with what to do."""
    if needs.program != resources.program_hash():
        raise SettingsError(f"has another tracegen ({resources.package_version()}) than here; install the same there")
    if needs.folder is not None and build_files(Path(needs.folder)) != needs.build:
        raise SettingsError(f"{needs.folder}: is not the build of llama.cpp that is here; copy it there, to this path")
    if not needs.files:
        return needs.model
    named = [Path(folder) for folder in os.environ.get(MODELS, "").split(os.pathsep) if folder]
    names, sizes, hashes = (list(column) for column in zip(*needs.files, strict=True))
    for folder in (Path(needs.model).parent, *named):
        renamed = [[path] for path in sorted(folder.glob("*"))] if len(names) == 1 else []
        for paths in ([folder / name for name in names], *renamed):
            there = [path.stat().st_size if path.is_file() else None for path in paths]
            if there == sizes and hash_files(paths, Progress()) == hashes:
                return str(paths[0])
    raise SettingsError(
        f"{needs.model}: no file with its hash is there; copy the model to this path, or into a folder that {MODELS} "
        "names for the worker"
    )


def files_of(paths: Sequence[Path], progress: Progress) -> tuple[File, ...]:
    """Files with sizes and hashes. Raises EnvironmentFailure for one that cannot be read."""
    hashes = hash_files(paths, progress)
    return tuple((path.name, path.stat().st_size, sha256) for path, sha256 in zip(paths, hashes, strict=True))


def build_files(folder: Path) -> tuple[File, ...]:
    """The programs and libraries of a llama.cpp: what must be equal on two machines that run it. None: no folder."""
    plain = [path for path in sorted(folder.glob("*")) if path.is_file() and not path.is_symlink()]
    return files_of([path for path in plain if path.name == "llama-completion" or ".so" in path.name], Progress())
