"""What tests of conditions and of recorded requests share."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.measure.capture.known_reads import write_model
from tracegen.measure.capture.extents import NoPlacesError, device_number, extents_of


def as_nobody(work: Callable[[], object]) -> str:
    """The error that `work` raises in a process without privileges, as text."""
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            work()
        except BaseException as error:
            os.write(theirs, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with os.fdopen(ours) as stream:
        return stream.read()


@pytest.fixture
def tracing(request: pytest.FixtureRequest) -> Path:
    """Where tracefs is mounted."""
    mounted: Path = request.getfixturevalue("tracefs")
    return mounted


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A folder whose files have places on a device."""
    (tmp_path / "probe").write_bytes(bytes(4096))
    try:
        device_number(tmp_path / "probe")
        extents_of(tmp_path / "probe")
    except NoPlacesError as error:
        pytest.skip(f"the temporary folder has no places on a device: {error}")
    return tmp_path


@pytest.fixture
def model(on_disk: Path) -> Path:
    return write_model(on_disk / "model")
