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


def slow(call: str, seconds: float, more: str = "") -> list[str]:
    """A tracegen whose `os` takes so long for a call, which it announces on standard error."""
    code = f"""import os, sys, time
real = os.{call}
def slow(*given):
    print("called", file=sys.stderr, flush=True)
    time.sleep({seconds})
    return real(*given)
os.{call} = slow
{more}
from tracegen.__main__ import main
sys.exit(main())"""
    return [sys.executable, "-c", code]
