"""Bytes as a GGUF file. The reader takes files: each is written to memory where the machine has such a folder."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.readers import gguf_bytes as made
from tests.readers.test_gguf import BROKEN, GOOD, LLAMA
from tracegen.contract.errors import ModelFormatError
from tracegen.readers.gguf.file import read_model

LONGEST = 1 << 12
SHARED_MEMORY = Path("/dev/shm")
FOLDER = Path(tempfile.mkdtemp(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def seeds() -> Iterator[bytes]:
    """A model with metadata of every kind, one with experts, and those that the tests break by hand."""
    yield GOOD
    yield made.file({"blk.0.ffn_up_exps.weight": ((32, 2, 3), 2, 108)}, LLAMA)
    for kind in range(13):
        yield made.file({}, [made.pair("key", kind, bytes(24)), made.array("array", kind, 2, bytes(16))])
    yield from (data for data, _ in BROKEN.values())


def check(data: bytes) -> None:
    """Read the model: its tables, or ModelFormatError."""
    path = FOLDER / "model.gguf"
    path.write_bytes(data)
    with suppress(ModelFormatError):
        read_model(path)
