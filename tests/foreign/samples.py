"""Real files of older tools (tests/data/foreign, packed with xz), as folders that their user would have."""

import functools
import lzma
import tempfile
from pathlib import Path

PACKED = Path(__file__).parents[1] / "data" / "foreign"
SAMPLES = ("v1-64", "v2-128", "v3-256-moe", "v3-256-tinyllama-shape", "v4b-1024-gpt-oss")


@functools.cache
def _root() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="foreign-")


@functools.cache
def sample(name: str) -> Path:
    """The folder of a sample, unpacked. Not to be written to: all tests of a process share it."""
    for packed in sorted((PACKED / name).rglob("*.xz")):
        path = Path(_root().name) / packed.relative_to(PACKED).with_suffix("")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.decompress(packed.read_bytes()))
    return Path(_root().name) / name


def copy_of(name: str, target: Path, leave_out: tuple[str, ...] = ()) -> Path:
    """A copy of a sample that a test may change, without the files that `leave_out` names."""
    source = sample(name)
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_file() and path.name not in leave_out and path.parent.name not in leave_out:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    return target
