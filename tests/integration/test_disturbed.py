"""Runs that something delays: other programs, too many threads of their own, a stop. Each has a name of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.conftest import stored
from tests.integration.test_kills import started
from tests.live import a_pass_ended, wait_for
from tracegen.analysis.disturbance import disturbance
from tracegen.analysis.passes import measured
from tracegen.contract.experiment import Experiment
from tracegen.contract.model import Check
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import read_trace
from tracegen.reading.notebook.loaded import LoadedRun

pytestmark = [pytest.mark.llama, pytest.mark.alone]

TOKENS = 300
TICK_NS = 4_000_000  # of the kernel: until then it may count a processor change late


def run_of(folder: Path, hooked: Build, demo: Path, tokens: int = TOKENS, **settings: object) -> LoadedRun:
    experiment = Experiment("case", "", str(demo), "The page of the disk", tokens, **settings)  # type: ignore[arg-type]
    return stored(experiment, folder, hooked)


def check_of(loaded: LoadedRun, key: str) -> Check:
    return next(check for check in loaded.run.checks if check.key == key)


@contextmanager
def busy_loops(n: int, processor: int) -> Iterator[None]:
    """So many programs that want a processor and do nothing with it."""
    spin = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    loops = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(n)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_one_thread_against_three_busy_loops(tmp_path: Path, hooked: Build, demo: Path) -> None:
    processor = min(os.sched_getaffinity(0))
    with busy_loops(3, processor):
        # a second of work: the scheduler lets a new program run undisturbed for some tenths
        loaded = run_of(tmp_path, hooked, demo, 3000, context=4096, threads=1, processors=(processor,))
    check = check_of(loaded, "interference")
    assert check.state == "warning" and "other programs" in check.detail, check
    # It has a quarter of its processor. How much of the waiting lies within passes is the scheduler's choice: what the
    # clock of the thread misses there is what it waited, as nothing was read.
    passes = measured(loaded.tables)
    missed = 1 - passes["cpu_ns"].sum() / passes["counted_ns"].sum()
    share = disturbance(loaded.tables).share
    assert share is not None and share > 0.02 and share == pytest.approx(missed, abs=0.05)


def test_four_threads_on_one_processor_hold_each_other_up(tmp_path: Path, hooked: Build, demo: Path) -> None:
    loaded = run_of(tmp_path, hooked, demo, threads=4, processors=(min(os.sched_getaffinity(0)),))
    check = check_of(loaded, "interference")
    assert check.state == "warning" and check.detail.startswith("4 threads on 1 processor take"), check


def test_a_program_that_is_stopped(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """Nobody has a processor, and nobody is kept from one: that is neither other programs nor the disk."""
    child = started(hooked, demo, tmp_path / "trace", 4000, context=4096)
    wait_for(child, lambda: a_pass_ended(tmp_path / "trace"))
    for _ in range(4):
        time.sleep(0.05)
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        child.send_signal(signal.SIGCONT)
    child.communicate(timeout=600)
    assert child.returncode == 0
    trace = read_trace(segment_files(tmp_path / "trace"))
    disturbed = disturbance(trace.tables)
    assert disturbed.n_stopped >= 1 and disturbed.stopped_ns > 400_000_000, disturbed
    (check,) = [c for c in checks_of(Evidence(trace.tables, trace.facts, {})) if c.key == "not_stopped"]
    assert check.state == "warning" and "SIGSTOP" in check.detail


def test_what_the_kernel_says_of_the_threads_fits_the_times(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """No thread runs, waits and stands still for longer than the pass and the hooks around it take.

    The kernel counts a wait when it ends: one that began after the pass before is counted in this one.
    """
    passes = run_of(tmp_path, hooked, demo, threads=2).passes.sort_values("pass_id")
    passes["since_ns"] = (passes["begin_ns"] - passes["end_ns"].shift()).clip(lower=0)
    passes = passes[passes["kind"].isin(["prompt", "generate"])]
    assert passes[["run_delay_ns", "cpu_ns", "blocked_ns"]].notna().all(axis=None)
    length = (passes["end_ns"] - passes["begin_ns"]).astype("int64")
    assert (passes["counted_ns"] >= length).all()
    room = 2 * (passes["counted_ns"] + passes["since_ns"] + TICK_NS)
    assert (passes["cpu_ns"] + passes["run_delay_ns"] <= room).all()
    assert passes["cpu_ns"].sum() > 0.5 * length.sum() - passes["run_delay_ns"].sum()
    assert (passes["blocked_ns"] <= passes["counted_ns"]).all()
