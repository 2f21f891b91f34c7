"""Tests are spread over processes by units that share what is made for them; the longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest

pytest.importorskip("xdist")

from tests.spread import BY_CASE, SECONDS, LongestFirst, seconds_of, unit_of

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


def test_the_longest_unit_that_is_left_goes_first() -> None:
    names = ["tests/test_cli.py::test_a", "tests/test_drafts.py::test_b", "tests/native/test_robustness.py::test_c"]
    process, spread = _Process(), LongestFirst.__new__(LongestFirst)
    spread.workqueue = OrderedDict((unit_of(name), {name: False}) for name in names)
    spread.assigned_work, spread.registered_collections = {}, {process: names}  # type: ignore[dict-item]
    for _ in names:
        spread._assign_work_unit(process)
    assert process.told == [2, 1, 0]


def test_files_that_are_named_are_there_and_the_rest_is_short() -> None:
    named = [name for name in (*SECONDS, *BY_CASE) if name.startswith("tests/")]
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert seconds_of("tests/test_cli.py") < min(SECONDS.values()) <= seconds_of("measured: dense")
