"""What a program allocates, with hooks and attached; and a program that keeps a block of each token."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.test_attach import COMPILER
from tracegen.analysis import allocations
from tracegen.cli.main import main
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings import growth

pytestmark = pytest.mark.llama

MIB = 1 << 20
N_TOKENS = 64
KEEPS = """
#include <llama.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void * kept[100];
__attribute__((noinline)) void keep_answer(int n) { kept[n] = malloc(1 << 20); memset(kept[n], n + 1, 1 << 20); }
int main(int argc, char ** argv) {
    struct llama_model * model = llama_model_load_from_file(argv[argc - 1], llama_model_default_params());
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = 256;
    struct llama_context * context = llama_init_from_model(model, params);
    for (llama_token token = 5; token < 5 + N; token++) {
        keep_answer(token);
        if (llama_decode(context, llama_batch_get_one(&token, 1)) != 0) { return 1; }
        llama_get_logits(context);
        usleep(100000); /* samples of memory take a 200th of the time */
    }
    llama_free(context);
    llama_model_free(model);
}
"""


def run_of(capfd: pytest.CaptureFixture[str], *words: object) -> LoadedRun:
    status = main(["exec", "case", "--allocations", *map(str, words)])
    output = capfd.readouterr()
    assert status == 0, output.out + output.err
    return load_run(sorted(Path("experiments/case/runs").iterdir())[-1])


@pytest.mark.parametrize("attached", [True, False])
def test_buffers_and_functions_of_llama_cpp_are_found(
    attached: bool, here: Path, plain: Build, hooked: Build, demo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = (plain if attached else hooked).programs / TARGET
    told = ("-m", demo, "-p", "The page", "-n", 4, "-c", 256, "-no-cnv", "--fit", "off", "-t", 2)
    run = run_of(capfd, *(("--attach",) if attached else ()), "--", program, *told)
    assert {check.key for check in run.measured.checks if check.state == "failed"} <= {"tracing_cost"}
    calls = allocations.by_calls(run.tables)
    names = [allocations.asked(text).function for text in calls["calls"]]
    assert "ggml_backend_sched_new" in names
    buffers = run.buffers[run.buffers["event"].eq("alloc") & run.buffers["usage"].eq("compute")]
    largest = int(buffers["size_bytes"].max())
    assert any(largest <= size < largest + 8192 for size in calls["live_bytes"]), "the buffer of results in between"
    sizes = allocations.by_size(run.tables)
    assert sizes["live_bytes"].sum() >= calls["live_bytes"].sum() and run.measured.facts.trace.allocations_lost == 0


def test_a_program_that_keeps_a_block_of_each_token_is_told_which_function_does(
    here: Path, plain: Build, demo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, program = here / "keeps.c", here / "keeps"
    source.write_text(KEEPS)
    includes = [f"-I{plain.source / name}" for name in ("include", "ggml/include")]
    linked = [f"-L{plain.programs}", "-lllama", f"-Wl,-rpath,{plain.programs}", "-rdynamic"]
    subprocess.run([COMPILER, f"-DN={N_TOKENS}", *includes, str(source), "-o", str(program), *linked], check=True)
    run = run_of(capfd, "--attach", "--", program, demo)
    (found,) = growth.findings(Context(run.measured, run.tables))
    assert "Memory outside of ggml’s buffers grows by" in found.text
    assert "Most of what is new was asked for by `keep_answer`, called by `main`: " in found.text
    kept = allocations.by_calls(run.tables).iloc[0]
    assert allocations.asked(kept["calls"]).function == "keep_answer"
    assert kept["grown_bytes"] == pytest.approx((kept["n_live"] - 1) * MIB, abs=2 * MIB)
