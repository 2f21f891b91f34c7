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
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    (tmp_path / "probe").write_bytes(b"1")
    try:
        device_number(tmp_path / "probe")
        extents_of(tmp_path / "probe")
    except NoPlacesError as error:
        pytest.skip(f"the temporary folder has no places on a device: {error}")
    return write_model(path)
