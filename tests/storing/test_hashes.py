"""The cache of file hashes: what is cached, and when the cache is not used."""

import hashlib
import json
import os
from multiprocessing import get_context
from pathlib import Path

import pytest

from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing import hashes
from tracegen.storing.hashes import HashCache


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hashes of files that were just written be cached, as the change time of an inode cannot be set."""
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def remembered(cache: Path, path: Path) -> str:
    """Hash the file, and then write another hash of it into the cache file."""
    known = HashCache(cache)
    assert known.sha256(path, path.stat()) == digest_of(path)
    known.save()
    cache.write_text(cache.read_text().replace(digest_of(path), "remembered"))
    return digest_of(path)


@pytest.mark.usefixtures("settled")
def test_a_file_that_is_the_same_is_not_read_again(tmp_path: Path) -> None:
    path, cache = tmp_path / "file", tmp_path / "folder" / "hashes.json"
    path.write_bytes(b"one")
    remembered(cache, path)
    os.link(path, tmp_path / "linked")
    assert HashCache(cache).known(path.stat()) is None, "a new link changes the inode"
    remembered(cache, path)
    for same in (path, tmp_path / "linked"):
        assert HashCache(cache).sha256(same, same.stat()) == "remembered"
        assert HashCache(cache, trust=False).sha256(same, same.stat()) == digest_of(path)


@pytest.mark.usefixtures("settled")
def test_a_file_that_has_changed_is_hashed_anew(tmp_path: Path) -> None:
    path, cache = tmp_path / "file", tmp_path / "hashes.json"
    path.write_bytes(b"one")
    state = path.stat()
    remembered(cache, path)
    path.write_bytes(b"two")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert HashCache(cache).sha256(path, path.stat()) == hashlib.sha256(b"two").hexdigest()
    remembered(cache, path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # put back: the inode tells
    assert HashCache(cache).known(path.stat()) is None
    other = tmp_path / "other"
    other.write_bytes(b"two")
    os.replace(other, path)
    assert HashCache(cache).known(path.stat()) is None


def test_a_file_that_changed_a_moment_ago_is_not_remembered(tmp_path: Path) -> None:
    path, cache = tmp_path / "file", tmp_path / "hashes.json"
    path.write_bytes(b"one")
    known = HashCache(cache)
    assert known.sha256(path, path.stat()) == digest_of(path)
    known.save()
    assert known.known(path.stat()) is None and not cache.exists()


@pytest.mark.usefixtures("settled")
def test_a_file_that_changes_while_it_is_hashed_is_not_remembered(tmp_path: Path) -> None:
    path, cache = tmp_path / "file", tmp_path / "hashes.json"
    path.write_bytes(b"one")

    def slow(path: Path) -> str:
        digest = digest_of(path)
        path.write_bytes(b"longer")
        return digest

    known = HashCache(cache)
    assert known.sha256(path, path.stat(), slow) == hashlib.sha256(b"one").hexdigest()
    known.save()
    assert not cache.exists()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{broken",
        "[]",
        "null",
        '{"schema": 99, "files": {}}',
        '{"schema": 1}',
        '{"schema": 1, "files": []}',
        '{"schema": 1, "files": {"1:2": 3}}',
        '{"schema": 1, "files": {"1:2": [1, 2]}}',
        '{"/a/path": [1, 2, 3, 4, "x"]}',
        '{"schema": 1, "files": {"1:2": ["a", "b", "c", "d"]}}',
        "\udcff",
    ],
)
@pytest.mark.usefixtures("settled")
def test_a_broken_cache_is_made_anew(tmp_path: Path, content: str) -> None:
    path, cache = tmp_path / "file", tmp_path / "hashes.json"
    path.write_bytes(b"one")
    cache.write_bytes(content.encode("utf-8", "surrogateescape"))
    known = HashCache(cache)
    assert known.sha256(path, path.stat()) == digest_of(path)
    known.save()
    assert list(json.loads(cache.read_text())["files"]) == [f"{path.stat().st_dev}:{path.stat().st_ino}"]
    assert HashCache(cache).known(path.stat()) == digest_of(path)


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    path = tmp_path / "file"
    path.write_bytes(b"one")
    known = HashCache(path / "below" / "hashes.json")
    known.sha256(path, path.stat())
    with pytest.raises(EnvironmentFailure, match="cannot be written"):
        known.save()


def add(cache: Path, path: Path) -> None:
    """Run in a separate process: read the cache, hash a file, write the cache."""
    hashes.SETTLED_NS = -1
    known = HashCache(cache)
    known.sha256(path, path.stat())
    known.save()


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    cache, paths = tmp_path / "hashes.json", [tmp_path / f"file-{i}" for i in range(8)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]))
    fork = get_context("fork")
    running = [fork.Process(target=add, args=(cache, path)) for path in paths]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0
    assert [HashCache(cache).known(path.stat()) for path in paths] == [digest_of(path) for path in paths]
