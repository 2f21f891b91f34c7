"""A model is hashed once, and hashing leaves the page cache unchanged."""

import hashlib
import io
import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from tracegen.contract.errors import EnvironmentFailure
from tracegen.measure.capture import hashing, page_cache, storage
from tracegen.storing import hashes
from tracegen.storing.progress import Progress

SIZE = 64 << 20
FEW = 64  # pages of 16,384: a kernel may take back what nobody used for a moment


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 MiB and a byte on a disk; skips where pages cannot be dropped (tmpfs)."""
    path = tmp_path_factory.mktemp("models") / "model"
    with path.open("wb") as stream:
        for _ in range(SIZE >> 20):
            stream.write(os.urandom(1 << 20))
        stream.write(b"x")
        os.fsync(stream.fileno())
    if storage.storage_of(path)["file_system"] in ("tmpfs", "ramfs"):
        pytest.skip("files in memory have no page cache to drop")
    return path


@pytest.fixture(scope="module")
def digest(model: Path) -> str:
    return hashlib.sha256(model.read_bytes()).hexdigest()


def resident(path: Path) -> np.ndarray:
    with path.open("rb") as stream:
        return page_cache.resident_pages(stream.fileno(), 0, path.stat().st_size)


def test_of_a_file_that_is_partly_in_memory_those_pages_stay(model: Path, digest: str) -> None:
    """Pages in the middle of a piece, across the border of two pieces, single pages, and the last page."""
    page_cache.drop([model])
    pieces = (hashing.PIECE // mmap.PAGESIZE, SIZE // mmap.PAGESIZE)
    wanted = [*range(100, 400), *range(pieces[0] - 50, pieces[0] + 50), *range(3000, 6000, 100), pieces[1]]
    with model.open("rb", buffering=0) as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for page in wanted:
            os.pread(stream.fileno(), 1, page * mmap.PAGESIZE)
    before = resident(model)
    assert before.sum() >= len(wanted) - FEW and before.sum() < 2 * len(wanted)
    assert hashing.sha256_of_cold(model) == digest and (resident(model) != before).sum() < FEW


def test_what_the_kernel_does_not_tell_stays(model: Path, digest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page_cache.drop([model])
    monkeypatch.setattr(hashing, "residency_is_known", lambda path: False)
    assert hashing.sha256_of_cold(model) == digest and (~resident(model)).sum() < FEW


@pytest.mark.parametrize("size", [0, 1, hashing.PIECE - 1, hashing.PIECE, hashing.PIECE + 1])
def test_files_of_any_size(tmp_path: Path, size: int) -> None:
    path, heard = tmp_path / "file", list[int]()
    path.write_bytes(os.urandom(size))
    assert hashing.sha256_of_cold(path, heard.append) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert heard == ([size] if 0 < size <= hashing.PIECE else [hashing.PIECE, size] if size else [])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="nothing: cannot be read: No such file"):
        hashing.sha256_of_cold(tmp_path / "nothing")
    with pytest.raises(EnvironmentFailure, match="nothing: cannot be read: No such file"):
        hashing.hash_files([tmp_path / "nothing"], Progress(io.StringIO()))


def test_a_file_that_is_cut_meanwhile_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3 * hashing.PIECE))
    with pytest.raises(EnvironmentFailure, match=f"it ends before byte {3 * hashing.PIECE}"):
        hashing.sha256_of_cold(path, lambda _: os.truncate(path, hashing.PIECE))
    path.write_bytes(bytes(2 * hashing.PIECE))
    with pytest.raises(EnvironmentFailure, match=f"was cut at byte {hashing.PIECE + 5}"):
        hashing.sha256_of_cold(path, lambda _: os.truncate(path, hashing.PIECE + 5))


def bytes_read() -> int:
    """Bytes that this process has read, from the page cache or from the disk."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])


def test_a_model_is_hashed_once(model: Path, digest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    other = tmp_path / "other"
    other.write_bytes(b"one")
    message = io.StringIO()
    progress = Progress(message)

    def hashed(*paths: Path) -> tuple[list[str], int]:
        before = bytes_read()
        progress.step("memory map")
        hashes = hashing.hash_files(paths, progress)
        progress.done()
        return hashes, bytes_read() - before

    first, n_bytes = hashed(model)
    assert first == [digest] and n_bytes > SIZE
    assert (tmp_path / "tracegen" / "hashes.json").is_file()
    again, n_bytes = hashed(model)
    assert again == [digest] and n_bytes < 1 << 16
    both, n_bytes = hashed(model, other)
    assert both == [digest, hashlib.sha256(b"one").hexdigest()] and n_bytes < 1 << 16
    state = model.stat()
    os.utime(model, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    changed, n_bytes = hashed(model)
    assert changed == [digest] and n_bytes > SIZE
    ended = [line for line in message.getvalue().splitlines() if " % " not in line]
    lines = [line.split(", ", 1)[1:] for line in ended]
    assert lines == [[], ["the hash is known from before"], ["some hashes are known from before"], []]


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, message = tmp_path / "file", io.StringIO()
    path.write_bytes(b"one")
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    progress = Progress(message)
    progress.step("memory map")
    assert hashing.hash_files([path], progress) == [hashlib.sha256(b"one").hexdigest()]
    progress.done()
    assert "the hash cannot be stored for the next run: " in message.getvalue()
