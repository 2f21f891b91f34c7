"""Page cache, device and priority: a condition holds during the run, or is refused before anything runs."""

import mmap
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture import conditions, page_cache, storage
from tracegen.measure.capture.page_cache import cached, drop, fetch_code
from tracegen.storing.execute import run_program

EXPERIMENT = Experiment("x", "?", "demo", "Hello", 1)
PAGES = 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of 64 pages and one byte on a disk; skips where its pages cannot be dropped (tmpfs)."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(PAGES * mmap.PAGESIZE + 1))
    if storage.storage_of(path)["file_system"] in ("tmpfs", "ramfs"):
        pytest.skip("files in memory have no page cache to drop")
    return path


def test_what_is_dropped_is_gone_and_what_is_filled_is_there(file: Path) -> None:
    page_cache.drop([file])
    assert page_cache.cached(file).cached_bytes == 0
    page_cache.fill([file])
    assert page_cache.cached(file).cached_bytes == file.stat().st_size


@pytest.mark.parametrize(("short", "readings"), [(0, 1), (2, 3), (page_cache.READINGS, page_cache.READINGS)])
def test_pages_that_the_kernel_takes_back_are_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, short: int, readings: int
) -> None:
    answers, read = [0] * short, []
    size = file.stat().st_size
    monkeypatch.setattr(page_cache, "_read", read.append)
    monkeypatch.setattr(
        page_cache, "cached", lambda path: page_cache.Cached(path, size, answers.pop() if answers else size)
    )
    if short < page_cache.READINGS:
        page_cache.fill([file])
    else:
        with pytest.raises(EnvironmentFailure, match=f"only 0 of {size} bytes stay in the page cache; free memory"):
            page_cache.fill([file])
    assert read == [file] * readings


def test_one_page_that_is_read_is_counted(file: Path) -> None:
    """With read-ahead off, reading pages through a mapping puts exactly these pages into the page cache."""
    page_cache.drop([file])
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)
        for n, page in enumerate((3, 40), 1):
            assert mapped[page * mmap.PAGESIZE] >= 0 and page_cache.cached(file).cached_bytes == n * mmap.PAGESIZE


def test_pages_that_another_process_holds_are_named(file: Path) -> None:
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
        assert sum(mapped[:: mmap.PAGESIZE]) >= 0
        with pytest.raises(EnvironmentFailure, match="bytes stay in the page cache; end the programs that map it"):
            page_cache.drop([file])


def test_an_empty_and_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert page_cache.cached(tmp_path / "empty").cached_bytes == 0
    for act in (page_cache.drop, page_cache.fill):
        with pytest.raises(EnvironmentFailure, match="No such file"):
            act([tmp_path / "nothing"])


def test_the_device_is_the_one_that_df_names(file: Path) -> None:
    facts = storage.storage_of(file)
    output = subprocess.run(["df", "--output=source,fstype", file], capture_output=True, text=True, check=True)
    assert [facts["device"], facts["file_system"]] == output.stdout.splitlines()[1].split()


def test_a_file_system_with_another_device_number_is_known(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on btrfs: the mount is found by its own number."""
    before, text = storage.storage_of(file), storage._text

    def renumbered(folder: Path | None, name: str) -> str | None:
        lines = (text(folder, name) or "").splitlines()
        if name != "mountinfo":
            return text(folder, name)
        return "\n".join(" ".join([*line.split()[:2], "0:4095", *line.split()[3:]]) for line in lines)

    monkeypatch.setattr(storage, "_text", renumbered)
    assert storage.storage_of(file) == before and before["file_system"]
    monkeypatch.setattr(storage, "_mount_id", lambda path: None)
    assert storage.storage_of(file)["file_system"] is None


def test_fragments_are_those_that_filefrag_counts(file: Path) -> None:
    output = subprocess.run(["/usr/sbin/filefrag", file], capture_output=True, text=True)
    if output.returncode != 0:
        pytest.skip("no filefrag, or the file system does not tell")
    assert storage.fragments_of(file) == int(output.stdout.split(":")[-1].split()[0])


def test_processors_that_are_not_there() -> None:
    with pytest.raises(SettingsError, match="processors: 4000 cannot be used; choose from 0"):
        conditions.refuse_impossible(replace(EXPERIMENT, processors=(0, 4000)), Path("model.gguf"), 0)


@pytest.mark.parametrize(("nice", "refused"), [(0, False), (5, True), (12, False)])
def test_only_root_may_raise_a_priority(monkeypatch: pytest.MonkeyPatch, nice: int, refused: bool) -> None:
    """Without a setting the run has the priority of tracegen, also under `nice`."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getpriority", lambda which, who: 10)
    experiment = replace(EXPERIMENT, nice=nice)
    if refused:
        with pytest.raises(SettingsError, match="only root may raise it"):
            conditions.refuse_impossible(experiment, Path("model.gguf"), 0)
    else:
        conditions.refuse_impossible(experiment, Path("model.gguf"), 0)


def test_processors_and_priority_hold_for_the_program(tmp_path: Path) -> None:
    processor = min(os.sched_getaffinity(0))
    experiment = replace(EXPERIMENT, processors=(processor,), nice=7)
    conditions.refuse_impossible(experiment, Path("model.gguf"), 0)
    out = tmp_path / "out"
    code = "import os; print(sorted(os.sched_getaffinity(0)), os.getpriority(os.PRIO_PROCESS, 0))"
    ended = run_program(
        ["python3", "-c", code], stdout=out, stderr=tmp_path / "err", before=conditions.before_start(experiment)
    )
    assert ended.status == 0 and out.read_text() == f"[{processor}] 7\n"
    assert os.sched_getaffinity(0) > {processor} or os.cpu_count() == 1  # ours are what they were


def test_the_code_of_a_program_is_in_memory_before_it_runs(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program, late, other = folder / "llama-x", folder / "libggml-late.so", folder / "model.gguf"
    shutil.copy(sys.executable, program)
    for path in (late, other):
        path.write_bytes(b"x" * (1 << 20))
    preloaded = tmp_path / "attach.so"
    preloaded.write_bytes(b"x" * (1 << 20))
    drop([program, late, other, preloaded])
    fetch_code(program, [preloaded])
    held = {path.name: cached(path) for path in (program, late, other, preloaded)}
    whole = {name for name, of in held.items() if of.cached_bytes == of.size_bytes}
    assert whole == {"llama-x", "libggml-late.so", "attach.so"}
    fetch_code(tmp_path / "none")  # what cannot be read is not what runs
