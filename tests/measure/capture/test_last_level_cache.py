"""The sizes of caches from a tree of files like the kernel's."""

from pathlib import Path

import pytest

from tracegen.measure.capture.machine import last_level_cache_bytes


def a_tree(folder: Path, shared: dict[int, str], size: str = "32768K") -> Path:
    """Processors with two caches of their own and one that `shared` tells who shares."""
    for processor, others in shared.items():
        caches = [("1", "Instruction", "64K", str(processor)), ("2", "Unified", "2M", str(processor))]
        for number, texts in enumerate([*caches, ("3", "Unified", size, others), ("3", "Instruction", "1G", others)]):
            index = folder / f"cpu{processor}" / "cache" / f"index{number}"
            index.mkdir(parents=True)
            for name, text in zip(("level", "type", "size", "shared_cpu_list"), texts, strict=True):
                (index / name).write_text(text + "\n")
    (folder / "cpufreq").mkdir()
    return folder


def test_each_cache_counts_once(tmp_path: Path) -> None:
    assert last_level_cache_bytes(a_tree(tmp_path / "one", {0: "0-1", 1: "0-1"})) == 32 << 20
    assert last_level_cache_bytes(a_tree(tmp_path / "two", {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})) == 64 << 20


@pytest.mark.parametrize(("name", "text"), [("size", ""), ("size", "32768"), ("size", None), ("shared_cpu_list", None)])
def test_what_the_kernel_does_not_tell_is_not_known(tmp_path: Path, name: str, text: str | None) -> None:
    path = a_tree(tmp_path, {0: "0", 1: "1"}) / "cpu1" / "cache" / "index2" / name
    path.unlink() if text is None else path.write_text(text)
    assert last_level_cache_bytes(tmp_path) is None


def test_without_caches_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "cpu0").mkdir()
    assert last_level_cache_bytes(tmp_path) is None and last_level_cache_bytes(tmp_path / "none") is None
