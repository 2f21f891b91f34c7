"""Tensors that stay in memory during a run: which they are, and that the kernel keeps them."""

import mmap
import os
import resource
from pathlib import Path

import pandas as pd
import pytest

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture import page_cache, pinned, storage
from tracegen.measure.capture.limited import memory_limit, refuse_limit
from tracegen.measure.capture.pinned import Pins, pins_of, refuse_pins
from tracegen.measure.demo.models import write_demo_model
from tracegen.readers.gguf.file import read_model

PAGE, PAGES = mmap.PAGESIZE, 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of 64 pages on a disk; skips where its pages cannot be dropped (tmpfs), or not locked."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(PAGES * PAGE))
    if storage.storage_of(path)["file_system"] in ("tmpfs", "ramfs"):
        pytest.skip("files in memory have no page cache to drop")
    if os.geteuid() and resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < PAGES * PAGE:
        pytest.skip("this user may not lock 64 pages")
    return path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of several layers."""
    return write_demo_model("demo", tmp_path_factory.mktemp("models") / "demo.gguf")[0]


def resident(path: Path) -> list[int]:
    """The numbers of the pages in memory after all that can be dropped were."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return [int(n) for n in page_cache.resident_pages(stream.fileno(), 0, path.stat().st_size).nonzero()[0]]


def test_pinned_pages_stay_and_go_afterwards(file: Path) -> None:
    pins = Pins(2, ((file, 3 * PAGE + 5, 5 * PAGE), (file, 20 * PAGE, 20 * PAGE + 1)))
    with pinned.pinned(pins, None) as facts:
        assert facts is not None and (facts.n_tensors, facts.locked_bytes) == (2, 3 * PAGE)
        assert {3, 4, 20} <= set(resident(file))
    page_cache.drop([file])  # raises if one stays


def test_without_pins_nothing_is_done() -> None:
    with pinned.pinned(None, None) as facts:
        assert facts is None


def test_they_count_within_the_limit(file: Path) -> None:
    try:
        refuse_limit(0.05)
    except SettingsError as error:
        pytest.skip(str(error))
    page_cache.drop([file])
    with memory_limit(0.05) as limit:
        assert limit is not None
        before = int(limit.usage.read_text())
        with pinned.pinned(Pins(1, ((file, 0, PAGES * PAGE),)), limit):
            taken = int(limit.usage.read_text()) - before
            assert PAGES * PAGE <= taken < 4 << 20  # the interpreter, which takes 8 MiB, does not count
            assert not (limit.folder / "cgroup.procs").read_text()
    page_cache.drop([file])


def test_a_file_that_is_gone_or_too_short_is_said(tmp_path: Path, file: Path) -> None:
    for pins in (Pins(1, ((tmp_path / "none", 0, 1),)), Pins(1, ((file, 0, 2 * PAGES * PAGE),))):
        with pytest.raises(EnvironmentFailure, match="pin: cannot lock"), pinned.pinned(pins, None):
            pass


def test_patterns_choose_tensors_and_those_side_by_side_are_one_range(demo: Path) -> None:
    model = read_model(demo)
    names = model.tensors["name"].astype(str)
    pins = pins_of(["blk.*.attn_?.weight", "token_embd.weight"], model)
    assert pins is not None
    kept = model.tensors[names.str.fullmatch(r"blk\.\d+\.attn_.\.weight|token_embd\.weight").to_numpy(bool)]
    assert pins.n_tensors == len(kept) > 4
    inside = pd.Series(False, index=kept.index)
    for _, begin, end in pins.ranges:
        inside |= (kept["offset"] >= begin) & (kept["offset"] + kept["size_bytes"] <= end)
    assert inside.all()
    assert kept["size_bytes"].sum() <= pins.size_bytes <= kept["size_bytes"].sum() + PAGE * len(kept)
    assert pins_of([], model) is None
    everything = pins_of(["*"], model)
    assert everything is not None and len(everything.ranges) == 1


def test_a_name_that_no_tensor_has_is_refused(demo: Path) -> None:
    with pytest.raises(SettingsError, match=r"pin: 'blk\.999\.\*': no tensor of .* has such a name; they are called "):
        pins_of(["*", "blk.999.*"], read_model(demo))


def test_more_than_there_is_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pins = Pins(3, ((tmp_path, 0, 2 << 30),))
    monkeypatch.setattr(pinned, "refuse_more_than_allowed", lambda setting, size: None)
    with pytest.raises(SettingsError, match=r"pin: 3 tensors are 2 GiB, and memory_limit_gb allows 1\.5 GiB"):
        refuse_pins(pins, 1.5)
    monkeypatch.setattr(pinned, "available_bytes", lambda: 5 << 29)
    with pytest.raises(SettingsError, match=r"pin: 3 tensors are 2 GiB, and 2\.5 GiB of memory are available"):
        refuse_pins(pins, None)
