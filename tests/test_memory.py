"""Memory runs out: one clear error, exit code 3, nothing half written."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stand_in import a_project, a_run, a_run_folder

MIB = 1 << 20


def run(words: list[str], limit: int, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracegen", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.mark.parametrize("words", [["publish", "sample", "-m", "why"], ["build"]])
@pytest.mark.parametrize("limit", [200 * MIB, 2048 * MIB])
def test_a_limit_of_addresses(words: list[str], limit: int, tmp_path: Path) -> None:
    """With little, no library can be loaded; with some GiB, the engine that draws would end the whole process."""
    a_project(tmp_path)
    a_run_folder(tmp_path / "experiments", a_run())
    before = sorted(tmp_path.rglob("*"))
    ended = run(words, limit, tmp_path)
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.count("\n") == 1 and "ulimit -v" in ended.stderr and "Traceback" not in ended.stderr
    written = [path for path in sorted(tmp_path.rglob("*")) if path not in before and ".tracegen/" not in f"{path}/"]
    assert written == []


def test_what_draws_nothing_needs_no_such_room(tmp_path: Path) -> None:
    a_project(tmp_path)
    a_run_folder(tmp_path / "experiments", a_run())
    ended = run(["show", "sample", "all"], 16 * 1024 * MIB, tmp_path)
    assert ended.returncode == 0 and "cache-rates" in ended.stdout, ended.stderr
