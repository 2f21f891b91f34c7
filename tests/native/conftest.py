"""Fixtures: the tracer's C programs, built once, and a small trace that they wrote."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.trace_bytes import Files
from tests.shared import locked, session_folder
from tracegen.readers.native.segments import segment_files

NATIVE = Path(__file__).parents[2] / "native"
Build = Callable[[str], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A function that runs `make TARGET` in native/ and returns the folder with `asan/`, `tsan/` and `plain/`."""
    compiler = next(filter(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")), None)
    if compiler is None or shutil.which("make") is None:
        pytest.skip("no C compiler or no make")
    folder = session_folder(tmp_path_factory) / "native"
    folder.mkdir(exist_ok=True)

    def make(target: str) -> Path:
        command = ["make", "-C", str(NATIVE), f"BUILD={folder}", f"CC={compiler}", target]
        with locked(folder):  # another test process that needs the same target waits, and finds it built
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=300, env={**os.environ, "TMPDIR": str(folder)}
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
            (folder / f"{target}.log").write_text(ended.stdout)
        return folder

    return make


@pytest.fixture(scope="session")
def tools(build: Build) -> Path:
    """The folder of tt_dump and write_trace."""
    return build("tools") / "plain"


@pytest.fixture(scope="session")
def written(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small trace that was closed in order."""
    return write(tools, tmp_path_factory.mktemp("written"))


@pytest.fixture(scope="session")
def killed(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of such a trace, by a process that ended in the middle of the last pass."""
    return write(tools, tmp_path_factory.mktemp("killed"), "killed")


@pytest.fixture(scope="session")
def files(written: Path) -> Files:
    """The files of `written`: name -> bytes."""
    return {name: bytes(data) for name, data in segment_files(written).items()}


def write(tools: Path, folder: Path, *how: str, clock: str = "monotonic") -> Path:
    """Run write_trace into `folder`, and return it. `clock` times the events, if the machine has it."""
    environment = os.environ | {"TENSOR_TRACE_CLOCK": clock}
    subprocess.run([tools / "write_trace", folder, *how], check=True, timeout=60, env=environment)
    return folder
