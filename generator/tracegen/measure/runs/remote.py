"""What a worker of a cluster does: find or receive the model, make one run, hand its folder over.

All of it is called by `cluster.py` on another machine, through Dask. A run is made in the worker's cache folder and
removed once it was fetched.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError, StoreError, TracegenError
from tracegen.contract.model import Experiment, Slot
from tracegen.measure.capture.hashing import hash_files
from tracegen.measure.capture.machine import kernel_id, machine_id
from tracegen.measure.runs.measure import measure
from tracegen.measure.runs.parcel import Item, found, listed, refuse_no_room
from tracegen.storing import resources
from tracegen.storing.progress import Progress

MODELS = "TRACEGEN_MODELS"  # folders of a worker with models, separated like those of PATH
_DAY_S = 86_400.0


@dataclass(frozen=True)
class About:
    """A worker: its host, its machine, the kernel that runs it, and the program that it would run."""

    host: str
    machine: str
    kernel: str
    version: str
    program: str


@dataclass(frozen=True)
class Request:
    """A run to make. `model`: the files of the model, none for a demo model; `build`: those of a llama.cpp to run."""

    experiment: Experiment
    slot: Slot
    model: tuple[Item, ...]
    folder: str | None = None
    build: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Made:
    """What became of a request: a folder on the worker, and its files; `error` if it holds only a failed attempt."""

    folder: str
    items: tuple[Item, ...]
    error: TracegenError | None = None


def about() -> About:
    """This worker."""
    return About(socket.gethostname(), machine_id(), kernel_id(), resources.package_version(), resources.program_hash())


def make(request: Request) -> Made:
    """Make the run, and list its files. Two runs never share a machine: the second waits."""
    work = _work() / f"{os.getpid()}-{time.time_ns()}"
    work.mkdir(parents=True)
    experiment = request.experiment
    try:
        if request.model:
            model = find_model(request.experiment.model, request.model)
            if model is None:
                raise EnvironmentFailure(f"{experiment.model}: is no longer on this machine; run again")
            experiment = replace(experiment, model=model)
        if request.folder is not None:
            _refuse_other_build(Path(request.folder), request.build)
        with alone():
            run = measure(experiment, work, Progress(), request.folder, slot=request.slot)
    except TracegenError as error:
        failed = sorted(work.glob("failed/*"))
        text = str(error).partition("\nwhat was captured is kept in")[0]
        folder = failed[-1] if failed else work
        return Made(str(folder), listed(folder), type(error)(text))
    assert run.folder is not None
    return Made(str(run.folder), listed(run.folder))


@contextmanager
def alone(path: Path | None = None) -> Iterator[None]:
    """During the block no other worker of this user measures on this machine."""
    path = path or Path(tempfile.gettempdir()) / f"tracegen-{os.getuid()}.measuring"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def find_model(path: str, items: Sequence[Item]) -> str | None:
    """The path of a model on this machine, by its hash; None without one.

    Looked at: the same path, what was received before, and the folders that TRACEGEN_MODELS names.
    """
    named = [Path(folder) for folder in os.environ.get(MODELS, "").split(os.pathsep) if folder]
    folders = [Path(path).parent, _received(items), *named]
    model = found(items, folders, lambda paths: hash_files(paths, Progress()))
    return None if model is None else str(model)


def begin_model(items: Sequence[Item]) -> str:
    """Make room for a model that will be sent; returns the folder to send it to. Raises EnvironmentFailure."""
    target = _received(items)
    refuse_no_room(target.parent, sum(item.size_bytes for item in items))
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    return str(part)


def write_piece(part: str, name: str, offset: int, piece: bytes) -> None:
    """Write a piece of a file that is being received. Raises StoreError for a name that is none of a file in `part`."""
    folder = Path(part)
    if folder.parent != _models() or Path(name).name != name:
        raise StoreError(f"{name!r}: is no file to receive; nothing was written")
    try:
        with (folder / name).open("r+b" if offset else "wb") as stream:
            stream.seek(offset)
            stream.write(piece)
    except OSError as error:
        raise EnvironmentFailure(f"{folder / name}: could not be written: {error.strerror or error}") from error


def end_model(part: str, items: Sequence[Item]) -> None:
    """Verify the files that were received, and give them their place. Raises StoreError when one has changed."""
    folder = Path(part)
    if sorted(listed(folder), key=_name) != sorted(items, key=_name):
        shutil.rmtree(folder, ignore_errors=True)
        raise StoreError(f"{folder}: the model changed on its way; run again")
    target = _received(items)
    shutil.rmtree(target, ignore_errors=True)
    folder.rename(target)


def discard(folder: str) -> None:
    """Remove a run that was fetched, and those that nobody fetched for a day."""
    work, fetched = _work(), (Path(folder), *Path(folder).parents)
    for path in list(work.iterdir()) if work.is_dir() else []:
        if path in fetched or time.time() - path.stat().st_mtime > _DAY_S:
            shutil.rmtree(path, ignore_errors=True)


def build_files(folder: Path) -> tuple[Item, ...]:
    """The programs and libraries of a llama.cpp: what must be equal on two machines that run it."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.is_symlink())
    known = [item for item in (_item(path) for path in paths) if item.name == "llama-completion" or ".so" in item.name]
    return tuple(known)


def _refuse_other_build(folder: Path, build: Sequence[Item]) -> None:
    if not folder.is_dir():
        raise SettingsError(f"{folder}: is not on this machine; put the build of llama.cpp into the same folder there")
    if build_files(folder) != tuple(build):
        raise SettingsError(f"{folder}: holds another build of llama.cpp than here; copy it to this machine")


def _item(path: Path) -> Item:
    from tracegen.storing.store import sha256_of

    return Item(path.name, path.stat().st_size, sha256_of(path))


def _name(item: Item) -> str:
    return item.name


def _work() -> Path:
    return resources.cache_folder() / "cluster" / "work"


def _models() -> Path:
    return resources.cache_folder() / "cluster" / "models"


def _received(items: Sequence[Item]) -> Path:
    return _models() / items[0].sha256[:16]
