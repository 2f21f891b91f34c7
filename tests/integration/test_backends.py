"""More than one backend, BLAS beside the CPU: what was in each split, who ran it, when, and what is not known."""

import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.report.rendered import Undrawn
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET
from tracegen.measure.capture.plan import command_for
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.runs.measure import measure
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.pages.render import render_report
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

PROMPT = "The page of the memory is read from the disk by the expert. " * 6  # BLAS takes batches of 32 and more


@pytest.fixture(scope="module")
def experiment(models: Path) -> Experiment:
    model = write_demo_model("demo", models / "blas.gguf")[0]
    return Experiment(name="blas", question="Who multiplies?", model=str(model), prompt=PROMPT, tokens=3)


@pytest.fixture(scope="module")
def loaded(experiment: Experiment, blas: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    run = measure(experiment, tmp_path_factory.mktemp("blas"), Progress(), str(blas))
    assert run.folder is not None
    return load_run(run.folder)


def prompt_pass(loaded: LoadedRun) -> int:
    (pass_id,) = loaded.passes.loc[loaded.passes["kind"] == "prompt", "pass_id"]
    return int(pass_id)


def test_every_node_has_a_state_and_a_backend(loaded: LoadedRun) -> None:
    assert loaded.ops["state"].notna().all()
    done = loaded.ops["state"].isin(["executed", "fused", "empty"])
    assert set(loaded.ops.loc[done, "backend"].unique()) == {"CPU", "BLAS"}
    assert not [check for check in loaded.run.checks if check.state == "failed"]


def test_ops_of_blas_are_known_by_split_alone(loaded: LoadedRun) -> None:
    ops = loaded.ops.merge(loaded.passes[["pass_id", "graph"]]).merge(loaded.graph_nodes, on=["graph", "node"])
    theirs = ops[ops["backend"] == "BLAS"]
    assert set(theirs["pass_id"]) == {prompt_pass(loaded)} and set(theirs["op"]) == {"MUL_MAT"}
    assert set(theirs["time_basis"].astype(str)) == {"split"}
    assert theirs[["begin_ns", "end_ns", "n_threads"]].isna().all(axis=None)
    assert loaded.spans.merge(theirs[["pass_id", "node"]]).empty
    ours = ops[(ops["backend"] == "CPU") & (ops["state"] == "executed")]
    assert set(ours["time_basis"].astype(str)) == {"measured"}


def test_splits_are_the_schedulers_own(loaded: LoadedRun, experiment: Experiment, blas: Path) -> None:
    """llama.cpp prints them when it is asked to: the last graph that it prints for the prompt's size is ours."""
    command = command_for(experiment, blas / TARGET, Path(experiment.model))
    ended = subprocess.run(
        [*command, "-v"],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "GGML_SCHED_DEBUG": "1"},
    )
    printed = re.findall(r"## SPLIT #(\d+): (\S+) #", ended.stderr + ended.stdout)
    graphs: list[list[str]] = []
    for number, backend in printed:
        if number == "0":
            graphs.append([])
        graphs[-1].append(backend)
    mine = loaded.splits[loaded.splits["pass_id"] == prompt_pass(loaded)]
    assert len(mine) > 2 and mine["backend"].tolist() in graphs and (mine["by_op"] == (mine["backend"] == "CPU")).all()


def test_each_split_had_been_computed_when_its_backend_returned(loaded: LoadedRun) -> None:
    """Neither of the two backends has anything to synchronise."""
    assert set(loaded.splits["backend"]) == {"CPU", "BLAS"} and set(loaded.splits["proof"]) == {"blocking"}


def test_splits_are_one_line_of_time_within_their_pass(loaded: LoadedRun) -> None:
    for pass_id, splits in loaded.splits.groupby("pass_id"):
        run = loaded.passes.set_index("pass_id").loc[pass_id]
        assert splits["split"].tolist() == list(range(len(splits))) and (splits["end_ns"] >= splits["begin_ns"]).all()
        assert (splits["begin_ns"].to_numpy()[1:] >= splits["end_ns"].to_numpy()[:-1]).all()
        assert run["begin_ns"] <= splits["begin_ns"].iloc[0] and splits["end_ns"].iloc[-1] <= run["end_ns"]


def test_a_split_of_the_cpu_holds_the_ops_that_ran_in_its_time(loaded: LoadedRun) -> None:
    ops = loaded.ops[(loaded.ops["pass_id"] == prompt_pass(loaded)) & loaded.ops["begin_ns"].notna()]
    both = ops.merge(loaded.splits, on=["pass_id", "split"], suffixes=("", "_split"))
    assert len(both) == len(ops) > 0 and (both["begin_ns"] >= both["begin_ns_split"]).all()
    assert (both["end_ns"] <= both["end_ns_split"]).all()


def test_the_overview_says_what_has_no_time(loaded: LoadedRun) -> None:
    report = render_report(loaded.run, loaded.tables, citable=None, executor=Undrawn())
    overview = next(page.body for page in report.pages if page.key == "overview")
    assert re.search(r"operations of all passes ran on BLAS\. Only the \d+ splits that hold them were timed", overview)


def test_passes_of_the_cpu_alone_have_no_splits(loaded: LoadedRun) -> None:
    generate = loaded.passes.loc[loaded.passes["kind"] == "generate", "pass_id"]
    assert len(generate) == 2 and pd.Series(loaded.splits["pass_id"]).isin(generate).sum() == 0
