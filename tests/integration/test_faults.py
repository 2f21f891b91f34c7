"""Bad input and bad luck while measuring: what is said, the exit code, and that nothing is lost or half written."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType

import gguf
import pytest

from tests.integration.conftest import written
from tests.live import wait_for
from tests.small_disk import filling, make_read_only, needs_root, small_disk
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.capture.pressure import Pressure
from tracegen.measure.runs import measure as measuring
from tracegen.measure.runs import recording
from tracegen.measure.runs.control import Control
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import read_trace
from tracegen.reading.notebook.loaded import load_run
from tracegen.storing import store
from tracegen.storing.execute import Completed
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

Tracegen = Callable[..., tuple[int, str]]

ESCAPES = "\x1b[2J\x1b]0;gone\x07\x9b31m\x7f"
LONG_RUN = dict(tokens=100_000, context=16_384)


@pytest.fixture
def tracegen(here: Path, hooked: Build, capfd: pytest.CaptureFixture[str]) -> Tracegen:
    """Run a command; its exit code and all it said. `run` uses the hooked build unless another is asked for."""

    def call(*arguments: object, program: Path | None = None) -> tuple[int, str]:
        words = [str(argument) for argument in arguments]
        if words[0] == "run":
            words += ["--llama-cpp", str(program or hooked.programs)]
        status = main(words)
        captured = capfd.readouterr()
        return status, captured.out + captured.err

    return call


def quick(model: object, prompt: str = "The page") -> tuple[object, ...]:
    return "run", "--model", model, "--prompt", prompt, "-n", 2


@contextmanager
def on_a_small_disk(model: Path, options: str, **settings: object) -> Iterator[Path]:
    """The folder of an experiment with a disk of its own."""
    folder = Path("experiments/case")
    folder.mkdir(parents=True)
    with small_disk(folder, options):
        yield written(model, **settings)


def runs(folder: Path) -> list[str]:
    """Everything in runs/, hidden leftovers too."""
    return sorted(path.name for path in (folder / "runs").iterdir()) if (folder / "runs").exists() else []


def wrapper(folder: Path, build: Build, before: str = "", after: str = "") -> Path:
    """A program that runs llama-completion and does something to it or to its trace."""
    path = folder / "wrapped" / TARGET
    path.parent.mkdir()
    real = f'"{build.programs / TARGET}" "$@"'
    path.write_text(f"#!/bin/sh\n{before}\n" + (f"{real} || exit\n{after}\n" if after else f"exec {real}\n"))
    path.chmod(0o755)
    return path.parent


# Models


def test_a_model_that_llama_cpp_refuses(tracegen: Tracegen, here: Path) -> None:
    writer = gguf.GGUFWriter(here / "strange.gguf", "abacus")
    writer.add_block_count(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    status, output = tracegen(*quick("strange.gguf"))
    assert status == 2 and f"{TARGET}: exit status 1; its run is stored" in output
    assert "The program ended with an error: “" in output and "unknown model architecture: 'abacus'" in output
    assert runs(here / "experiments" / "quick") == ["001"] and "not usable" in output


# Settings


def test_a_prompt_that_does_not_fit_the_context(tracegen: Tracegen, here: Path, demo: Path) -> None:
    folder = written(demo, prompt="page " * 300, context=256)
    status, output = tracegen("run", "case")
    assert status == 2 and "prompt is too long" in output and "not usable" in output
    assert runs(folder) == ["001"]


def test_a_context_that_fills_up_is_reported(tracegen: Tracegen, here: Path, demo: Path) -> None:
    written(demo, tokens=300, context=256)
    status, output = tracegen("run", "case")
    assert status == 0
    assert "warning: As many tokens were generated as asked for: 25" in output and "complete with warnings" in output


def test_an_unknown_experiment_and_one_without_runs(tracegen: Tracegen, here: Path, demo: Path) -> None:
    written(demo)
    status, output = tracegen("run", "cse")
    assert (status, "experiments here: case" in output) == (2, True)
    for verb in ("show", "read"):
        status, output = tracegen(verb, "case")
        assert (status, "case: has no run yet; `tracegen run case` makes one" in output) == (2, True)


def test_the_experiments_folder_cannot_be_written(tracegen: Tracegen, here: Path, demo: Path) -> None:
    (here / "experiments").write_text("a file")
    status, output = tracegen(*quick(demo))
    assert status == 3 and "cannot be written" in output


# The traced program


def test_a_llama_cpp_without_hooks(tracegen: Tracegen, here: Path, demo: Path, plain: Build) -> None:
    status, output = tracegen(*quick(demo), program=plain.programs)
    assert status == 2
    assert f"{TARGET}: was not built with the hooks" in output and "`tracegen llama-cpp build`" in output
    assert not (here / "experiments" / "quick" / "failed").exists(), "it is seen before the model runs"


def test_a_program_that_records_nothing(tracegen: Tracegen, here: Path, demo: Path, plain: Build) -> None:
    status, output = tracegen(*quick(demo), program=wrapper(here, plain))
    assert status == 3 and "recorded nothing" in output and "hooks" in output
    assert runs(here / "experiments" / "quick") == []


def test_hooks_of_another_trace_version(tracegen: Tracegen, here: Path, demo: Path, hooked: Build) -> None:
    raise_it = 'printf "\\012" | dd of="$f" bs=1 seek=8 conv=notrunc status=none'
    patch = f'for f in "$TENSOR_TRACE_DIR"/*.tt; do {raise_it}; done'
    status, output = tracegen(*quick(demo), program=wrapper(here, hooked, after=patch))
    assert status == 2 and "is a trace of version 10" in output
    assert runs(here / "experiments" / "quick") == []


def test_a_trace_without_records(tracegen: Tracegen, here: Path, demo: Path, hooked: Build) -> None:
    """It makes a run that says it is not usable."""
    cut = 'truncate -s 4096 "$TENSOR_TRACE_DIR"/*.tt'
    status, output = tracegen(*quick(demo), program=wrapper(here, hooked, after=cut))
    assert status == 1 and "not usable" in output and runs(here / "experiments" / "quick") == ["001"]


@pytest.mark.parametrize("name", ["KILL", "SEGV"])
def test_a_killed_program(tracegen: Tracegen, here: Path, demo: Path, hooked: Build, name: str) -> None:
    """Its run is not usable, and holds what the program had recorded, to the last record."""
    folder = written(demo, **LONG_RUN)
    checkout = Path(__file__).parents[2]
    wait = f'PYTHONPATH={checkout} {sys.executable} -m tests.live "$TENSOR_TRACE_DIR"'
    kill = f"({wait}; kill -{name} $$) &"
    status, output = tracegen("run", "case", program=wrapper(here, hooked, before=kill))
    assert status == 3 and f"{TARGET}: killed by SIG{name}" in output and "Its last lines:" in output
    assert runs(folder) == ["001"] and f"The program was killed by SIG{name}." in output
    loaded = load_run(folder / "runs" / "001")
    passes, ops = loaded.tables["passes"], loaded.tables["ops"]
    assert loaded.run.verdict == "not usable" and loaded.run.facts.trace.unsealed_chunks
    assert (passes["kind"] == "generate").sum() > 0
    assert passes["end_ns"].isna().sum() <= 1 and passes["end_ns"].iloc[:-1].notna().all()
    whole = ops[ops["pass_id"].isin(passes.loc[passes["end_ns"].notna(), "pass_id"])]
    assert whole["state"].notna().all()


def test_a_program_that_takes_too_long(tracegen: Tracegen, here: Path, demo: Path) -> None:
    folder = written(demo, **LONG_RUN)
    with (folder / "experiment.toml").open("a") as stream:
        stream.write("[limits]\ntimeout_s = 4\n")
    status, output = tracegen("run", "case")
    assert status == 3 and "stopped after its time limit; its run is stored" in output
    assert runs(folder) == ["001"]
    run = load_run(folder / "runs/001")
    assert run.measured.verdict == "not usable" and run.measured.facts.failure.limit_s == 4
    said = re.search(
        r"stopped after 4 s, its time limit \(`timeout_s`\): it had generated ([\d ]+) of 100 000 tok", output
    )
    assert said is not None
    assert int(said[1].replace(" ", "")) == run.passes["kind"].eq("generate").sum() > 0


def test_a_trace_that_reaches_its_limit(tracegen: Tracegen, here: Path, demo: Path) -> None:
    """What did not fit is counted, and the run says that it is not usable."""
    folder = written(demo, tokens=400)
    with (folder / "experiment.toml").open("a") as stream:
        stream.write(f"[limits]\nmax_trace_bytes = {2 << 20}\n")
    status, output = tracegen("run", "case")
    assert status == 1 and "failed: No event was dropped" in output
    assert runs(folder) == ["001"]
    checks = json.loads((folder / "runs" / "001" / "run.json").read_text())["checks"]
    (message,) = [check["detail"] for check in checks if check["key"] == "dropped_events"]
    assert message == "the limit of the trace or a disk quota was reached"


@needs_root
@pytest.mark.parametrize("size", ["1500k", "64k"])
def test_a_disk_that_becomes_full_while_tracing(tracegen: Tracegen, here: Path, demo: Path, size: str) -> None:
    with on_a_small_disk(demo, f"size={size}", tokens=50) as folder:
        status, message = tracegen("run", "case")
        assert status == 3 and "the disk became full while llama.cpp was traced" in message
        assert runs(folder) == [] and "Traceback" not in message and "what was captured is kept in" in message


@needs_root
@pytest.mark.parametrize("stage", ["compress", "write_tables", "write_run_file"])
def test_a_disk_that_becomes_full_while_storing(
    tracegen: Tracegen, here: Path, demo: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """No run is stored, nothing hidden stays beside it, and what was captured is kept until there is room again."""
    with on_a_small_disk(demo, "size=256m") as folder:
        with monkeypatch.context() as patch:
            patch.setattr(store, stage, filling(folder, getattr(store, stage)))
            status, message = tracegen("run", "case")
        assert (status, runs(folder)) == (3, []), message
        assert "No space left on device" in message and "Traceback" not in message
        assert "what was captured is kept in" in message
        (failed,) = (folder / "failed").iterdir()
        assert not read_trace(segment_files(failed / "raw" / "trace")).tables["passes"].empty
        (folder / "filler").unlink()
        status, message = tracegen("run", "case")
        assert status == 0, message
        assert runs(folder) == ["001"]


@needs_root
def test_a_read_only_disk(tracegen: Tracegen, here: Path, demo: Path) -> None:
    with on_a_small_disk(demo, "size=1m") as folder:
        make_read_only(folder)
        status, message = tracegen("run", "case")
        assert status == 3 and "cannot be written: Read-only file system" in message and "Traceback" not in message


def test_a_trace_directory_that_vanishes(tracegen: Tracegen, here: Path, demo: Path, hooked: Build) -> None:
    folder = written(demo)
    remove = 'rm -r "$TENSOR_TRACE_DIR"'
    status, message = tracegen("run", "case", program=wrapper(here, hooked, after=remove))
    assert (status, runs(folder)) == (3, [])
    assert "trace" in message and "No such file or directory" in message and "Traceback" not in message


def test_a_tracer_that_could_not_begin(tmp_path: Path) -> None:
    """Hooked, and without a place to write: the tracer's own words, not "no hooks"."""
    (tmp_path / "trace").mkdir()
    output = "tensor_trace: nothing is recorded: /full/disk: No space left on device"
    command = ("sh", "-c", f"echo some log; echo {shlex.quote(output)} >&2; echo more >&2")
    with pytest.raises(EnvironmentFailure, match="sh: nothing is recorded: /full/disk: No space left on device; fix"):
        nothing = Control(
            lambda _: nullcontext(Pressure()), lambda *_: Completed(0, 0.0), (), tmp_path, recording.Stages(Progress())
        )
        measuring._capture(
            Experiment("case", "", "demo", "Hello", 1), command, tmp_path, (), lambda: nullcontext(Pressure()), nothing
        )


