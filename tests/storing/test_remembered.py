"""What was computed before is taken from the cache only while its files and the program are the same."""

import os
from pathlib import Path
from typing import Any

import pytest

from tracegen.storing import remembered as module
from tracegen.storing.remembered import remembered
from tracegen.storing.resources import cache_folder


class Computation:
    """Counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self) -> dict[str, Any]:
        self.runs += 1
        return {"share": 0.1, "number": self.runs, "nothing": None}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "table.parquet"
    path.write_bytes(b"0123")
    return path


def the_cache_file() -> Path:
    (path,) = (cache_folder() / "results").iterdir()
    return path


def test_a_result_is_computed_once(source: Path) -> None:
    compute = Computation()
    first = remembered(source.parent, [source], compute)
    assert remembered(source.parent, [source], compute) == first == {"share": 0.1, "number": 1, "nothing": None}
    assert compute.runs == 1


def test_two_subjects_have_two_results(source: Path) -> None:
    compute = Computation()
    remembered(source.parent, [source], compute)
    remembered(source, [source], compute)
    assert compute.runs == 2
    assert len(list((cache_folder() / "results").iterdir())) == 2


def test_a_file_that_changed_without_its_time_and_size_is_noticed(source: Path) -> None:
    compute, before = Computation(), source.stat()
    remembered(source.parent, [source], compute)
    source.write_bytes(b"4567")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    remembered(source.parent, [source], compute)
    assert compute.runs == 2


def test_a_file_that_is_lost_or_added_is_noticed(source: Path, tmp_path: Path) -> None:
    compute, added = Computation(), tmp_path / "added.parquet"
    remembered(source.parent, [source, added], compute)
    added.write_bytes(b"")
    remembered(source.parent, [source, added], compute)
    source.unlink()
    remembered(source.parent, [source, added], compute)
    assert compute.runs == 3


@pytest.mark.parametrize("name", ["analysis.py", "tables.txt"])
def test_a_program_that_changed_computes_again(
    name: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, package = Computation(), tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(module, "_PACKAGE", package)
    for text in ("x = 1", "x = 10"):
        (package / name).write_text(text)
        remembered(source.parent, [source], compute)
        remembered(source.parent, [source], compute)
    assert compute.runs == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"state": 1}', '{"result": {}}', "a list as the result"])
def test_a_broken_cache_is_replaced(source: Path, text: str) -> None:
    compute = Computation()
    remembered(source.parent, [source], compute)
    whole = the_cache_file().read_text()
    other = whole.replace('"result": {', '"result": [{').replace("}}", "}]}")
    the_cache_file().write_text(other if "list" in text else text)
    remembered(source.parent, [source], compute)
    remembered(source.parent, [source], compute)
    assert compute.runs == 2


def test_a_cache_that_cannot_be_written_is_no_failure(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(source))  # a file: no folder can be made in it
    compute = Computation()
    assert remembered(source.parent, [source], compute)["number"] == 1
    assert remembered(source.parent, [source], compute)["number"] == 2
