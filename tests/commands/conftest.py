"""Fixtures for tests of commands: a renderer without charts."""

import sys
import types
from pathlib import Path

import pytest

from tests.stand_in import render


@pytest.fixture
def stand_in_renderer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in an empty folder, and render pages of a few words."""
    module = types.ModuleType("tracegen.report.pages.render")
    module.render_report = render  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tracegen.report.pages.render", module)
    monkeypatch.chdir(tmp_path)
