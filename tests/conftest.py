"""The whole project that the tests of the site share; its parts are made in site_project.py."""

from __future__ import annotations

import signal

import pytest

from tests.site_project import Project, make_project


def pytest_configure() -> None:
    """Hear Ctrl-C: a script that starts the tests in the background has it ignored, and so would all they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Published and built once; a test that changes something takes a copy."""
    return make_project(tmp_path_factory.mktemp("project"))
