"""What real runs read of a cold file: page faults, requests of the device, its counters and the page cache.

Against pages that became resident, the kernel's and the device's own counters, and what operations touch.
"""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from tests.integration.conftest import cold_experiment, resident, stored
from tracegen.analysis import attribution, requests
from tracegen.contract.experiment import Experiment
from tracegen.contract.model import Run
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.capture.plan import command_for
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

PAGE = 4096
WINDOW = 2 << 20  # bytes: read-ahead on both sides of a fault, at most


def states(run: Run, prefix: str) -> dict[str, str]:
    """The states of the checks whose keys begin so."""
    return {check.key: check.state for check in run.checks if check.key.startswith(prefix)}


@pytest.fixture(scope="module")
def cold(hooked: Build, mixture: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    """A run whose operations read the file themselves, from a cold page cache."""
    return stored(cold_experiment(mixture, 6, disk=True), tmp_path_factory.mktemp("cold"), hooked)


def _skip_where_refused(run: Run, *names: str) -> None:
    """Skip where this user may not record that, or where the temporary folder lies on no device."""
    for refused in filter(None, (getattr(run.facts.trace, name) for name in names)):
        pytest.skip(f"cannot be recorded here: {refused}")


@pytest.fixture
def faulted(cold: LoadedRun) -> LoadedRun:
    """The cold run, with its page faults."""
    _skip_where_refused(cold.run, "faults_refused")
    return cold


@pytest.fixture
def requesting(cold: LoadedRun, tracefs: Path) -> LoadedRun:
    """The cold run, with its requests."""
    _skip_where_refused(cold.run, "requests_refused", "requests_unplaced")
    return cold


# Page faults


def test_faults_were_recorded_without_loss_and_agree(faulted: LoadedRun) -> None:
    names = ("faults_recorded", "faults_agree", "faults_placed", "faults_barriers")
    assert states(faulted.run, "faults_") == dict.fromkeys(names, "passed")
    assert faulted.run.has_faults and len(faulted.faults) > 100 and (faulted.faults["kind"] == "major").any()


def test_pages_that_faulted_are_resident_and_pages_that_became_resident_lie_about_a_fault(faulted: LoadedRun) -> None:
    passes = list(faulted.passes["pass_id"])
    unexplained = n_new = 0
    for before, now in itertools.pairwise(passes):
        faults = faulted.faults[faulted.faults["pass_id"] == now]
        pages = set((faults["offset"] // PAGE).astype(int))
        after = resident(faulted, now)
        assert pages <= after  # nothing evicts pages here: the model is small
        new = np.array(sorted(after - resident(faulted, before)), np.int64) * PAGE
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


def test_the_time_of_each_pass_is_split_without_rest(faulted: LoadedRun) -> None:
    split = attribution.by_pass(faulted.tables)
    assert len(split) == 6 and (split["disk_ns"] > 0).any()
    for row in split.to_dict("records"):
        assert sum(row[part] for part in attribution.PARTS) == pytest.approx(row["duration_ns"], rel=1e-9)
        assert row["outside_ns"] >= 0
    spans = faulted.spans
    assert (spans["fault_ns"] <= spans["work_ns"]).all()


def test_time_without_a_processor_is_part_of_the_work(faulted: LoadedRun) -> None:
    if not faulted.run.facts.trace.off_cpu_recorded:
        pytest.skip("this kernel does not tell when a thread could have run (Linux 4.17 does)")
    spans, rows = faulted.spans, faulted.off_cpu
    assert ((spans["preempted_ns"] >= 0) & (spans["preempted_ns"] <= spans["work_ns"] - spans["fault_ns"])).all()
    assert spans["preempted_ns"].sum() <= rows["duration_ns"].sum()
    assert set(rows["pass_id"]) <= set(spans["pass_id"]) and set(rows["thread"]) <= set(spans["thread"])
    assert states(faulted.run, "preemptions_")["preemptions_agree"] in ("passed", "warning")


def test_no_thread_leaves_a_barrier_inside_an_operation_before_the_last_has_come(faulted: LoadedRun) -> None:
    """How soon they leave after it depends on who has a processor then, so only the order is checked.

    Each wait lies within its thread's work on the operation.
    """
    waits = faulted.barriers.assign(end_ns=faulted.barriers["begin_ns"] + faulted.barriers["duration_ns"])
    at = waits.groupby(["pass_id", "node", "barrier"])
    assert len(waits) > 100 and (at.size() == faulted.contexts["n_threads"].iloc[0]).all()
    opened = at["begin_ns"].max()
    assert (at["end_ns"].min() >= opened - 300).all()  # no thread goes on before the last has come
    within = waits.merge(faulted.spans, on=["pass_id", "node", "thread"], suffixes=("", "_of_work"))
    assert len(within) == len(waits) and (within["begin_ns"] >= within["begin_ns_of_work"]).all()
    assert (within["end_ns"] <= within["begin_ns_of_work"] + within["work_ns"] + within["barrier_ns"]).all()


def test_a_run_records_no_page_faults_where_it_shall_not(hooked: Build, mixture: Path, tmp_path: Path) -> None:
    experiment = Experiment("warm", "What is read?", str(mixture), "The memory page", 2, warmup=False, faults=False)
    loaded = stored(experiment, tmp_path, hooked)
    assert not loaded.run.has_faults and loaded.run.facts.settings.get("faults") is False
    assert not states(loaded.run, "faults_") and loaded.faults.empty


# Requests


def requested(loaded: LoadedRun, since_ns: int, until_ns: int) -> set[int]:
    """The pages of the file that the device was asked for in a stretch of time."""
    rows = loaded.tables["requests"].dropna(subset=["file"])
    rows = rows[(rows["issue_ns"] > since_ns) & (rows["issue_ns"] <= until_ns)]
    pages: set[int] = set()
    for offset, size in zip(rows["offset"], rows["file_bytes"], strict=True):
        pages |= set(range(offset // PAGE, -(-(offset + size) // PAGE)))
    return pages


def test_the_checks_of_requests_pass(requesting: LoadedRun) -> None:
    assert states(requesting.run, "requests_") == {"requests_recorded": "passed", "requests_agree": "passed"}
    assert requesting.run.has_requests and len(requesting.tables["requests"]) > 10


def test_what_became_resident_in_each_pass_is_what_was_requested(requesting: LoadedRun) -> None:
    """Without eviction, as the model is small; to 1 % of the pages, as nothing stops while pages are counted."""
    passes = requesting.passes.sort_values("begin_ns")
    apart = n_new = 0
    for (_, before), (_, now) in itertools.pairwise(passes.iterrows()):
        new = resident(requesting, now["pass_id"]) - resident(requesting, before["pass_id"])
        asked = requested(requesting, before["end_ns"], now["end_ns"])
        apart += len(new ^ (asked - resident(requesting, before["pass_id"])))
        n_new += len(new)
    assert n_new > 1000 and apart <= 0.01 * n_new


def test_every_page_that_faulted_had_been_requested(requesting: LoadedRun) -> None:
    asked = requested(requesting, 0, 1 << 62)
    assert set((requesting.faults["offset"] // PAGE).astype(int)) <= asked


def test_what_was_read_is_used_now_later_or_never(requesting: LoadedRun) -> None:
    use = requests.use_by_pass(requesting.tables, PAGE)
    assert (use["now_bytes"] + use["later_bytes"] + use["never_bytes"] == use["page_bytes_read"]).all()
    read, again = use["page_bytes_read"], use["again_bytes"]
    assert read.iloc[0] > 0 and again.sum() <= 0.05 * read.sum()  # the kernel drops a few pages by itself


def test_the_device_was_measured_before_the_run(requesting: LoadedRun) -> None:
    device = requesting.run.facts.device
    assert device.refused or (device.measurements and device.duration_ns < 8e9)
    assert "/" not in (device.file or "")


# The device and the page cache


def has_device(model: Path) -> bool:
    device = model.stat().st_dev
    return Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").exists()


def test_what_device_and_page_cache_count_fits_what_was_read(cold: LoadedRun, mixture: Path) -> None:
    in_memory = cold.residency.groupby("pass_id")["n_pages"].sum()
    cached = cold.cache.set_index("pass_id")["cached_pages"]
    if len(cached):  # the kernel has cachestat and allows it
        assert cached.index.tolist() == cold.passes["pass_id"].tolist()
        # The cache also holds pages that llama.cpp has unmapped, or that are being read.
        assert (cached >= in_memory).all() and cached.iloc[-1] <= -(-mixture.stat().st_size // PAGE)
        assert cached.iloc[-1] > 10 * cached.iloc[0]
    if not has_device(mixture):
        assert cold.device.empty
        pytest.skip("the file system of the model has no block device")
    device, passes = cold.device.set_index("pass_id"), cold.passes.set_index("pass_id")
    assert device.index.tolist() == passes.index.tolist()
    # The process counts a read when it asks for it, the device when it is done: over the run both count all of them.
    assert device["read_bytes"].sum() >= 0.99 * passes["read_bytes"].sum() > 0.5 * mixture.stat().st_size
    assert (device["counted_ns"] >= passes["end_ns"] - passes["begin_ns"]).all()
    assert (device["busy_ns"] <= device["counted_ns"] + 20_000_000).all()  # the kernel counts in ticks


def test_without_mmap_only_loads_are_counted(hooked: Build, mixture: Path, tmp_path: Path) -> None:
    loaded = stored(cold_experiment(mixture, 4, mmap=False, residency=False), tmp_path, hooked)
    assert loaded.cache.empty
    if not has_device(mixture):
        pytest.skip("the file system of the model has no block device")
    loads = loaded.passes.loc[loaded.passes["kind"] == "load", "pass_id"].tolist()
    assert loaded.device["pass_id"].tolist() == loads
    assert loaded.device["read_bytes"].sum() > 0.9 * mixture.stat().st_size


def test_an_attached_program_records_them_too(plain: Build, mixture: Path, tmp_path: Path) -> None:
    experiment = Experiment("x", "?", str(mixture), "The memory page", 4, warmup=False, repack=False)
    command = command_for(experiment, plain.programs / TARGET, mixture)
    observation = Observation("attached", command, "Is it seen?", attach=True, faults=True, disk=True)
    run = observe(observation, tmp_path / "attached", Progress())
    _skip_where_refused(run, "faults_refused")
    assert run.folder is not None and run.has_faults
    loaded, said = load_run(run.folder), states(run, "faults_")
    assert loaded.passes["other_faults"].sum() > 0  # llama.cpp itself maps every page of the file at load
    assert said["faults_recorded"] == said["faults_placed"] == said["faults_barriers"] == "passed"
    assert len(loaded.barriers) > 100
    assert loaded.spans["preempted_ns"].notna().all() == run.facts.trace.off_cpu_recorded
    assert said["faults_agree"] != "failed", run.checks  # threads that do not compute may have some of so few
    _skip_where_refused(run, "requests_refused", "requests_unplaced")
    assert run.has_requests and set(states(run, "requests_").values()) == {"passed"}
