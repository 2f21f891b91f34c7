"""Files of a project that are cut, of another kind, endless, or made to hurt the program that reads them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attack.tried import Command, Surroundings, copy, run_here, verdict

pytestmark = pytest.mark.attack

RUN = "experiments/demo/runs/002"
VERSION = "experiments/demo/versions/1"
READERS = {
    "experiments/demo/experiment.toml": ("run", "demo", "--plan"),
    f"{RUN}/run.json": ("show", "demo/run-002"),
    f"{RUN}/tables/passes.parquet": ("show", "demo/run-002"),
    f"{VERSION}/version.json": ("show", "demo@v1"),
    "experiments/demo/ledger.json": ("build",),
    "experiments/demo/status.json": ("build",),
    "journal/index.md": ("build",),
    "mkdocs.yml": ("build",),
    "model.gguf": ("tensors", "model.gguf"),
    "older/tensor_trace.bin": ("import", "older", "--as", "imported"),
}


def _text(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return write


def _half(path: Path) -> None:
    content = path.read_bytes() if path.exists() else b""
    _text(content[: len(content) // 2])(path)


def _flipped(path: Path) -> None:
    content = bytearray(path.read_bytes() if path.exists() else b"x")
    for place in range(0, len(content), max(1, len(content) // 50)):
        content[place] ^= 0x55
    _text(bytes(content))(path)


def _fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _link(target: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return write


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


CONTENTS: dict[str, Callable[[Path], None]] = {
    "empty": _text(b""),
    "one byte": _text(b"\xff"),
    "nul": _text(b"\x00" * 4096),
    "half": _half,
    "flipped": _flipped,
    "deep json": _text(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "deep toml": _text(b"a = " + b"[" * 20_000 + b"]" * 20_000),
    "long number": _text(b'{"schema": ' + b"9" * 6_000 + b"}"),
    "long toml number": _text(b"tokens = " + b"9" * 6_000),
    "long hex number": _text(b"tokens = 0x" + b"f" * 60_000),
    "long key": _text(b"a." * 50_000 + b"a = 1"),
    "wrong shapes": _text(b'{"schema": [], "manifest": [], "assets": {"a": 1}, "versions": {"1": []}}'),
    "a list": _text(b"[]"),
    "byte order mark": _text(b"\xef\xbb\xbf{}"),
    "fifo": _fifo,
    "endless": _link("/dev/zero"),
    "loop": _link("loop"),
    "folder": _folder,
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("place", READERS)
def test_file(place: str, content: str, prototype: Path, tmp_path: Path) -> None:
    project = copy(prototype, tmp_path / "project")
    path = project / place
    if content == "loop":
        _link(path.name)(path)
    else:
        CONTENTS[content](path)
    around = Surroundings("hostile", shell="ulimit -v 4000000")
    done = run_here(Command("tried", READERS[place]), project, around, "")
    fault = verdict(done, [0, 1, 2, 3])
    assert not fault, fault
