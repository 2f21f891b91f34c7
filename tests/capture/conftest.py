"""What the tests of recorded requests share."""

from pathlib import Path

import pytest

from tests.capture.known_reads import write_model
from tracegen.measure.capture.extents import NoPlacesError, device_number, extents_of


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
