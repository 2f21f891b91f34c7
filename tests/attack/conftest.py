"""The project that is attacked, made once for a session, and the programs of llama.cpp."""

from pathlib import Path

import pytest

from tests.attack.tried import make_prototype
from tests.shared import shared_folder
from tracegen.measure.capture.llama_cpp import Build


@pytest.fixture(scope="session")
def prototype(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, a version, a model and a trace of an older tool. Nobody changes it."""
    return shared_folder(tmp_path_factory, "attacked", make_prototype)


@pytest.fixture(scope="session")
def llama(hooked: Build) -> str:
    """The folder of the hooked programs."""
    return str(hooked.programs)
