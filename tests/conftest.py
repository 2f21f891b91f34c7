"""What tests of several rooms share: the project with its site, and the builds of llama.cpp."""

import gc
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import drawn
from tests.llama_builds import whole_build
from tests.shared import session_folder, shared_folder
from tests.site_project import Project, make_project
from tests.spread import SLOW, LongestFirst, Timed, seconds_of, unit_of
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.capture.tracefs import tracefs_folder
from tracegen.measure.checks import times
from tracegen.site import vega
from tracegen.storing import store

FAIL_COST, FAIL_SLOWER = times.FAIL_COST, times.FAIL_SLOWER


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-durations", action="store_true", help="write tests/durations.json again (with all tests)")


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C: a script that starts the tests in the background has it ignored, and so would all they start."""
    if config.getoption("--write-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Timed())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(100_000)  # as `tracegen` does: collecting earlier took 5 % of the time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow: the units that took long when the whole suite was timed."""
    for item in items:
        if seconds_of(unit_of(item.nodeid)) > SLOW:
            item.add_marker("slow")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let no run of a small model fail because tracing it cost more than a tenth of its time.

    Its passes take some hundred microseconds, of which tracing takes 3 to 6 %; in a second in which the machine is
    busy it takes more, and the check rightly says so. The limit itself is tested with tables (test_verdict.py).
    """
    small = item.get_closest_marker("llama") is not None
    times.FAIL_COST = 1.0 if small else FAIL_COST
    times.FAIL_SLOWER = 1000.0 if small else FAIL_SLOWER  # on a busy machine one of two equal runs may be slower


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """`--dist loadfile` takes the longest first, and cases of some files apart; other ways are as they are."""
    return LongestFirst(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def _a_chart_is_drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Charts of the same data are drawn once in a session: see `drawn`. Commands in processes of their own draw all."""
    with drawn.kept_in(session_folder(tmp_path_factory) / "drawn"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _sites_are_drawn_by_this_process() -> Iterator[None]:
    """See `drawn.by_this_process`; `processes` is for who tests the others."""
    with drawn.by_this_process():
        yield


@pytest.fixture
def processes() -> Iterator[None]:
    """Drafts and comparisons are drawn by processes of their own, as for a user."""
    with drawn.by_processes():
        yield


@pytest.fixture(scope="module")
def empty_figures() -> Iterator[None]:
    """What this module renders and publishes in this process has empty figures."""
    with drawn.empty_figures():
        yield


@pytest.fixture(scope="session", autouse=True)
def _vega_is_made_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every site in a new folder makes Vega's script, which takes two seconds: here it finds that of this session."""
    folder, script = session_folder(tmp_path_factory) / "vega", vega.script

    def found(cache: Path) -> bytes:
        if not cache.is_relative_to(folder):
            script(folder)
            for file in folder.glob("vega-*.js"):
                if not (cache / file.name).exists():
                    store.write_text(cache / file.name, file.read_text(encoding="utf-8"))
        return script(cache)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vega, "script", found)
        yield


hypothesis.settings.register_profile("whole", deadline=None)  # no time is a finding on a busy machine
hypothesis.settings.load_profile("whole")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Published and built once for all processes; a test that changes something takes a copy."""
    return Project(shared_folder(tmp_path_factory, "project", make_project))


@pytest.fixture(scope="session")
def tracefs() -> Path:
    """Where tracefs is mounted: mounted at its usual place where it is not, and left there.

    Another process of the tests may use it at any time, so nobody unmounts it.
    """
    if os.geteuid() != 0:
        pytest.skip("only root may record the kernel's events")
    if tracefs_folder() is None:
        subprocess.run(["mount", "-t", "tracefs", "nodev", "/sys/kernel/tracing"], check=False, capture_output=True)
    mounted = tracefs_folder()  # by us, or meanwhile by another process
    if mounted is None:
        pytest.skip("this machine has no tracefs, or lets nobody mount it")
    if not (mounted / "events/block/block_rq_issue").is_dir():
        pytest.skip("this kernel has no events of block devices")
    return mounted


@pytest.fixture(scope="session")
def hooked() -> Build:
    """The pinned llama.cpp with today's hooks."""
    return whole_build(traced=True)


@pytest.fixture(scope="session")
def plain() -> Build:
    """The same without hooks."""
    return whole_build(traced=False)
