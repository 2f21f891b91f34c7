"""A tree with the pinned ggml and nothing of llama.cpp: hooked, built, one small graph traced, and given back."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.llama_matrix import hashes_of, objects_of
from tests.report.rendered import Undrawn
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.measure.capture.hooked_tree import carry_out, hook_tree, plan_hooks, plan_reverse
from tracegen.measure.capture.llama_cpp import Build, compile_targets, configure
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.pages.render import render_report
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder

pytestmark = pytest.mark.llama

PROGRAM = Path(__file__).with_name("plain_ggml")
NATIVE = folder("native")
HOOKED = {
    "ggml/CMakeLists.txt",
    "ggml/src/ggml-backend.cpp",
    "ggml/src/ggml-cpu/ggml-cpu.c",
    "ggml/src/ggml-cpu/ggml-cpu.cpp",
}
CHOSEN = ((2, 3, 9), (2, 3, 10))
FOLLOWS_THE_MACHINE = {"observer", "tracing_cost", "interference", "not_stopped"}  # of passes of some microseconds


@dataclass(frozen=True)
class Made:
    """The tree before it was hooked, what hooking changed of it, and the build."""

    before: dict[str, str]
    changed: set[str]
    build: Build


@pytest.fixture(scope="module")
def hooked_ggml(plain: Build, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Laid out like tracegen's own builds, so that the compiler's cache knows what it has compiled."""
    at = tmp_path_factory.mktemp("plain")
    build = Build(at, at / "source", "given", traced=True)
    shutil.copytree(PROGRAM, build.source)
    shutil.copytree(plain.source / "ggml", build.source / "ggml")
    before = hashes_of(build.source)
    plan = hook_tree(build.source, NATIVE)
    assert plan.plain
    configure(build, Progress())
    return Made(before, {change.file for change in plan.net() if not change.own}, build)


@pytest.fixture(scope="module")
def compiled(hooked_ggml: Made) -> Made:
    compile_targets(hooked_ggml.build, ["small"], Progress())
    return hooked_ggml


@pytest.fixture(scope="module")
def loaded(compiled: Made, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    """What `tracegen exec` stored of the program."""
    project = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        ended = main(["exec", "case", "--llama-cpp", str(compiled.build.programs), "--", "small"])
    loaded_run = load_run(project / "experiments" / "case" / "runs" / "001")
    failed = {check.key for check in loaded_run.run.checks if check.state == "failed"}
    assert ended == int(bool(failed)) and failed <= {"tracing_cost"}, "its passes take microseconds"
    return loaded_run


def test_the_hooks_of_ggml_go_in_and_its_files_compile_without_a_warning(hooked_ggml: Made) -> None:
    assert hooked_ggml.changed == HOOKED
    compile_targets(hooked_ggml.build, objects_of(hooked_ggml.build, hooked_ggml.changed), Progress())
    log = (hooked_ggml.build.folder / "build.log").read_text(encoding="utf-8", errors="replace")
    assert not [line for line in log.splitlines() if "warning:" in line and "tensor" in line]


def test_a_small_graph_gives_what_it_gives_without_a_tracer(compiled: Made, tmp_path: Path) -> None:
    """By hand, as README says; the numbers are those that numpy finds."""
    (tmp_path / "trace").mkdir()
    table = 0.5 * np.arange(128).reshape(16, 8)
    matrix = 0.25 * np.arange(32).reshape(4, 8)
    expected = [(table[list(rows)] @ matrix.T).ravel() + np.arange(12) for rows in CHOSEN]
    for traced in ({}, {"TENSOR_TRACE_DIR": str(tmp_path / "trace")}):
        program = [compiled.build.programs / "small"]
        ended = subprocess.run(program, env={**os.environ, **traced}, capture_output=True, check=True, text=True)
        assert np.allclose([float(value) for value in ended.stdout.split()], np.concatenate(expected), rtol=1e-4)
    assert len(list((tmp_path / "trace").glob("*.tt"))) == 3  # what is of no thread, and two threads


def test_each_graph_is_a_pass_and_all_its_nodes_are_accounted_for(loaded: LoadedRun) -> None:
    troubled = {check.key for check in loaded.run.checks if check.state in ("warning", "failed")}
    assert troubled <= FOLLOWS_THE_MACHINE, loaded.run.checks
    assert loaded.passes["kind"].isna().all() and loaded.passes["context"].isna().all()
    ops = loaded.ops.merge(loaded.passes[["pass_id", "graph"]]).merge(loaded.graph_nodes, on=["graph", "node"])
    for number in (0, 1):
        rows = ops[ops["pass_id"] == number].sort_values("node")
        pairs = list(zip(rows["op"].astype(str), rows["state"].astype(str), strict=True))
        assert pairs == [("GET_ROWS", "executed"), ("MUL_MAT", "executed"), ("RESHAPE", "noop"), ("ADD", "executed")]
    assert set(loaded.spans.groupby(["pass_id", "node"]).size()) == {2}
    states = {check.key: check.state for check in loaded.run.checks}
    assert states["nodes_accounted"] == states["threads_accounted"] == states["buffers_balance"] == "passed"


def test_memory_and_rows_are_known_and_nothing_is_said_of_a_model(loaded: LoadedRun) -> None:
    rows = loaded.touches[loaded.touches["unit"] == "row"].merge(loaded.passes[["pass_id"]])
    for number, chosen in enumerate(CHOSEN):
        read = rows[(rows["pass_id"] == number) & (rows["slot"] == "src0")]
        pairs = zip(read["first_unit"], read["n_units"], strict=True)
        assert sorted(row for first, n in pairs for row in range(first, first + n)) == sorted(chosen)
    assert set(loaded.placements["memory"]) == {"buffer"} and loaded.files.empty and loaded.tensors.empty
    usage = loaded.buffers.dropna(subset=["address"]).groupby("usage", observed=True)["size_bytes"].max()
    assert usage["weights"] >= (16 * 8 + 4 * 8 + 12) * 4
    assert loaded.run.facts.model.file is None and loaded.tokens.empty


def test_the_pages_say_that_there_is_no_llama_cpp(loaded: LoadedRun) -> None:
    report = render_report(loaded.run, loaded.tables, citable=None, executor=Undrawn())
    overview = next(page.body for page in report.pages if page.key == "overview")
    assert "graphs of ggml without llama.cpp" in overview and "2 passes, none of them prompt or generate" in overview


def test_the_tree_comes_back_and_one_missing_anchor_leaves_it_so(hooked_ggml: Made, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(hooked_ggml.build.source, tree)
    carry_out(plan_reverse(tree))
    assert hashes_of(tree) == hooked_ggml.before
    file = tree / "ggml/src/ggml-cpu/ggml-cpu.c"
    file.write_text(file.read_text().replace('#include "ggml-cpu-impl.h"', '#include "ggml-cpu-own.h"'))
    before = hashes_of(tree)
    with pytest.raises(SettingsError, match=r"ggml-cpu\.c: the line '#include \"ggml-cpu-impl\.h\"' is missing"):
        hook_tree(tree, NATIVE)
    assert hashes_of(tree) == before and plan_hooks(hooked_ggml.build.source, NATIVE).state == "hooked"
