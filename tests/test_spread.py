"""Tests are spread over processes by units that share what is made for them; the longest goes first."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("xdist")

from tests import spread
from tests.spread import BY_CASE, LongestFirst, Timed, seconds_of, unit_of

ROOT = Path(__file__).parents[1]


def test_a_unit_is_a_file_or_a_case_of_runs_that_several_files_look_at() -> None:
    assert unit_of("tests/test_cli.py::test_help[run]") == "tests/test_cli.py"
    oracle, attach = (f"tests/integration/test_{name}.py" for name in ("against_oracle", "attach"))
    assert unit_of(f"{oracle}::test_a[no-mmap]") == unit_of(f"{attach}::test_b[no-mmap]") == "measured: no-mmap"
    assert unit_of(f"{oracle}::test_a[dense]") != unit_of("tests/recompute/test_pages.py::test_a[dense]")
    assert unit_of(f"{attach}::test_without_a_case") == attach


class _Process:
    """A process as the scheduler sees it: it is told the numbers of its tests."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.told += numbers


def test_the_longest_unit_that_is_left_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["tests/test_a.py::test", "tests/test_b.py::test", "tests/test_c.py::test"]
    monkeypatch.setattr(spread, "seconds_of", {"tests/test_a.py": 1, "tests/test_b.py": 2, "tests/test_c.py": 3}.get)
    process, scheduler = _Process(), LongestFirst.__new__(LongestFirst)
    scheduler.workqueue = OrderedDict((unit_of(name), {name: False}) for name in names)
    scheduler.assigned_work, scheduler.registered_collections = {}, {process: names}  # type: ignore[dict-item]
    for _ in names:
        scheduler._assign_work_unit(process)
    assert process.told == [2, 1, 0]


def test_files_that_are_named_are_there() -> None:
    assert [name for name in BY_CASE if not (ROOT / name).is_file()] == []
    assert seconds_of("tests/test_of_tomorrow.py") == spread.UNKNOWN


def test_a_run_writes_how_long_its_units_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that did not run keep their time, unless their file is gone."""
    durations = tmp_path / "durations.json"
    monkeypatch.setattr(spread, "DURATIONS", durations)
    before = {"tests/test_cli.py": 9.0, "tests/test_of_yesterday.py": 2.0, "tests/test_docs.py": 1.0}
    monkeypatch.setattr(spread, "known_durations", lambda: before)
    timed = Timed()
    for name, seconds in (("tests/test_cli.py::test_a", 1.25), ("tests/test_cli.py::test_b", 2.5)):
        timed.pytest_runtest_logreport(SimpleNamespace(nodeid=name, duration=seconds))
    timed.pytest_sessionfinish()
    assert json.loads(durations.read_text()) == {"tests/test_cli.py": 3.8, "tests/test_docs.py": 1.0}
