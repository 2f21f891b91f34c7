"""Any program of a hooked build: windows, the signal that ends a trace, several contexts, sequences and models."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests import random_models
from tests.live import a_pass_ended, wait_for
from tests.random_files import write_random_model
from tests.report.rendered import Undrawn
from tracegen.analysis import speculation
from tracegen.analysis.operations import op_rows
from tracegen.analysis.summary import embeddings
from tracegen.cli.main import main
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.demo.models import write_demo_model
from tracegen.publishing import privacy
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import read_trace
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.document.page import outline
from tracegen.report.pages.render import render_report

pytestmark = pytest.mark.llama

PROMPT = "The page of the memory is read from the disk"
COMMON = ("--seed", "1", "-t", "2", "--fit", "off")
SPECULATE = ("--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--spec-draft-n-min", "1", "--temp", "0")
LONG = 1500  # tokens: some seconds of an idle machine, in which the trace is ended

Exec = Callable[..., LoadedRun]


@pytest.fixture
def execute(here: Path, hooked: Build, capfd: pytest.CaptureFixture[str]) -> Exec:
    """`tracegen exec case OPTIONS -- PROGRAM ARGUMENTS`; the run it stored."""

    def call(program: str, *arguments: object, options: tuple[object, ...] = (), status: int = 0) -> LoadedRun:
        words = ["exec", "case", *map(str, options), "--llama-cpp", str(hooked.programs), "--", program]
        code = main([*words, *map(str, arguments)])
        output = capfd.readouterr()
        assert code == status, output.out + output.err
        return load_run(sorted((here / "experiments" / "case" / "runs").iterdir())[-1])

    return call


def completion(model: Path, tokens: int, context: int = 256) -> tuple[object, ...]:
    return "-m", model, "-p", PROMPT, "-n", tokens, *COMMON, "-c", context, "-no-cnv", "--ignore-eos"


def accounted(loaded: LoadedRun) -> bool:
    """Every node of every pass that was recorded is accounted for; only tracing such short passes may cost much."""
    failed = {check.key for check in loaded.run.checks if check.state == "failed"}
    return failed <= {"tracing_cost"} and bool(loaded.ops["state"].notna().all()) and len(loaded.ops) > 0


def kinds(loaded: LoadedRun) -> list[str]:
    return [str(kind) for kind in loaded.passes["kind"].fillna("none")]


def test_a_whole_program_beside_locked_memory(execute: Exec, demo: Path) -> None:
    loaded = execute(TARGET, *completion(demo, 4), options=("--mlock-gb", 0.05))
    assert accounted(loaded) and kinds(loaded) == ["load", "warmup", "prompt", "generate", "generate", "generate"]
    facts = loaded.run.facts
    text, pieces = facts.text, facts.text.pieces
    assert facts.trace.skipped_passes == 0
    assert text.restored and text.prompt.endswith(PROMPT)  # before it stands the mark of the start
    assert text.generated == "".join(pieces[str(token)] for token in text.token_ids) and text.missing is None
    assert facts.model.file == str(demo) and facts.command[1:3] == ("-m", str(demo))
    lock = facts.conditions.mlock
    assert lock.locked_bytes == lock.asked_bytes >= 0.05 * 2**30 and facts.settings.get("mlock_gb") == 0.05


def test_a_window_of_passes_is_what_the_whole_run_has_there(execute: Exec, demo: Path) -> None:
    whole = execute(TARGET, *completion(demo, 8))
    window = execute(TARGET, *completion(demo, 8), options=("--passes", "3-5"))
    assert accounted(window) and kinds(window) == ["load", *["generate"] * 3]
    assert window.run.facts.trace.skipped_passes == 9 - 3
    # evaluation 3 is the third pass after the load: the warm-up was 0, the prompt 1
    there = whole.passes[whole.passes["pass_id"].isin([4, 5, 6])]
    assert list(window.passes["position_begin"].dropna()) == list(there["position_begin"])
    columns = ["node", "op", "name", "slot", "source_name", "memory", "size_bytes", "touched_bytes"]
    mine = window.accesses[window.accesses["pass_id"] == 1][columns].reset_index(drop=True)
    theirs = whole.accesses[whole.accesses["pass_id"] == 4][columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, theirs, check_categorical=False)


def test_the_ubatches_of_a_call_stay_together(execute: Exec, demo: Path) -> None:
    loaded = execute(TARGET, *completion(demo, 3), "-ub", 4, options=("--passes", 2))
    rows = loaded.passes[loaded.passes["kind"] == "prompt"]
    assert accounted(loaded) and len(rows) > 1 and rows["ubatch"].tolist() == list(range(len(rows)))
    assert rows["n_tokens"].sum() > 8 and "generate" not in kinds(loaded)


def test_a_window_that_nothing_falls_into(execute: Exec, demo: Path) -> None:
    """A run of which no pass was recorded is stored, and says so."""
    loaded = execute(TARGET, *completion(demo, 3), options=("--after", 1000, "--for", 5), status=1)
    assert kinds(loaded) == ["load"] and loaded.run.verdict == "not usable"
    assert loaded.run.facts.trace.skipped_passes == 4


def test_a_model_that_is_not_there(here: Path, hooked: Build, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["exec", "case", "--llama-cpp", str(hooked.programs), "--", TARGET, "-m", "nowhere.gguf", "-p", "x"]
    assert main(words) == 2
    assert "llama-completion: exit status 1; its last lines" in capfd.readouterr().err


def test_an_experiment_that_is_private(execute: Exec, here: Path, demo: Path) -> None:
    (here / "experiments" / "case").mkdir(parents=True)
    (here / "experiments" / "case" / "experiment.toml").write_text("private = true\n")
    assert execute(TARGET, *completion(demo, 2)).run.facts.private


def test_several_sequences_are_never_prompt_or_generate(execute: Exec, demo: Path) -> None:
    loaded = execute("llama-parallel", "-m", demo, "-np", 3, "-ns", 3, "-n", 6, *COMMON, "-c", 8192)
    several = loaded.passes["n_sequences"].fillna(0) > 1
    assert accounted(loaded) and several.any() and set(loaded.passes.loc[several, "kind"]) == {"mixed"}
    assert loaded.tokens["sequence"].nunique() >= 3


def test_speculative_decoding_keeps_two_contexts_and_two_models_apart(execute: Exec, models: Path, demo: Path) -> None:
    """In the tables and on the pages, which of a private run do not hold its prompt."""
    (draft,) = write_demo_model("demo", models / "draft.gguf", n_layers=2)
    loaded = execute(
        "llama-speculative-simple",
        "-m",
        demo,
        "-md",
        draft,
        "-p",
        PROMPT,
        "-n",
        12,
        *COMMON,
        "-c",
        256,
        *SPECULATE,
        options=("--private",),
    )
    assert accounted(loaded)
    assert loaded.files["path"].tolist() == [demo.name, draft.name] and loaded.files["model"].tolist() == [0, 1]
    assert_drafts_as_printed(loaded)
    model_of = loaded.contexts.set_index("context")["model"]
    drafting = loaded.passes[loaded.passes["kind"] == "draft"]
    checking = loaded.passes[loaded.passes["kind"] == "verify"]
    assert len(drafting) and len(checking)
    assert set(drafting["context"].map(model_of)) == {1} and set(checking["context"].map(model_of)) == {0}
    # every weight that an op of a context used is of the model of that context
    rows = loaded.accesses.dropna(subset=["file"]).merge(loaded.passes[["pass_id", "context"]], on="pass_id")
    file_model = loaded.files.set_index("file")["model"]
    assert (rows["file"].map(file_model).astype(int) == rows["context"].map(model_of).astype(int)).all()
    assert rows["file"].nunique() == 2
    run = privacy.public_run(loaded.run)
    tables = privacy.public_tables(loaded.run, loaded.tables)
    report = render_report(run, tables, citable=None, executor=Undrawn())
    assert [page.key for page in report.pages] == [key for key, *_ in outline(run)]
    assert all(PROMPT not in page.body for page in report.pages)
    assert all(PROMPT.encode() not in content for content in report.files.values())
    method = next(page.body for page in report.pages if page.key == "method")
    assert "llama-speculative-simple" in method and "(private)" in method


def assert_drafts_as_printed(loaded: LoadedRun) -> None:
    """Drafted and accepted tokens are those that the program counts; of the last batch no trace says what it gained."""
    rounds = speculation.rounds(loaded.tables)
    printed = (loaded.run.folder / "raw" / "stderr.txt").read_text()
    drafted, accepted = (int(re.search(rf"{name} += (\d+)", printed)[1]) for name in ("n_drafted", "n_accept"))
    assert rounds["n_drafted"].sum() == drafted and rounds["n_gained"].isna().tolist()[:-1] == [False] * (
        len(rounds) - 1
    )
    assert 0 <= accepted - (rounds["n_gained"] - 1).sum() <= rounds["n_drafted"].iloc[-1]


def test_a_drafter_that_takes_layers_of_the_target(execute: Exec, here: Path) -> None:
    """EAGLE-3: its encoder takes what layers of the target computed, its decoder drafts."""
    target = write_random_model(random_models.EAGLE3_TARGET, here / "target.gguf", "Q8_0", {})
    draft = write_random_model(random_models.EAGLE3, here / "eagle3.gguf", "Q8_0", {})
    told = ("--spec-type", "draft-eagle3", "--temp", 0)
    loaded = execute(
        "llama-speculative-simple", "-m", target, "-md", draft, "-p", PROMPT, "-n", 12, *COMMON, "-c", 256, *told
    )
    assert accounted(loaded) and {"draft", "encode", "verify"} < set(kinds(loaded))
    assert_drafts_as_printed(loaded)
    rows = loaded.accesses.dropna(subset=["file"]).merge(loaded.passes[["pass_id", "context", "kind"]], on="pass_id")
    model_of, file_model = loaded.contexts.set_index("context")["model"], loaded.files.set_index("file")["model"]
    assert (rows["file"].map(file_model).astype(int) == rows["context"].map(model_of).astype(int)).all()
    assert set(loaded.tensors.set_index("tensor")["name"][rows.loc[rows["kind"].eq("encode"), "tensor"]]) == {
        "fc.weight"
    }


def test_one_model_loaded_twice_is_one_model(execute: Exec, demo: Path) -> None:
    loaded = execute(
        "llama-speculative-simple", "-m", demo, "-md", demo, "-p", PROMPT, "-n", 6, *COMMON, "-c", 256, *SPECULATE
    )
    assert accounted(loaded) and len(loaded.files) == 1 and set(loaded.contexts["model"].dropna()) == {0}
    assert (loaded.passes["kind"] == "load").sum() == 2
    assert_drafts_as_printed(loaded)
    assert speculation.accepted_share(speculation.rounds(loaded.tables)) == 1


def test_embeddings_are_neither_prompt_nor_generate(execute: Exec, demo: Path) -> None:
    loaded = execute("llama-embedding", "-m", demo, "-p", PROMPT, *COMMON, "-c", 256, "--pooling", "mean")
    assert accounted(loaded) and not {"prompt", "generate"} & set(kinds(loaded))
    found = embeddings(loaded.tables, op_rows(loaded.tables))
    assert found and found.weight_bytes and found.touched_bytes and found.weight_bytes < found.touched_bytes


def test_rows_that_nobody_reads_are_not_generated_tokens(execute: Exec, demo: Path) -> None:
    loaded = execute("llama-bench", "-m", demo, "-p", 16, "-n", 8, "-r", 1, "-t", 2)
    assert accounted(loaded) and "generate" not in kinds(loaded)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_still_stores_the_run(here: Path, hooked: Build, demo: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tracegen", "exec", "case", "--llama-cpp", str(hooked.programs), "--", TARGET]
    arguments = [*map(str, completion(demo, 100_000, 16_384))]
    with subprocess.Popen(
        [*command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        wait_for(child, lambda: any(map(a_pass_ended, here.glob("experiments/case/runs/.*.part/raw/trace"))))
        try:
            child.send_signal(number)
            output, _ = child.communicate(timeout=120)
        finally:
            child.kill()
    loaded = load_run(here / "experiments" / "case" / "runs" / "001")
    assert child.returncode == int(loaded.run.verdict == "not usable"), output
    (check,) = [check for check in loaded.run.checks if check.key == "trace_complete"]
    assert check.state == "passed" and loaded.run.facts.stopped is True, check
    assert accounted(loaded), [check for check in loaded.run.checks if check.state == "failed"]
    assert loaded.passes["end_ns"].notna().all()


def test_a_signal_ends_the_trace_and_not_the_program(tmp_path: Path, hooked: Build, demo: Path) -> None:
    """By hand, without tracegen: the trace is whole while the program goes on, and its text is what it always is."""
    trace = tmp_path / "trace"
    trace.mkdir()
    environment = {**os.environ, "TENSOR_TRACE_DIR": str(trace), "TENSOR_TRACE_SIGNAL": "USR1"}
    command = [str(hooked.programs / TARGET), *map(str, completion(demo, LONG, 4096)), "-t", "1"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        wait_for(child, lambda: list(trace.glob("*.t000.tt")))
        child.send_signal(signal.SIGUSR1)
        text, _ = child.communicate(timeout=300)
    assert child.returncode == 0
    read = read_trace(segment_files(trace))
    assert read.facts["ended"] and read.facts["unsealed_chunks"] == 0 and read.facts["dropped"] == 0
    assert 0 < len(read.tables["passes"]) < LONG
    plain = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    assert plain.stdout == text


def test_a_program_that_fails_after_it_was_recorded_is_no_success(
    here: Path, hooked: Build, demo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = here / "fails.sh"
    script.write_text('#!/bin/sh\n"$@"\nexit 7\n')
    script.chmod(0o755)
    command = [str(script), str(hooked.programs / TARGET), *map(str, completion(demo, 2))]
    assert main(["exec", "case", "--", *command]) == 3
    output, loaded = capfd.readouterr(), load_run(here / "experiments" / "case" / "runs" / "001")
    assert accounted(loaded) and loaded.run.facts.exit_status == 7
    assert "exit status 7; its run is stored" in output.err and "stored in" in output.out


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (["--passes", "7-3"], "--passes: is '7-3'; must be a number of passes, or FIRST-LAST"),
        (["--after", "-1"], "--after: is -1.0; must be seconds"),
        (["--limit", "10"], "--limit: is 10; must be bytes, 1048576"),
        (["--for", "0"], "--for: is 0, so nothing"),
        (["--mlock-gb", "nan"], "--mlock-gb: is nan; must be a number of GiB from 0.001"),
    ],
)
def test_senseless_windows(here: Path, capfd: pytest.CaptureFixture[str], options: list[str], output: str) -> None:
    assert main(["exec", "case", *options, "--", "llama-bench"]) == 2
    assert output in capfd.readouterr().err and not (here / "experiments").exists()


def test_programs_that_cannot_be_traced(here: Path, plain: Build, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "case", "--", "no-such-program"]) == 2
    assert "no-such-program: there is no such program" in capfd.readouterr().err
    (here / "notes.txt").write_text("no program")
    assert main(["exec", "case", "--", "./notes.txt"]) == 2
    assert "notes.txt: cannot be run" in capfd.readouterr().err
    assert main(["exec", "case", "--", str(plain.programs / TARGET)]) == 2
    assert "was not built with the hooks" in capfd.readouterr().err
    assert main(["exec", "case", "--", "/bin/true"]) == 3
    assert "ran but recorded nothing" in capfd.readouterr().err
    assert main(["exec", "case"]) == 2
    assert "name the program after --" in capfd.readouterr().err
