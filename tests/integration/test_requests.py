"""Requests of the device in real runs: against pages that became resident, and the device's own counters."""

import itertools
from pathlib import Path

import pytest

from tests.integration.conftest import cold_experiment, resident, stored
from tracegen.analysis import requests
from tracegen.contract.model import Experiment, Run
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.capture.plan import command_for
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama

PAGE = 4096


def skip_where_refused(run: Run) -> None:
    """Skip where requests cannot be recorded, or the temporary folder lies on no device."""
    facts = run.facts["trace"]
    if refused := facts["requests_refused"] or facts["requests_unplaced"]:
        pytest.skip(f"requests cannot be recorded here: {refused}")


@pytest.fixture(scope="module")
def cold(hooked: Build, mixture: Path, tmp_path_factory: pytest.TempPathFactory, tracefs: Path) -> LoadedRun:
    """A run whose operations read the file themselves, from a cold page cache."""
    loaded = stored(cold_experiment(mixture, 6, disk=True), tmp_path_factory.mktemp("cold"), hooked)
    skip_where_refused(loaded.run)
    return loaded


def requested(loaded: LoadedRun, since_ns: int, until_ns: int) -> set[int]:
    """The pages of the file that the device was asked for in a stretch of time."""
    rows = loaded.tables["requests"].dropna(subset=["file"])
    rows = rows[(rows["issue_ns"] > since_ns) & (rows["issue_ns"] <= until_ns)]
    pages: set[int] = set()
    for offset, size in zip(rows["offset"], rows["file_bytes"], strict=True):
        pages |= set(range(offset // PAGE, -(-(offset + size) // PAGE)))
    return pages


def test_the_checks_of_requests_pass(cold: LoadedRun) -> None:
    states = {check.key: check.state for check in cold.run.checks if check.key.startswith("requests_")}
    assert states == {"requests_recorded": "passed", "requests_agree": "passed"}
    assert cold.run.has_requests and len(cold.tables["requests"]) > 10


def test_what_became_resident_in_each_pass_is_what_was_requested(cold: LoadedRun) -> None:
    """Without eviction, as the model is small; to 1 % of the pages, as nothing stops while pages are counted."""
    passes = cold.passes.sort_values("begin_ns")
    apart = n_new = 0
    for (_, before), (_, now) in itertools.pairwise(passes.iterrows()):
        new = resident(cold, now["pass_id"]) - resident(cold, before["pass_id"])
        asked = requested(cold, before["end_ns"], now["end_ns"])
        apart += len(new ^ (asked - resident(cold, before["pass_id"])))
        n_new += len(new)
    assert n_new > 1000 and apart <= 0.01 * n_new


def test_every_page_that_faulted_had_been_requested(cold: LoadedRun) -> None:
    asked = requested(cold, 0, 1 << 62)
    assert set((cold.faults["offset"] // PAGE).astype(int)) <= asked


def test_what_was_read_is_used_now_later_or_never(cold: LoadedRun) -> None:
    use = requests.use_by_pass(cold.tables, PAGE)
    assert (use["now_bytes"] + use["later_bytes"] + use["never_bytes"] == use["page_bytes_read"]).all()
    read, again = use["page_bytes_read"], use["again_bytes"]
    assert read.iloc[0] > 0 and again.sum() <= 0.05 * read.sum()  # the kernel drops a few pages by itself


def test_the_device_was_measured_before_the_run(cold: LoadedRun) -> None:
    device = cold.run.facts["device"]
    assert "refused" in device or (device["measurements"] and device["duration_ns"] < 8e9)
    assert "/" not in device.get("file", "")


def test_an_attached_program_records_them_too(plain: Build, mixture: Path, tmp_path: Path, tracefs: Path) -> None:
    experiment = Experiment("x", "?", str(mixture), "The memory page", 4, warmup=False, repack=False)
    command = command_for(experiment, plain.programs / TARGET, mixture)
    run = observe(Observation("attached", command, "Is it seen?", attach=True, disk=True), tmp_path / "x", Progress())
    skip_where_refused(run)
    assert run.has_requests and {c.state for c in run.checks if c.key.startswith("requests_")} == {"passed"}
