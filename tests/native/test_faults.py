"""Traces of unusual and failing runs (native/tests/write_faults.c) are read; the verdict says what is missing."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.native.conftest import Build
from tests.native.trace_bytes import Trace, clock, op, read, thread_begin, thread_end
from tracegen.contract.errors import TraceFormatError
from tracegen.measure.capture.plan import timings_in
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import NativeTrace, read_trace

pytestmark = pytest.mark.native
HOUR, GIB = 3600 * 10**9, 1 << 30
N_NODES, N_PASSES, DIES_AT = 40, 3, 15  # of write_faults.c


@pytest.fixture(scope="module")
def programs(build: Build) -> Path:
    """The folder with `asan/`, `tsan/` and `plain/`, each with write_faults."""
    return build("faults")


def recorded(programs: Path, kind: str, folder: Path, case: str) -> NativeTrace:
    """The trace that write_faults, in its build `kind`, writes for a case. A report of a sanitizer fails the test."""
    # A thread that dies in a compute leaves its writer allocated: a leak that cannot be avoided.
    environment = os.environ | {
        "TENSOR_TRACE_CLOCK": "monotonic",
        "ASAN_OPTIONS": f"detect_leaks={int(case != 'dies')}",
    }
    command = [programs / kind / "write_faults", folder, case]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    return read_trace(segment_files(folder))


WITHOUT_A_MODEL = (
    "trace_complete",
    "dropped_events",
    "one_run_id",
    "zero_records",
    "monotone_time",
    "even_clock",
    "nodes_accounted",
    "threads_accounted",
)


def complaints(trace: NativeTrace) -> set[str]:
    """The keys of the checks that did not pass, of those that need no model."""
    checks = checks_of(Evidence(trace.tables, trace.facts, timings_in("")))
    return {check.key for check in checks if check.key in WITHOUT_A_MODEL and check.state != "passed"}


@pytest.mark.parametrize("kind", ["tsan", "asan"])
def test_two_hundred_threads(programs: Path, tmp_path: Path, kind: str) -> None:
    trace = recorded(programs, kind, tmp_path, "threads")
    assert trace.facts["n_segments"] == 201 and complaints(trace) == set()
    spans = trace.tables["spans"].groupby(["pass_id", "node"])["thread"].nunique()
    assert len(spans) == N_PASSES * N_NODES and (spans == 200).all()


def test_ten_thousand_graphs(programs: Path, tmp_path: Path) -> None:
    trace = recorded(programs, "plain", tmp_path, "graphs")
    graphs, passes, ops = (trace.tables[name] for name in ("graphs", "passes", "ops"))
    assert graphs["graph"].tolist() == passes["graph"].tolist() == list(range(10_000))
    assert graphs["topology"].nunique() == 1
    assert (ops["state"] == "executed").all() and len(ops) == 10_000
    assert trace.tables["graph_nodes"]["ne0"].tolist() == list(range(1, 10_001)) and complaints(trace) == set()


def test_sizes_and_offsets_beyond_4_gib(programs: Path, tmp_path: Path) -> None:
    """Only numbers are large, nothing is allocated; but the trace file has a hole of 5 GiB before its second chunk."""
    trace = recorded(programs, "asan", tmp_path, "large")
    (cache, weight) = trace.tables["graph_nodes"].to_dict("records")
    assert (cache["ne0"], cache["nb1"], cache["size_bytes"]) == (2 * GIB, 8 * GIB, 8 * GIB)
    assert cache["view_offset_bytes"] == 6 * GIB
    assert (weight["ne1"], weight["nb2"], weight["size_bytes"]) == (5, 5 * GIB, 5 * GIB)
    (in_buffer, on_disk) = trace.tables["placements"].to_dict("records")
    assert (in_buffer["memory"], in_buffer["buffer_offset"]) == ("buffer", 7 * GIB)
    assert (on_disk["memory"], on_disk["address"]) == ("disk", 0x7E0000000000 + 81 * GIB)
    assert trace.tables["buffers"]["size_bytes"].tolist() == [9 * GIB]
    touches = trace.tables["touches"][["slot", "unit", "first_unit", "n_units"]]
    assert touches.values.tolist() == [["dst", "row", 5 * GIB, 2]]
    assert trace.facts["bytes"] > 5 * GIB and len(trace.tables["spans"]) == 1


def test_a_clock_that_jumps_by_hours(programs: Path, tmp_path: Path) -> None:
    trace = recorded(programs, "asan", tmp_path, "clock")
    spans = trace.tables["spans"]
    hours = (spans[["work_ns", "barrier_ns", "wait_ns"]] // HOUR).values.tolist()
    assert hours == [[0, 0, 9], [25, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert (spans["begin_ns"].diff()[1:] // HOUR).tolist() == [9, 25, 2]
    assert complaints(trace) == set()


def test_a_day_of_passes_and_counters_past_2_to_the_32(programs: Path, tmp_path: Path) -> None:
    trace = recorded(programs, "asan", tmp_path, "counters")
    passes = trace.tables["passes"]
    assert (passes["begin_ns"].diff()[1:] // HOUR).tolist() == [1] * 24
    assert passes["minor_faults"].tolist() == [6 * GIB] * 25
    assert trace.tables["spans"].groupby("pass_id").size().tolist() == [2] * 25, "computes are distinguished"
    assert trace.facts["dropped"] == 7 * GIB
    assert complaints(trace) == {"dropped_events"}


@pytest.mark.parametrize("kind", ["tsan", "asan"])
def test_a_thread_that_dies_in_a_compute(programs: Path, tmp_path: Path, kind: str) -> None:
    """Its ops are in the trace, the thread after it has its own file, and the verdict says that ops are missing."""
    trace = recorded(programs, kind, tmp_path, "dies")
    spans = trace.tables["spans"].groupby(["pass_id", "thread"]).size().to_dict()
    assert spans == {(p, t): DIES_AT if (p, t) == (1, 1) else N_NODES for p in range(N_PASSES) for t in range(2)}
    assert trace.facts["ended"] is True and (trace.facts["open_computes"], trace.facts["unsealed_chunks"]) == (1, 1)
    assert trace.facts["n_ops_short_of_threads"] == N_NODES - DIES_AT
    assert complaints(trace) == {"trace_complete", "threads_accounted"}


def test_killed_at_every_system_call(programs: Path, tmp_path: Path) -> None:
    """Until the main segment has begun there is nothing to read; from then on every prefix can be read."""
    began, n_spans = False, 0
    for stop in range(1, 1000, 2):  # stop 0 is the start; then each system call has two stops, at its start and its end
        folder = tmp_path / str(stop)
        folder.mkdir()
        command = [programs / "plain" / "write_faults", folder, "killed", str(stop)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode in (0, 3), ended.stderr
        try:
            trace = read_trace(segment_files(folder))
        except TraceFormatError as error:
            assert not began, f"stop {stop}: {error}"
            continue
        began = True
        assert len(trace.tables["spans"]) >= n_spans, f"stop {stop}"
        n_spans = len(trace.tables["spans"])
        if ended.returncode == 3:
            break
        if not trace.facts["ended"]:
            assert "trace_complete" in complaints(trace)
    assert ended.returncode == 3 and n_spans == 2 + N_NODES and trace.facts["ended"] is True
    assert not trace.facts["unsealed_chunks"]


def test_two_tracers_in_one_directory(tools: Path, tmp_path: Path) -> None:
    """Each trace is complete. The folder with both is refused; the message names the file and says what to do."""
    commands = [[tools / "write_trace", tmp_path]] * 2
    children = [subprocess.Popen(command) for command in commands]
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    files = segment_files(tmp_path)
    runs = sorted({name.split(".")[0] for name in files})
    assert len(runs) == 2
    for run in runs:
        trace = read_trace({name: data for name, data in files.items() if name.startswith(run)})
        assert trace.facts["ended"] is True and len(trace.tables["spans"]) == 36
    with pytest.raises(TraceFormatError, match=r"belongs to run .*move the files of one run into a folder"):
        read_trace(files)


def test_a_machine_that_sleeps_while_its_counter_runs_on() -> None:
    """CLOCK_MONOTONIC stops in sleep, the time stamp counter may run on: then the verdict says that times are wrong."""
    second = 10**9
    for asleep in (0, HOUR):
        moments = [clock(i * second, i * second) for i in range(1, 5)]
        moments += [clock(i * second + asleep, i * second) for i in range(5, 9)]
        events = [thread_begin(time=2 * second), op(begin=3 * second), thread_end(time=7 * second + asleep)]
        trace = read(Trace(clock=1, before=[*moments, *Trace().before], events=events).files())
        assert trace.facts["clock_uneven_ns"] == asleep and complaints(trace) == ({"even_clock"} if asleep else set())


def test_a_counter_that_restarts_after_sleep() -> None:
    moments = [clock(8 * HOUR, 8 * HOUR), clock(9 * HOUR, 9 * HOUR), clock(1_000, 10 * HOUR), clock(HOUR, 11 * HOUR)]
    with pytest.raises(TraceFormatError, match="ran backwards while time ran on; record again"):
        read(Trace(clock=1, before=[*moments, *Trace().before]).files())
