from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tracegen.contract.errors import EnvironmentFailure, StoreError
from tracegen.measure.runs import parcel
from tracegen.measure.runs.parcel import Item, found, listed, read_piece, receive, refuse_no_room


def a_folder(path: Path) -> Path:
    (path / "raw").mkdir(parents=True)
    (path / "run.json").write_bytes(b"{}")
    (path / "raw" / "trace").write_bytes(bytes(range(256)) * 9)
    (path / "raw" / "empty").write_bytes(b"")
    return path


def test_a_folder_arrives_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, reads, seen = a_folder(tmp_path / "a"), [], []
    monkeypatch.setattr(parcel, "PIECE", 1000)

    def read(name: str, offset: int) -> bytes:
        reads.append((name, offset))
        return read_piece(str(source / name), offset, 1000)

    receive(listed(source), tmp_path / "b", read, seen.append)
    assert listed(tmp_path / "b") == listed(source)
    assert reads == [("raw/trace", 0), ("raw/trace", 1000), ("raw/trace", 2000), ("run.json", 0)]
    assert seen == [1000, 2000, 2304, 2306]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a//b", "./a", "a\0b", ""])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    item = Item(name, 1, hashlib.sha256(b"x").hexdigest())
    with pytest.raises(StoreError, match="leads out of the folder"):
        receive([item], tmp_path / "b", lambda name, offset: b"x")
    assert list(tmp_path.rglob("x")) == []


@pytest.mark.parametrize("sent", [b"", b"wor", b"worse", b"worlds"])
def test_what_arrives_otherwise_is_refused(tmp_path: Path, sent: bytes) -> None:
    item = Item("a", 5, hashlib.sha256(b"world").hexdigest())
    with pytest.raises(StoreError, match="of 5 bytes arrived, or others"):
        receive([item], tmp_path, lambda name, offset: sent[offset:])


def test_a_model_is_found_by_its_hash(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    for folder in (one, two, other):
        folder.mkdir()
    (one / "m-00001-of-00002.gguf").write_bytes(b"same")  # the second part is missing
    (two / "m-00001-of-00002.gguf").write_bytes(b"same")
    (two / "m-00002-of-00002.gguf").write_bytes(b"too")
    (other / "renamed.gguf").write_bytes(b"only")
    (other / "false.gguf").write_bytes(b"onLy")

    def hashed(paths: list[Path]) -> list[str]:
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]

    split = listed(two)
    folders = [tmp_path / "missing", one, two, other]
    assert found(split, folders, hashed) == two / "m-00001-of-00002.gguf"
    single = Item("model.gguf", 4, hashlib.sha256(b"only").hexdigest())
    assert found([single], folders, hashed) == other / "renamed.gguf"
    assert found([Item("model.gguf", 4, hashlib.sha256(b"none").hexdigest())], folders, hashed) is None


def test_a_model_without_room_is_refused(tmp_path: Path) -> None:
    refuse_no_room(tmp_path / "new", 1)
    with pytest.raises(EnvironmentFailure, match="bytes free and needs"):
        refuse_no_room(tmp_path, 1 << 62)
