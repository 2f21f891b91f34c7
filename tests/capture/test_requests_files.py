"""The places of files that changed while requests were recorded."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tracegen.measure.capture.requests import Requests


def rewritten(path: Path) -> None:
    path.write_bytes(b"2" * 9000)


def truncated(path: Path) -> None:
    os.truncate(path, 100)


def replaced(path: Path) -> None:
    path.with_name("new").write_bytes(b"3" * 9000)
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [rewritten, truncated, replaced, lambda path: path.chmod(0o600)])
@pytest.mark.parametrize("later_s", [0.0, 0.02])
def test_a_file_that_changed_meanwhile_has_no_places(
    model: Path, tmp_path: Path, change: Callable[[Path], None], later_s: float
) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"1" * 9000)
    time.sleep(0.05)
    requests = Requests(tmp_path / "raw")
    time.sleep(later_s)
    change(path)
    requests.locate([path, model])
    assert places(tmp_path / "raw") == ["it was changed while the program ran", None]


def test_a_file_that_was_removed_has_no_places(model: Path, tmp_path: Path) -> None:
    requests = Requests(tmp_path / "raw")
    requests.locate([tmp_path / "nowhere", model])
    assert places(tmp_path / "raw") == ["No such file or directory", None]


def places(raw: Path) -> list[Any]:
    """Why each file has no places."""
    state = pd.read_json(raw / "requests" / "state.json", typ="series")
    return [file["refused"] for file in state["files"]]