# Ctrl-C


def test_ctrl_c_while_llama_cpp_runs(here: Path, demo: Path, hooked: Build) -> None:
    folder = written(demo, **LONG_RUN)
    command = [sys.executable, "-m", "tracegen", "run", "case", "--llama-cpp", str(hooked.programs)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        wait_for(child, lambda: list(folder.glob("runs/.*.part/raw/trace/*.t000.tt")))
        try:
            child.send_signal(signal.SIGINT)
            _, output = child.communicate(timeout=60)
        finally:
            child.kill()  # else a child that did not hear it holds the test up for good
    assert child.returncode == 130
    assert "tracegen: interrupted" in output and "Traceback" not in output
    assert runs(folder) == []
    (failed,) = (folder / "failed").iterdir()
    assert (failed / "raw" / "stderr.txt").stat().st_size


@pytest.mark.parametrize(("module", "stage"), [(measuring, "traced_program"), (recording, "facts_of")])
def test_ctrl_c_at_other_stages(
    tracegen: Tracegen, here: Path, demo: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, stage: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder = written(demo)
    monkeypatch.setattr(module, stage, interrupted)
    status, output = tracegen("run", "case")
    assert status == 130
    assert "interrupted" in output
    assert runs(folder) == [] and (folder / "failed").exists() == (stage != "traced_program")


# Runs that exist


def test_a_whole_run_verifies_and_reads_anew_and_changed_evidence_is_found(
    tracegen: Tracegen, here: Path, demo: Path
) -> None:
    status, output = tracegen(*quick(demo))
    assert status == 0, output
    stored = here / "experiments" / "quick" / "runs" / "001"
    tables = {path.name: path.read_bytes() for path in (stored / "tables").iterdir()}
    assert tracegen("show", "quick", "--verify")[0] == 0
    shutil.rmtree(stored / "tables")
    status, output = tracegen("show", "quick")
    assert (status, "`tracegen read` makes the tables again" in output) == (2, True)
    assert tracegen("read", "quick")[0] == 0
    assert {path.name: path.read_bytes() for path in (stored / "tables").iterdir()} == tables
    assert tracegen("show", "quick", "--verify")[0] == 0
    segment = next((stored / "raw" / "trace").glob("*.main.tt.zst"))
    changed = bytearray(segment.read_bytes())
    changed[len(changed) // 2] ^= 1
    segment.write_bytes(changed)
    for fault in ("has changed", "is missing"):
        for verb in (("show", "quick", "--verify"), ("read", "quick")):
            status, output = tracegen(*verb)
            assert status == 2 and segment.name in output and fault in output
        segment.unlink(missing_ok=True)


# Text that would steer a terminal


def steers(text: str) -> bool:
    return any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in text)


def test_control_characters_in_prompt_and_model_are_shown_as_escapes(
    tracegen: Tracegen, here: Path, demo: Path
) -> None:
    name, hostile = b"tracegen demo (", b"\x1b[2J\x1b]0;xx\x07 \x7f ("
    assert len(name) == len(hostile)
    model = here / f"evil{ESCAPES}.gguf"
    model.write_bytes(demo.read_bytes().replace(name, hostile))
    status, output = tracegen(*quick(model.name, f"The {ESCAPES} page"))
    assert (status, steers(output)) == (0, False)
    for options in ([], ["--stats"], ["--verify"], ["--ops"], ["--buffers"], ["--json"], ["--stats", "--json"]):
        status, output = tracegen("show", "quick", *options)
        assert (status, steers(output)) == (0, False), options
    for options in ([], ["--csv"], ["--json"]):
        status, output = tracegen("tensors", model.name, *options)
        assert (status, steers(output)) == (0, False), options


@pytest.fixture(autouse=True)
def _tidy(tmp_path: Path) -> object:
    """Traces are large: what a test leaves is removed at once."""
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)
