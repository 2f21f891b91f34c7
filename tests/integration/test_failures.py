"""Programs that fail: memory that cannot be had, a model that is cut or replaced meanwhile, a read that fails."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.test_exec import COMMON, LONG, PROMPT, Exec, completion, execute
from tests.live import a_pass_ended
from tracegen.analysis import kv_cache
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings.answer import quick
from tracegen.report.pages.render import render_report

pytestmark = pytest.mark.llama
__all__ = ["execute"]

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "cc")
# A read of the model fails, as on a disk that has a bad block.
BAD_BLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

size_t fread(void * to, size_t size, size_t n, FILE * file) {
    static int large;
    size_t (*next)(void *, size_t, size_t, FILE *) = dlsym(RTLD_NEXT, "fread");
    if (size * n > 1024 && ++large == 3) {
        errno = EIO;
        return 0;
    }
    return next(to, size, n, file);
}
"""


def answer(loaded: LoadedRun) -> str:
    said = quick(Context(loaded.run, loaded.tables))
    assert said is not None
    return said.text


def states(loaded: LoadedRun) -> dict[str, str]:
    return {check.key: check.state for check in loaded.run.checks}


def meanwhile(here: Path, change: Callable[[], object]) -> threading.Thread:
    """A thread that changes something once a pass of the run has ended."""

    def wait() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if any(a_pass_ended(trace, "generate") for trace in here.glob("experiments/case/runs/.*/raw/trace")):
                change()
                return
            time.sleep(0.005)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def too_long(execute: Exec, demo: Path) -> tuple[int, int]:
    """A context whose cache takes twice the memory of the machine, worked out from a run that fits; and its bytes."""
    fits = execute(TARGET, *completion(demo, 2))
    each = kv_cache.token_bytes(kv_cache.layers(fits.tables))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    n_ctx = 2 * memory // each // 256 * 256
    return n_ctx, n_ctx * each


def test_a_cache_that_does_not_fit_is_a_run_that_says_what_fits(execute: Exec, demo: Path) -> None:
    n_ctx, size = too_long(execute, demo)
    loaded = execute(TARGET, "-m", demo, "-p", PROMPT, "-n", 2, *COMMON, "-no-cnv", "-c", n_ctx, status=3)
    failure = loaded.run.facts.failure
    assert failure is not None and (failure.place, failure.what) == ("CPU", "KV cache")
    assert failure.wanted_bytes == size
    assert loaded.run.verdict == "complete with warnings" and loaded.passes["kind"].tolist() == ["load"]
    assert "for the KV cache could not be allocated; the machine has" in answer(loaded)
    render_report(loaded.run, loaded.tables, citable=None)


def test_an_experiment_whose_program_fails_is_a_run_that_is_not_usable(
    execute: Exec, here: Path, demo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    n_ctx, size = too_long(execute, demo)
    told = ["--model", str(demo), "--prompt", PROMPT, "-n", "2", "--context", str(n_ctx), "--name", "long"]
    assert main(["run", *told]) == SettingsError.exit_code
    said = capfd.readouterr()
    assert "for the KV cache could not be allocated; the machine has" in said.out
    assert "exit status 1; its run is stored. Its last lines:" in said.err
    loaded = load_run(here / "experiments/long/runs/001")
    assert loaded.run.facts.failure is not None and loaded.run.facts.failure.wanted_bytes == size
    failed = {key for key, state in states(loaded).items() if state == "failed"}
    assert loaded.run.verdict == "not usable" and failed == {"trace_complete"}
    render_report(loaded.run, loaded.tables, citable=None)


def test_a_model_that_is_cut_while_it_is_mapped(execute: Exec, here: Path, demo: Path) -> None:
    model = here / "model.gguf"
    shutil.copy(demo, model)
    begin = loaded_places(execute, model)
    thread = meanwhile(here, lambda: os.truncate(model, begin))
    loaded = execute(TARGET, *completion(model, LONG, context=2048), status=3)
    thread.join()
    assert loaded.run.facts.failure is not None and loaded.run.facts.failure.signal == "SIGBUS"
    assert states(loaded)["model_unchanged"] == "failed" and loaded.run.facts.model.sha256 is None
    assert answer(loaded).startswith("The program was killed by SIGBUS.")
    assert len(loaded.tables["tensors"]) > 0  # what its header still says
    render_report(loaded.run, loaded.tables, citable=None)


def loaded_places(execute: Exec, model: Path) -> int:
    """Where the weights of this file begin, in whole pages."""
    tensors = execute(TARGET, *completion(model, 2)).tables["tensors"]
    return int(tensors["offset"].min()) // 4096 * 4096 + 4096


def test_a_model_that_is_replaced_by_one_of_the_same_shape(execute: Exec, here: Path, demo: Path) -> None:
    """Nothing else would show that the hash is that of another file."""
    model, other = here / "model.gguf", here / "other.gguf"
    shutil.copy(demo, model)
    shutil.copy(demo, other)
    thread = meanwhile(here, lambda: other.rename(model))
    loaded = execute(TARGET, *completion(model, LONG, context=2048), status=1)
    thread.join()
    failed = {check.key for check in loaded.run.checks if check.state == "failed"} - {"tracing_cost"}
    assert failed == {"model_unchanged"} and loaded.run.facts.model.sha256 is None


def test_a_model_that_stays_has_its_hash(execute: Exec, demo: Path) -> None:
    loaded = execute(TARGET, *completion(demo, 2))
    assert states(loaded)["model_unchanged"] == "passed" and loaded.run.facts.model.sha256 is not None


def test_a_read_that_fails_is_a_run(
    execute: Exec, hooked: Build, here: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, library = here / "bad.c", here / "bad.so"
    source.write_text(BAD_BLOCK)
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    loaded = execute(TARGET, *completion(demo, 2), "-lm", "none", status=3)
    reads = loaded.tables["reads"]
    assert (reads["got_bytes"] < reads["size_bytes"]).sum() == 1 and states(loaded)["reads"] == "warning"
    failure = loaded.run.facts.failure
    assert failure is not None and any("Input/output error" in line or "end of file" in line for line in failure.words)
    assert "ended with an error" in answer(loaded)
