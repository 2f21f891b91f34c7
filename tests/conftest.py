"""The whole project that the tests of the site share; its parts are made in site_project.py."""

from __future__ import annotations

import pytest

from tests.site_project import Project, make_project


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Published and built once; a test that changes something takes a copy."""
    return make_project(tmp_path_factory.mktemp("project"))
