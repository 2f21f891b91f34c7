"""Settings that decide what reaches the disk: prefault and page cache, seen by the kernel's own counters."""

import itertools
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import resident, stored
from tracegen.analysis.accesses import ranges
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture import conditions, hashing, page_cache, storage
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.demo.models import write_demo_model
from tracegen.reading.notebook.loaded import LoadedRun
from tracegen.storing.store import sha256_of

pytestmark = pytest.mark.llama
FEW = 64  # pages of some 25,000: a kernel may take back what nobody used for a moment
UNDER_WAY = 2 << 20  # bytes of 100 MiB: read-ahead that a busy machine has not finished when the last pass ends


@pytest.fixture(scope="module")
def moe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MoE large enough for read-ahead not to read all of it: 2 of 32 experts are used for a token."""
    (path,) = write_demo_model("moe", tmp_path_factory.mktemp("models") / "wide.gguf", n_experts=32)
    if storage.storage_of(path)["file_system"] in ("tmpfs", "ramfs"):
        pytest.skip("files in memory have no page cache to drop")
    return path


def ran(hooked: Build, folder: Path, model: Path, **settings: object) -> LoadedRun:
    experiment = Experiment("knobs", "?", str(model), "The page", 2, warmup=False, repack=False, **settings)  # type: ignore[arg-type]
    loaded = stored(experiment, folder, hooked)
    assert loaded.run.verdict != "not usable"
    return loaded


def cache_of(loaded: LoadedRun) -> tuple[int, int]:
    cache = loaded.run.facts.conditions.page_cache
    return cache.before_bytes, cache.after_bytes


def read_in(loaded: LoadedRun, kind: str) -> int:
    return int(loaded.passes.loc[loaded.passes["kind"] == kind, "read_bytes"].sum())


def faults_in(loaded: LoadedRun, kind: str) -> int:
    return int(loaded.passes.loc[loaded.passes["kind"] == kind, "major_faults"].sum())


def first_page_of_weights(loaded: LoadedRun) -> int:
    return int(loaded.tensors["offset"].min()) // mmap.PAGESIZE


def test_prefault_decides_which_pass_reads_a_cold_file(hooked: Build, moe: Path, tmp_path: Path) -> None:
    """With it the load reads the whole file, without it the prompt does, page by page; the text is the same."""
    size = moe.stat().st_size
    whole = ran(hooked, tmp_path, moe, page_cache="cold", residency=True)
    before, after = cache_of(whole)
    assert before == 0 and 0.98 * size < after <= size
    assert whole.run.facts.settings.get("prefault") is True
    assert size <= read_in(whole, "load") < 1.1 * size and read_in(whole, "prompt") < 0.1 * size
    pages = set(range(first_page_of_weights(whole), -(-size // mmap.PAGESIZE)))
    after_load = resident(whole, 0)
    # a kernel that reclaims early takes some back before the load has ended
    assert after_load <= pages and len(pages - after_load) < max(FEW, len(pages) // 30)
    parts = ran(hooked, tmp_path, moe, page_cache="cold", prefault=False)
    before, after = cache_of(parts)
    assert before == 0 and after > 0 and parts.run.facts.settings.get("prefault") is False
    assert read_in(parts, "load") < 0.1 * size and faults_in(parts, "prompt") > 0
    assert read_in(parts, "prompt") > 0.5 * after
    assert faults_in(whole, "prompt") < FEW and parts.run.facts.text == whole.run.facts.text


def test_a_warm_file_is_in_memory_before_the_run(hooked: Build, moe: Path, tmp_path: Path) -> None:
    loaded = ran(hooked, tmp_path, moe, page_cache="warm", prefault=False)
    size = moe.stat().st_size
    assert cache_of(loaded)[0] > 0.98 * size
    assert faults_in(loaded, "prompt") < FEW and read_in(loaded, "prompt") < 0.02 * size


def test_a_run_does_not_warm_its_model_for_the_next_one(
    hooked: Build, moe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is hashed when the run is over. What the run left in memory is dropped here before that."""

    def conditions_then_drop(paths: Sequence[Path], *rest: Any) -> dict[str, Any]:
        facts = conditions.conditions_of(paths, *rest)
        page_cache.drop(paths)
        return facts

    monkeypatch.setattr(hashing, "cache_folder", lambda: tmp_path / "cache")  # where no hash is known
    monkeypatch.setattr("tracegen.measure.runs.measure.conditions_of", conditions_then_drop)
    loaded = ran(hooked, tmp_path, moe)
    left = page_cache.cached(moe).cached_bytes
    assert left is not None and left < 0.25 * moe.stat().st_size  # the header, and what is read ahead of it
    assert loaded.run.facts.model.sha256 == sha256_of(moe)


def test_residency_grows_by_what_ops_touch(hooked: Build, moe: Path, tmp_path: Path) -> None:
    """After each pass the pages of all that its ops used of the mapping are in memory; mincore from outside agrees."""
    loaded = ran(hooked, tmp_path, moe, page_cache="cold", prefault=False, residency=True)
    ids = loaded.passes["pass_id"].tolist()
    assert loaded.residency["pass_id"].unique().tolist() == ids
    after = [resident(loaded, pass_id) for pass_id in ids]
    assert all(len(one - next_one) < FEW for one, next_one in itertools.pairwise(after))
    assert len(after[0]) + FEW < len(after[-1])
    used = ranges(loaded.tables)
    for pass_id, pages in zip(ids, after, strict=True):
        of_pass = used[(used["pass_id"] == pass_id) & (used["memory"] == "disk") & (used["end"] > used["begin"])]
        touched = {
            page
            for begin, end in zip(of_pass["begin"], of_pass["end"], strict=True)
            for page in range(begin // mmap.PAGESIZE, (end - 1) // mmap.PAGESIZE + 1)
        }
        assert len(touched - pages) <= len(touched) // 50
    head = first_page_of_weights(loaded)  # llama.cpp unmaps what lies before
    whole = [page for page in after[-1] if (page + 1) * mmap.PAGESIZE <= moe.stat().st_size]
    outside = cache_of(loaded)[1] - len(whole) * mmap.PAGESIZE
    assert -FEW * mmap.PAGESIZE <= outside <= (head + 1) * mmap.PAGESIZE + UNDER_WAY
