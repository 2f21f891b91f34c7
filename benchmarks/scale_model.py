"""A mixture of experts that is larger than the memory it is given: the shape of gpt-oss-20b, random weights."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from tests import random_files
from tests.random_files import size_of, write_random_model
from tests.random_models import GPT_OSS_TYPES, gpt_oss

from tracegen import store
from tracegen.capture.llama_cpp import alone
from tracegen.errors import EnvironmentFailure
from tracegen.progress import Progress
from tracegen.resources import cache_folder

NAME, DTYPE = "gpt-oss-20b-shape", "Q8_0"
ARCHITECTURE = gpt_oss(
    n_layers=24, embd=2880, heads=64, kv_heads=8, head=64, ff=2880, n_experts=32, n_used=4, window=128,
    n_vocab=201088, context=131072,
)  # fmt: skip
SIZE = size_of(ARCHITECTURE, DTYPE, GPT_OSS_TYPES)  # bytes of its tensors
HEADER = 64 << 20  # bytes, at most: the vocabulary
ROOM = 2 << 30  # bytes of disk beside the model, for the run and its pages
GIB = 1 << 30


def ensure_model(progress: Progress) -> Path:
    """The model's file in tracegen's cache, written when it is not there. Raises EnvironmentFailure."""
    folder = cache_folder() / "models" / _recipe_hash()
    target = folder / f"{NAME}.gguf"
    with alone(folder, progress):
        if not target.exists():
            _refuse_a_small_disk(folder.parent)
            progress.step(f"write a model of {SIZE / GIB:.1f} GiB")
            with store.whole_folder(folder) as beside:
                advance = lambda done, total: progress.update(done, total, "B")  # noqa: E731
                write_random_model(ARCHITECTURE, beside / target.name, DTYPE, GPT_OSS_TYPES, advance)
            progress.done()
    return target


def _recipe_hash() -> str:
    """Hash of what decides the model's bytes: its tables, and the module that writes them."""
    digest = hashlib.sha256(repr((ARCHITECTURE, DTYPE, GPT_OSS_TYPES)).encode())
    digest.update(Path(random_files.__file__).read_bytes())
    return digest.hexdigest()[:12]


def _refuse_a_small_disk(models: Path) -> None:
    free, needed = shutil.disk_usage(models).free, SIZE + HEADER + ROOM
    if free >= needed:
        return
    others = sorted(models.glob(f"*/{NAME}.gguf"))
    room = f"delete {others[0]}, which an older benchmark left" if others else "make room"
    raise EnvironmentFailure(
        f"{models}: {free / GIB:.1f} GiB of disk are free, and the model with its run needs {needed / GIB:.1f}; {room}"
    )
