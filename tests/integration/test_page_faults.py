"""Page faults of real runs: against pages that became resident, the kernel's counters, and what operations touch."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.integration.conftest import cold_experiment, resident, stored
from tracegen.analysis import disk_waits
from tracegen.contract.model import Check, Experiment, Run
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.capture.plan import command_for
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

PAGE = 4096
WINDOW = 2 << 20  # bytes: read-ahead on both sides of a fault, at most


def checks_of_faults(run: Run) -> dict[str, Check]:
    return {check.key: check for check in run.checks if check.key.startswith("faults_")}


@pytest.fixture(scope="module")
def cold(hooked: Build, mixture: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    """A run whose operations read the file themselves, from a cold page cache."""
    loaded = stored(cold_experiment(mixture, 6), tmp_path_factory.mktemp("cold"), hooked)
    _skip_where_refused(loaded.run)
    return loaded


def _skip_where_refused(run: Run) -> None:
    """Skip where the kernel or a container does not let this user record page faults."""
    if refused := run.facts["trace"]["faults_refused"]:
        pytest.skip(f"page faults cannot be recorded here: {refused}")


def test_faults_were_recorded_without_loss_and_agree(cold: LoadedRun) -> None:
    states = {key: check.state for key, check in checks_of_faults(cold.run).items()}
    names = ("faults_recorded", "faults_agree", "faults_placed", "faults_barriers")
    assert states == dict.fromkeys(names, "passed")
    assert cold.run.has_faults and len(cold.faults) > 100 and (cold.faults["kind"] == "major").any()


def test_pages_that_faulted_are_resident_and_pages_that_became_resident_lie_about_a_fault(cold: LoadedRun) -> None:
    passes = list(cold.passes["pass_id"])
    unexplained = n_new = 0
    for before, now in itertools.pairwise(passes):
        faults = cold.faults[cold.faults["pass_id"] == now]
        pages = set((faults["offset"] // PAGE).astype(int))
        after = resident(cold, now)
        assert pages <= after  # nothing evicts pages here: the model is small
        new = np.array(sorted(after - resident(cold, before)), np.int64) * PAGE
        n_new += len(new)
        if not len(new):
            continue
        places = np.sort(faults["offset"].to_numpy("int64"))
        assert len(places), "pages became resident without a fault"
        at = np.searchsorted(places, new)
        nearest = np.minimum(
            np.abs(new - places[np.maximum(at - 1, 0)]), np.abs(new - places[np.minimum(at, len(places) - 1)])
        )
        unexplained += int((nearest > WINDOW).sum())
    assert n_new > 1000 and unexplained <= 0.01 * n_new


def test_the_time_of_each_pass_is_split_without_rest(cold: LoadedRun) -> None:
    split = disk_waits.pass_split(cold.tables)
    assert len(split) == 6 and (split["disk_ns"] > 0).any()
    for row in split.to_dict("records"):
        assert sum(row[part] for part in disk_waits.PARTS) == pytest.approx(row["duration_ns"], rel=1e-9)
        assert row["outside_ns"] >= 0
    spans = cold.spans
    assert (spans["fault_ns"] <= spans["work_ns"]).all()


def test_no_thread_leaves_a_barrier_inside_an_operation_before_the_last_has_come(cold: LoadedRun) -> None:
    """How soon they leave after it depends on who has a processor then, so only the order is checked.

    Each wait lies within its thread's work on the operation.
    """
    waits = cold.barriers.assign(end_ns=cold.barriers["begin_ns"] + cold.barriers["duration_ns"])
    at = waits.groupby(["pass_id", "node", "barrier"])
    assert len(waits) > 100 and (at.size() == cold.contexts["n_threads"].iloc[0]).all()
    opened = at["begin_ns"].max()
    assert (at["end_ns"].min() >= opened - 300).all()  # no thread goes on before the last has come
    within = waits.merge(cold.spans, on=["pass_id", "node", "thread"], suffixes=("", "_of_work"))
    assert len(within) == len(waits) and (within["begin_ns"] >= within["begin_ns_of_work"]).all()
    assert (within["end_ns"] <= within["begin_ns_of_work"] + within["work_ns"] + within["barrier_ns"]).all()


def test_a_run_that_prefaults_records_none_unless_asked(hooked: Build, mixture: Path, tmp_path: Path) -> None:
    experiment = Experiment("warm", "What is read?", str(mixture), "The memory page", 2, warmup=False)
    loaded = stored(experiment, tmp_path, hooked)
    assert not loaded.run.has_faults and loaded.run.facts["settings"]["faults"] is False
    assert not checks_of_faults(loaded.run) and loaded.faults.empty


def test_an_attached_program_records_them_too(plain: Build, mixture: Path, tmp_path: Path) -> None:
    experiment = Experiment("x", "?", str(mixture), "The memory page", 4, warmup=False, repack=False)
    command = command_for(experiment, plain.programs / TARGET, mixture)
    observation = Observation("attached", command, "Is it seen?", attach=True, faults=True)
    run = observe(observation, tmp_path / "attached", Progress())
    _skip_where_refused(run)
    assert run.folder is not None and run.has_faults
    loaded = load_run(run.folder)
    assert loaded.passes["other_faults"].sum() > 0  # llama.cpp itself maps every page of the file at load
    states = {key: check.state for key, check in checks_of_faults(run).items()}
    assert states["faults_recorded"] == states["faults_placed"] == states["faults_barriers"] == "passed"
    assert len(loaded.barriers) > 100
    assert states["faults_agree"] != "failed", run.checks  # threads that do not compute may have some of so few
