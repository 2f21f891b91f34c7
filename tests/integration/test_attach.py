"""Attached tracing of libraries that nobody changed sees what hooks see, and says what it cannot see."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.integration.conftest import Measured
from tracegen.cli.main import main
from tracegen.measure.capture.attach import ensure_attach, preload
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.capture.plan import command_for
from tracegen.measure.runs.observe import Observation, observe
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import NativeTrace, read_trace
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder

pytestmark = pytest.mark.llama

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "cc")


@pytest.fixture(scope="session")
def library() -> Path:
    return ensure_attach(Progress())


@pytest.fixture(scope="module")
def attached(measured: Measured, plain: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    """The run of a measured case once more: without hooks, the tracer preloaded."""
    experiment = measured.experiment
    command = command_for(experiment, plain.programs / TARGET, Path(experiment.model))
    observation = Observation("attached", command, "Is it the same?", attach=True)
    run = observe(observation, tmp_path_factory.mktemp("attached") / measured.case.name, Progress())
    assert run.folder is not None
    return load_run(run.folder)


def events(loaded: LoadedRun) -> pd.DataFrame:
    """One row per event: pass, node, op and thread, and whether the thread waited inside."""
    named = loaded.graph_nodes[["graph", "node", "op", "name", "dtype"]]
    rows = loaded.spans.merge(loaded.passes[["pass_id", "graph"]], on="pass_id").merge(named, on=["graph", "node"])
    rows["waited"] = rows["barrier_ns"] > 0
    keys = ["pass_id", "node", "thread"]
    return rows.sort_values(keys)[[*keys, "op", "name", "dtype", "waited"]].reset_index(drop=True)


def placed(loaded: LoadedRun) -> pd.DataFrame:
    """Where each tensor of each pass lay."""
    rows = loaded.passes[["pass_id", "placement"]].merge(loaded.placements, on="placement")
    columns = ["pass_id", "node", "memory", "tensor", "file", "origin_offset", "size_bytes"]
    return rows.sort_values(["pass_id", "node"])[columns].reset_index(drop=True)


def test_both_see_the_same_events(measured: Measured, attached: LoadedRun) -> None:
    expected, actual = events(measured.loaded), events(attached)
    assert len(expected) > 100
    if measured.experiment.threads == 1:  # then a barrier is left at once, and only who stands before it can time that
        expected, actual = (frame.drop(columns="waited") for frame in (expected, actual))
    pd.testing.assert_frame_equal(actual, expected)
    states = ["pass_id", "node", "state", "fused_into"]
    pd.testing.assert_frame_equal(attached.ops[states], measured.loaded.ops[states])


def test_both_see_the_same_passes_and_tokens(measured: Measured, attached: LoadedRun) -> None:
    columns = ["pass_id", "context", "call", "ubatch", "kind", "n_tokens", "n_sequences", "n_outputs", "position_begin"]
    pd.testing.assert_frame_equal(attached.passes[columns], measured.loaded.passes[columns])
    pd.testing.assert_frame_equal(attached.tokens, measured.loaded.tokens)


def test_both_see_the_same_reads_of_weights(measured: Measured, attached: LoadedRun) -> None:
    """Without hooks also those of the header, which ggml reads."""
    columns = ["pass_id", "file", "offset", "size_bytes", "got_bytes", "tensor", "call", "direct", "n_calls"]
    hooked, both = measured.loaded.tables["reads"], attached.tables["reads"].query("got_bytes > 0")  # not the end
    of_weights = both[both["tensor"].notna() & (both["size_bytes"] > 4096) | both["direct"]]
    assert bool(len(hooked)) == (not measured.experiment.mmap)
    if len(hooked):
        large = hooked[(hooked["size_bytes"] > 4096) | hooked["direct"]]
        assert len(large) > 2
        pd.testing.assert_frame_equal(
            of_weights[columns].reset_index(drop=True), large[columns].reset_index(drop=True), check_dtype=False
        )
        header = both[both["tensor"].isna() & both["file"].notna()]
        assert len(header) and header["n_calls"].max() > 100
        for loaded in (measured.loaded, attached):
            (check,) = (check for check in loaded.run.checks if check.key == "reads")
            assert check.state == "passed", check.found


def test_both_see_the_same_places_rows_and_experts(measured: Measured, attached: LoadedRun) -> None:
    pd.testing.assert_frame_equal(placed(attached), placed(measured.loaded))
    pd.testing.assert_frame_equal(attached.touches, measured.loaded.touches)
    pd.testing.assert_frame_equal(attached.routing, measured.loaded.routing)


def test_what_is_not_seen_is_not_recorded(measured: Measured, attached: LoadedRun) -> None:
    facts = attached.run.facts
    assert facts.trace.attached is True
    assert attached.contexts[["type_k", "type_v"]].isna().all(axis=None)
    text = facts.text
    assert text.token_ids == () and text.restored
    assert text.prompt.endswith(measured.experiment.prompt)  # before it stands the mark of the start
    assert text.missing.endswith("generated token, which no recorded pass took in")
    assert not (attached.buffers["usage"] == "work").any()
    assert not [check for check in attached.run.checks if check.state == "failed"]


def test_spans_fill_the_passes(attached: LoadedRun) -> None:
    """Work, waits inside and waits after of a thread are one line of time; thread 0 copies rows and experts between."""
    spans = attached.spans.sort_values(["pass_id", "thread", "begin_ns"])
    assert (spans[["work_ns", "barrier_ns", "wait_ns"]] >= 0).all(axis=None)
    begin = spans["begin_ns"].to_numpy()
    end = begin + spans[["work_ns", "barrier_ns", "wait_ns"]].sum(axis=1).to_numpy()
    same = (spans["pass_id"].diff().eq(0) & spans["thread"].diff().eq(0)).to_numpy()[1:]
    hole = (begin[1:] - end[:-1])[same]
    assert hole.min() >= -1 and set(spans["thread"].to_numpy()[1:][same][hole > 1]) <= {0}


# ---- without the cases ----


def test_a_hooked_program_is_refused(here: Path, hooked: Build, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["exec", "case", "--attach", "--llama-cpp", str(hooked.programs), "--", TARGET])
    assert status == 2
    assert "its llama.cpp has the hooks already; leave out --attach" in capsys.readouterr().err
    assert not (here / "experiments").exists()


def test_a_cache_that_cannot_be_preloaded_from_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "my cache"))
    assert main(["exec", "case", "--attach", "--", "true"]) == 3
    assert "no space or colon; set XDG_CACHE_HOME" in capsys.readouterr().err


def test_several_processes_are_named(here: Path, plain: Build, demo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run holds the trace of one; both lie with what is kept."""
    call = f"{plain.programs / TARGET} -m {demo} -p a -n 1 -no-cnv --fit off </dev/null"
    assert main(["exec", "case", "--attach", "--", "sh", "-c", f"{call}; {call}"]) == 2
    assert "2 of its processes ran llama.cpp" in capfd.readouterr().err
    assert len(list(here.glob("experiments/case/failed/*/raw/trace/*.main.tt"))) == 2


