"""Memory runs out: one clear error, exit code 3, nothing half written."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stand_in import a_project, a_run, a_run_folder

MIB = 1 << 20


@pytest.mark.parametrize("words", [["publish", "sample", "-m", "why"], ["build"]])
@pytest.mark.parametrize("limit", [200 * MIB, 2048 * MIB])
def test_a_limit_of_addresses(words: list[str], limit: int, tmp_path: Path) -> None:
    """With little, no library can be loaded; with some GiB, the engine that draws would end the whole process."""
    a_project(tmp_path)
    a_run_folder(tmp_path / "experiments", a_run())
    before = sorted(tmp_path.rglob("*"))
    ended = subprocess.run(
        [sys.executable, "-m", "tracegen", *words], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.count("\n") == 1 and "ulimit -v" in ended.stderr and "Traceback" not in ended.stderr
    written = [path for path in sorted(tmp_path.rglob("*")) if path not in before and ".tracegen/" not in f"{path}/"]
    assert written == []
