"""What tests of several rooms share: the project with its site, and the builds of llama.cpp."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llama_builds import whole_build
from tests.shared import session_folder, shared_folder
from tests.site_project import Project, make_project
from tracegen import store
from tracegen.capture.llama_cpp import Build
from tracegen.capture.tracefs import tracefs_folder
from tracegen.checks import times
from tracegen.site import vega

FAIL_COST = times.FAIL_COST


def pytest_configure() -> None:
    """Hear Ctrl-C: a script that starts the tests in the background has it ignored, and so would all they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let no run of a small model fail because tracing it cost more than a tenth of its time.

    Its passes take some hundred microseconds, of which tracing takes 3 to 6 %; in a second in which the machine is
    busy it takes more, and the check rightly says so. The limit itself is tested with tables (test_verdict.py).
    """
    times.FAIL_COST = 1.0 if item.get_closest_marker("llama") else FAIL_COST


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """`--dist loadfile` takes the longest first, and cases of some files apart; other ways are as they are."""
    from tests.spread import LongestFirst

    return LongestFirst(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def _vega_is_made_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every site in a new folder makes Vega's script, which takes two seconds: here it finds that of this session."""
    made, script = session_folder(tmp_path_factory) / "vega", vega.script

    def found(cache: Path) -> bytes:
        if not cache.is_relative_to(made):
            script(made)
            for file in made.glob("vega-*.js"):
                if not (cache / file.name).exists():
                    store.write_text(cache / file.name, file.read_text(encoding="utf-8"))
        return script(cache)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vega, "script", found)
        yield


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Published and built once for all processes; a test that changes something takes a copy."""
    return Project(shared_folder(tmp_path_factory, "project", make_project))


@pytest.fixture(scope="session")
def tracefs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where tracefs is mounted; mounted for the session where it is not, skipped where that is not allowed."""
    mounted = tracefs_folder()
    if mounted is not None and os.access(mounted / "instances", os.W_OK):
        yield mounted
        return
    folder = tmp_path_factory.mktemp("tracefs")
    if subprocess.run(["mount", "-t", "tracefs", "nodev", str(folder)], check=False, capture_output=True).returncode:
        pytest.skip("tracefs is not mounted, and mounting it is not allowed")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="session")
def hooked() -> Build:
    """The pinned llama.cpp with today's hooks."""
    return whole_build(traced=True)


@pytest.fixture(scope="session")
def plain() -> Build:
    """The same without hooks."""
    return whole_build(traced=False)