def test_libraries_with_hooks_record_themselves(
    here: Path, plain: Build, hooked: Build, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program beside which they do not lie finds them all the same: recorded once, by the hooks."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(hooked.programs))
    program = here / TARGET
    shutil.copy(plain.programs / TARGET, program)
    arguments = ["-m", str(demo), "-p", "a", "-n", "2", "-no-cnv", "--fit", "off", "--ignore-eos"]
    assert main(["exec", "case", "--attach", "--", str(program), *arguments]) == 0
    loaded = load_run(here / "experiments" / "case" / "runs" / "001")
    assert loaded.run.facts.trace.attached is False
    assert "they record it" in (here / "experiments/case/runs/001/raw/stderr.txt").read_text()


@pytest.mark.parametrize("how", ["_exit(0)", "kill"])
def test_a_program_that_ends_without_its_exit_keeps_whole_passes(
    plain: Build, library: Path, mixture: Path, tmp_path: Path, how: str
) -> None:
    """What each pass did is written when it ends, on all threads."""
    source = (resource_folder("native") / "tests" / "opens_llama.c").read_text()
    last = "_exit(0);" if how == "_exit(0)" else "raise(SIGKILL);"
    source = source.replace("    llama_free_(context);", f"    {last}\n    llama_free_(context);")
    assert last in source
    (tmp_path / "ends.c").write_text(f"#include <signal.h>\n#include <unistd.h>\n{source}")
    read = traced(tmp_path / "ends.c", tmp_path, plain, library, mixture, check=False)
    assert read.tables["passes"]["end_ns"].notna().all()
    assert read.facts["open_computes"] == read.facts["n_ops_short_of_threads"] == 0


def test_a_program_without_llama_cpp_is_reported(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "case", "--attach", "--", "true"]) == 3
    assert "it called no llama.cpp in shared libraries" in capfd.readouterr().err


