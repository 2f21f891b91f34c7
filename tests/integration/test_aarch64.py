"""The tracer on aarch64, emulated: its own tests, and a run of the tiny mixture that records what it records here.

`make aarch64` installs what this takes.
"""

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.aarch64 import PACKAGES, PREFIX, build, find
from tracegen.contract.check_keys import Key
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

EMULATED = find()
pytestmark = [
    pytest.mark.llama,
    pytest.mark.native,
    pytest.mark.nightly,
    pytest.mark.skipif(EMULATED is None, reason=f"`make aarch64` installs {', '.join(PACKAGES)}"),
]
ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models/tiny-mixture/tiny-mixture.gguf"
TESTS = ("parts", "trace", "threads", "page_faults", "storage", "pages", "footprint", "splits")
NOT_LARGE = ("trace", "footprint")  # these ask the kernel for pages, and it answers for its own of 4 KiB
TOLD = ("-m", str(MODEL), "-p", "In the beginning", "-n", "4", "-t", "2", "-c", "64", "--temp", "0", "-no-cnv")


@pytest.mark.parametrize(
    ("name", "page"),
    [(name, 4096) for name in TESTS]
    + [(name, page) for page in (16384, 65536) for name in TESTS if name not in NOT_LARGE],
)
def test_the_tracers_own_tests_pass(name: str, page: int, tmp_path: Path) -> None:
    program = tmp_path / "plain" / f"test_{name}"
    make = ["make", "-s", "-C", str(ROOT / "native"), f"BUILD={tmp_path}", f"CC={PREFIX}-gcc", str(program)]
    subprocess.run(make, check=True, capture_output=True)
    assert EMULATED is not None
    ran = subprocess.run([*EMULATED, "-p", str(page), str(program)], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _run(command: tuple[str, ...], folder: Path) -> LoadedRun:
    run = observe(Observation("run", command, "What does it touch?", faults=True), folder, Progress())
    assert run.folder is not None
    return load_run(run.folder)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    return _emulated(tmp_path_factory.mktemp("emulated"), 4096)


@pytest.fixture(scope="module")
def large_pages(tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    return _emulated(tmp_path_factory.mktemp("large_pages"), 65536)


def _emulated(folder: Path, page: int) -> LoadedRun:
    assert EMULATED is not None
    program = build(Progress()).programs / TARGET
    return _run((*EMULATED, "-p", str(page), str(program), *TOLD), folder)


@pytest.fixture(scope="module")
def native(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    return _run((str(hooked.programs / TARGET), *TOLD), tmp_path_factory.mktemp("native"))


def test_every_node_is_accounted_for_and_no_check_fails(emulated: LoadedRun) -> None:
    states = {check.key: check.state for check in emulated.measured.checks}
    assert "failed" not in states.values()
    assert states[Key.NODES_ACCOUNTED] == states[Key.OFFSETS_IN_TENSORS] == "passed"


def test_the_clock_runs_as_that_of_the_machine(emulated: LoadedRun) -> None:
    """Without the time stamp counter of x86-64, times are those of the kernel."""
    passes = emulated.passes[emulated.passes["kind"].ne("load").to_numpy(bool)]
    assert emulated.run.facts.trace.clock == "monotonic"
    assert (np.diff(passes["begin_ns"].to_numpy()) > 0).all()


def test_page_faults_are_not_recorded_and_that_is_said(emulated: LoadedRun) -> None:
    assert emulated.run.facts.trace.faults_recorded is False
    assert emulated.tables["faults"].empty


def test_a_machine_with_pages_of_64_kib_records_the_same(large_pages: LoadedRun, emulated: LoadedRun) -> None:
    """Chunks of a trace begin inside of such pages, and so may tensors."""
    assert large_pages.run.facts.host.page_bytes == 65536
    states = {check.key: check.state for check in large_pages.measured.checks}
    assert "failed" not in states.values()
    assert states[Key.NODES_ACCOUNTED] == states[Key.OFFSETS_IN_TENSORS] == "passed"
    for name, columns in {
        "passes": ["kind", "n_tokens", "position_begin", "graph"],
        "tokens": ["pass_id", "token_id", "position"],
        "ops": ["pass_id", "node", "state"],
        "placements": ["tensor", "memory", "size_bytes"],
    }.items():
        pd.testing.assert_frame_equal(*(run.tables[name][columns] for run in (large_pages, emulated)))


def test_passes_prompt_tensors_and_operations_are_those_of_this_machine(emulated: LoadedRun, native: LoadedRun) -> None:
    """Experts and what they touch are left out of it: sums of products in another order may choose another one."""
    for name, columns in {
        "passes": ["kind", "n_tokens", "n_outputs", "position_begin"],
        "tensors": ["name", "dtype", "offset", "size_bytes"],
    }.items():
        pd.testing.assert_frame_equal(*(run.tables[name][columns] for run in (emulated, native)))
    prompts = [run.tables["tokens"].query("pass_id < 3")["token_id"].tolist() for run in (emulated, native)]
    assert prompts[0] == prompts[1]
    counts = [run.ops.groupby("pass_id").size().tolist() for run in (emulated, native)]
    assert counts[0] == counts[1]
