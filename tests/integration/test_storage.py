"""What the device and the page cache did in real runs, against what the process read and which pages were in memory."""

import os
from pathlib import Path

import pytest

from tests.integration.conftest import cold_experiment, stored
from tracegen.measure.capture.llama_cpp import Build

pytestmark = pytest.mark.llama

PAGE = 4096


def has_device(model: Path) -> bool:
    device = model.stat().st_dev
    return Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").exists()


def test_a_cold_run(hooked: Build, mixture: Path, tmp_path: Path) -> None:
    loaded = stored(cold_experiment(mixture, 4), tmp_path, hooked)
    resident = loaded.residency.groupby("pass_id")["n_pages"].sum()
    cached = loaded.cache.set_index("pass_id")["cached_pages"]
    if len(cached):  # the kernel has cachestat and allows it
        assert cached.index.tolist() == loaded.passes["pass_id"].tolist()
        # The cache also holds pages that llama.cpp has unmapped, or that are being read.
        assert (cached >= resident).all() and cached.iloc[-1] <= -(-mixture.stat().st_size // PAGE)
        assert cached.iloc[-1] > 10 * cached.iloc[0]
    if not has_device(mixture):
        assert loaded.device.empty
        pytest.skip("the file system of the model has no block device")
    device, passes = loaded.device.set_index("pass_id"), loaded.passes.set_index("pass_id")
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