def traced(source: Path, folder: Path, plain: Build, library: Path, model: Path, *, check: bool = True) -> NativeTrace:
    """The trace of a C program that opens libllama by name; `check`: it must end well."""
    includes = [f"-I{plain.source / name}" for name in ("include", "ggml/include")]
    program, trace = folder / "program", folder / "trace"
    subprocess.run([COMPILER, "-Wall", "-Werror", *includes, str(source), "-o", str(program), "-ldl"], check=True)
    trace.mkdir()
    subprocess.run(
        [str(program), str(plain.programs / "libllama.so"), str(model)],
        check=check,
        capture_output=True,
        env={**os.environ, **preload(library), "TENSOR_TRACE_DIR": str(trace)},
    )
    return read_trace(segment_files(trace))


def test_libraries_that_the_program_loads_are_found(plain: Build, library: Path, mixture: Path, tmp_path: Path) -> None:
    """As Python does it: opened by name, their functions visible to nobody else."""
    read = traced(resource_folder("native") / "tests" / "opens_llama.c", tmp_path, plain, library, mixture)
    passes = read.tables["passes"]
    assert passes["kind"].tolist() == ["load", "prompt", "generate"]
    assert read.tables["tokens"]["token_id"].tolist() == [1, 5, 6, 7]
    assert read.facts["open_computes"] == 0


def test_a_library_that_looks_for_the_next_one_finds_it(library: Path, tmp_path: Path) -> None:
    """RTLD_NEXT means: after who asks. We stand in for dlsym; a library behind us must not find itself."""
    source, behind = tmp_path / "behind.c", tmp_path / "behind.so"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <sys/types.h>\n"
        'pid_t getppid(void) { return ((pid_t (*)(void)) dlsym(RTLD_NEXT, "getppid"))() + 1; }\n'
    )
    subprocess.run([COMPILER, "-shared", "-fPIC", str(source), "-o", str(behind)], check=True)
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getppid())"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LD_PRELOAD": f"{library} {behind}", "TENSOR_TRACE_DIR": str(tmp_path)},
    )
    assert int(ended.stdout) == os.getpid() + 1


def test_structures_that_lie_are_refused(
    plain: Build, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library made for another ggml: nothing is recorded, and the program runs as if it were not there."""
    source = tmp_path / "source"
    for name in ("include", "src"):
        shutil.copytree(plain.source / "ggml" / name, source / "ggml" / name, ignore=shutil.ignore_patterns("*.c*"))
    header = source / "ggml" / "include" / "ggml.h"
    header.write_text(header.read_text().replace("#define GGML_MAX_SRC            10", "#define GGML_MAX_SRC 12"))
    assert "GGML_MAX_SRC 12" in header.read_text()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build = Build(plain.folder, source, plain.version, traced=False)
    monkeypatch.setattr("tracegen.measure.capture.attach.ensure_source", lambda *_, **__: build)
    trace = tmp_path / "trace"
    trace.mkdir()
    ended = subprocess.run(
        [str(plain.programs / TARGET), "-m", str(demo), "-p", "a", "-n", "1", "-no-cnv", "--fit", "off"],
        env={**os.environ, **preload(ensure_attach(Progress())), "TENSOR_TRACE_DIR": str(trace)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert "tensor_trace: nothing is recorded: struct ggml_tensor of this ggml is not as in" in ended.stderr
    assert not list(trace.iterdir())
