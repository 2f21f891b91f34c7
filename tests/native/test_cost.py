"""What an op event costs, in instructions: callgrind counts the same in every run, on a busy machine too."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from benchmarks.bench_tracer import instructions

from tests.native.conftest import Build

pytestmark = pytest.mark.native

OURS = 63.2  # instructions per op event beside its two clock reads: gcc 12, -O2, x86-64, CLOCK_MONOTONIC


def test_an_op_event_takes_the_instructions_it_took(build: Build, tmp_path: Path) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("no valgrind")
    compiler = subprocess.run(["cc", "-dumpfullversion"], capture_output=True, text=True).stdout
    if platform.machine() != "x86_64" or not compiler.startswith("12."):
        pytest.skip(f"counted with gcc 12 on x86-64; this is {compiler.strip()} on {platform.machine()}")
    program = build("bench") / "plain" / "op_cost"
    event, read = (instructions(program, tmp_path, valgrind, part) for part in ("measured_ops", "measured_clock_reads"))
    assert event - 2 * read == pytest.approx(OURS, rel=0.05)
