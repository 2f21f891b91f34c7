"""A traced llama.cpp that is killed, aborts, forks, or loses its folder: what it had recorded is read."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.live import wait_for
from tests.small_disk import needs_root, small_disk
from tracegen.contract.errors import TraceFormatError
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET, Build, has_load_mode
from tracegen.measure.capture.plan import command_for, environment_for, timings_in
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import NativeTrace, read_trace
from tracegen.storing.resources import folder as resource_folder

pytestmark = pytest.mark.llama
SEED, PATIENCE_S = 20261121, 60
TOKENS = 100  # so many that their passes take a good part of the time
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "cc")


def started(
    hooked: Build, demo: Path, trace: Path, tokens: int, *, context: int = 512, **more: str
) -> subprocess.Popen[bytes]:
    """llama-completion, traced into a folder that is made for it; it ends when its context is full."""
    trace.mkdir(exist_ok=True)
    experiment = Experiment("case", "", str(demo), "The page of the disk", tokens, context=context)
    program = hooked.programs / TARGET
    command = command_for(experiment, program, demo, has_load_mode=has_load_mode(program))
    environment = os.environ | environment_for(experiment, trace) | more
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


def states(trace: NativeTrace) -> Mapping[str, str]:
    """What each check of the verdict says."""
    return {check.key: check.state for check in checks_of(Evidence(trace.tables, trace.facts, timings_in("")))}


def is_whole_until_its_end(trace: NativeTrace) -> bool:
    """Every pass but the last has ended, and of those that have, every op is known on every thread."""
    passes, ops = trace.tables["passes"], trace.tables["ops"]
    ended = passes["end_ns"].notna()
    known = ops[ops["pass_id"].isin(passes.loc[ended, "pass_id"])]
    ran = known["state"] == "executed"
    return bool(ended.iloc[:-1].all() and known["state"].notna().all() and known.loc[ran, "n_threads"].nunique() <= 1)


@pytest.mark.parametrize("n", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_kill_9_at_random_moments(tmp_path: Path, hooked: Build, demo: Path, n: int) -> None:
    begin = time.monotonic()
    child = started(hooked, demo, tmp_path / "whole", tokens=TOKENS)
    child.communicate(timeout=PATIENCE_S)
    seconds = time.monotonic() - begin
    whole = read_trace(segment_files(tmp_path / "whole"))
    assert child.returncode == 0 and states(whole)["trace_complete"] == "passed"
    chosen = random.Random(SEED)
    n_passes = []
    for number in range(n):
        folder = tmp_path / str(number)
        child = started(hooked, demo, folder, tokens=TOKENS)
        time.sleep(chosen.uniform(0, seconds))
        child.kill()
        child.communicate(timeout=PATIENCE_S)
        if not any(file.stat().st_size for file in folder.glob("*.main.tt")):
            continue  # it had not come so far as to record anything
        try:
            trace = read_trace(segment_files(folder))
        except TraceFormatError as error:
            assert "not a tensor trace" in str(error) or "checksum" in str(error), "its main segment had not begun"
            continue
        n_passes.append(len(trace.tables["passes"]))
        assert is_whole_until_its_end(trace), number
        assert trace.facts["dropped"] == trace.facts["not_monotone"] == trace.facts["zero_records"] == 0
        sealed = trace.facts["ended"] and trace.facts["unsealed_chunks"] == 0  # it may die while it seals
        assert states(trace)["trace_complete"] == ("passed" if sealed else "failed")
        assert trace.facts["ended"] or child.returncode == -signal.SIGKILL
        shutil.rmtree(folder)
    assert len(set(n_passes)) > n // 10, "the moments are spread over load, prompt and tokens"


def test_an_abort_in_a_kernel(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """The ops before it are there on every thread, the one it happened in is the next."""
    library = tmp_path / "aborts.so"
    source = resource_folder("native") / "tests" / "aborts.c"
    subprocess.run(
        [COMPILER, "-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True
    )
    child = started(hooked, demo, tmp_path / "trace", 12, LD_PRELOAD=str(library), ABORT_AFTER="1000")
    child.communicate(timeout=PATIENCE_S)
    assert child.returncode == -signal.SIGABRT
    trace = read_trace(segment_files(tmp_path / "trace"))
    passes, spans, nodes = (trace.tables[name] for name in ("passes", "spans", "graph_nodes"))
    assert is_whole_until_its_end(trace) and states(trace)["trace_complete"] == "failed"
    (last,) = passes.loc[passes["end_ns"].isna()].to_dict("records")
    done = spans[spans["pass_id"] == last["pass_id"]].groupby("thread")["node"].max()
    ops = nodes[(nodes["graph"] == last["graph"]) & (nodes["kind"] == "op")].set_index("node")["op"]
    assert "ROPE" in {ops[ops.index > node].iloc[0] for node in done}


def test_a_program_that_forks(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """The child records nothing, and the trace of its parent is whole."""
    program = tmp_path / "forks"
    command = [
        COMPILER,
        "-std=c11",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(resource_folder("native") / "tests" / "forks.c"),
        "-o",
        str(program),
        "-I",
        str(hooked.source / "include"),
        "-I",
        str(hooked.source / "ggml" / "include"),
        "-L",
        str(hooked.programs),
        "-lllama",
        "-lggml",
        "-lggml-base",
        f"-Wl,-rpath,{hooked.programs}",
    ]
    subprocess.run(command, check=True)
    trace = tmp_path / "trace"
    trace.mkdir()
    environment = os.environ | {"TENSOR_TRACE_DIR": str(trace), "LD_LIBRARY_PATH": str(hooked.programs)}
    subprocess.run([program, demo], check=True, timeout=PATIENCE_S, capture_output=True, env=environment)
    read = read_trace(segment_files(trace))
    assert read.tables["tokens"]["token_id"].tolist() == [1, 2]
    assert read.facts["ended"] is True and read.facts["n_segments"] == 2 and is_whole_until_its_end(read)
    state = states(read)
    for key in ("trace_complete", "dropped_events", "one_run_id", "monotone_time", "nodes_accounted"):
        assert state[key] == "passed", key


def test_a_trace_directory_that_vanishes(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """The program does not notice."""
    texts = []
    for vanishes in (False, True):
        trace = tmp_path / f"trace-{vanishes}"
        child = started(hooked, demo, trace, tokens=60)
        if vanishes:
            wait_for(child, lambda trace=trace: list(trace.glob("*.t000.tt")))  # type: ignore[misc]
            shutil.rmtree(trace)
        out, err = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == 0, err.decode(errors="replace")
        assert trace.exists() != vanishes
        texts.append(out)
    assert texts[0] == texts[1] != b""


@needs_root
def test_a_trace_directory_that_nobody_may_write(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """The tracer says why nothing is recorded, and the program goes on."""
    (tmp_path / "trace").mkdir()
    with small_disk(tmp_path / "trace", "ro"):
        child = started(hooked, demo, tmp_path / "trace", tokens=4)
        out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0 and out
    assert b"tensor_trace: nothing is recorded: " in err and b"Read-only file system" in err
