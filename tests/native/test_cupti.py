"""What the tracer knows of CUPTI against its own headers and library, where CUDA's toolkit is installed."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.native.conftest import Build
from tracegen.measure.capture.attach import cupti

LIBRARY = cupti()
TOOLKIT = LIBRARY.parents[1] if LIBRARY else Path("none")
pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not (TOOLKIT / "include/cupti.h").exists(), reason="needs CUDA's toolkit with CUPTI"),
]


@pytest.fixture(scope="module")
def programs(build: Build) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "CUDA", str(TOOLKIT))
        return build("cupti") / "plain"


def test_structures_are_those_of_its_headers_and_the_library_finds_records_in_them(programs: Path) -> None:
    """The first part fails to compile."""
    assert subprocess.run([programs / "cupti_headers"]).returncode == 0


def test_it_records_or_says_why_not(programs: Path) -> None:
    ended = subprocess.run(
        [programs / "test_kernels"], env=os.environ | {"REAL_CUPTI": str(LIBRARY)}, capture_output=True, text=True
    )
    assert ended.returncode == 0 and "0 failed" in ended.stdout, ended.stderr
