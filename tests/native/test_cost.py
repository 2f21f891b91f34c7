"""What an op event costs, in instructions: callgrind counts the same on every run, whatever else the machine does."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.native.conftest import Build

pytestmark = pytest.mark.native

OURS = 63.2  # instructions per op event beside its two clock reads: gcc 12, -O2, x86-64, CLOCK_MONOTONIC


def _instructions(program: Path, folder: Path, part: str) -> float:
    folder.mkdir()
    out = folder.with_suffix(".callgrind")
    command = [
        "valgrind", "--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={part}",
        f"--callgrind-out-file={out}", str(program), str(folder), "instructions",
    ]  # fmt: skip
    environment = {**os.environ, "TENSOR_TRACE_CLOCK": "monotonic"}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=300)
    total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)
    n = re.search(r"^n (\d+)", ended.stdout, re.M)
    assert total and n
    return int(total[1]) / int(n[1])


def test_an_op_event_takes_the_instructions_it_took(build: Build, tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("no valgrind")
    compiler = subprocess.run(["cc", "-dumpfullversion"], capture_output=True, text=True).stdout
    if platform.machine() != "x86_64" or not compiler.startswith("12."):
        pytest.skip(f"counted with gcc 12 on x86-64; this is {compiler.strip()} on {platform.machine()}")
    program = build("bench") / "plain" / "op_cost"
    event = _instructions(program, tmp_path / "events", "measured_ops")
    read = _instructions(program, tmp_path / "reads", "measured_clock_reads")
    assert event - 2 * read == pytest.approx(OURS, rel=0.05)
