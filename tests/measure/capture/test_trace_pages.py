"""Pages of a trace that are made outside: what is asked of us may come from any program."""

import fcntl
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracegen.measure.capture import trace_pages as module
from tracegen.measure.capture.trace_pages import trace_pages

NAME = b"0123456789abcdef" * 2 + b".t000.tt"
PAGE = mmap.PAGESIZE
MAKE, DROP = 1, 2


class Asker:
    """Asks as the tracer does, and sees whether somebody serves."""

    def __init__(self, raw: Path) -> None:
        self.trace = raw / "trace"
        self.fifo = os.open(raw / module.FIFO, os.O_RDWR | os.O_NONBLOCK)

    def ask(self, at: int, size: int, name: bytes = NAME, wish: int = MAKE) -> None:
        os.write(self.fifo, struct.pack("<QQ44sI", at, size, name, wish))

    def made(self, size: int, name: bytes = NAME) -> bool:
        """Whether the file gets this size, before nobody serves any more."""
        path = self.trace / os.fsdecode(name)
        while path.stat().st_size < size:
            if not self.served():
                return path.stat().st_size >= size
        return path.stat().st_size == size

    def served(self) -> bool:
        try:
            fcntl.flock(self.fifo, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self.fifo, fcntl.LOCK_UN)
        return False

    def ended(self) -> bool:
        """Whether serving ends soon, for what was asked."""
        return any(not self.served() or threading.Event().wait(0.01) for _ in range(500))


@contextmanager
def asking(tmp_path: Path, most_bytes: int = 1 << 30) -> Iterator[Asker]:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / os.fsdecode(NAME)).touch()
    with trace_pages(tmp_path, most_bytes) as settings:
        assert settings == {"PAGES": tmp_path / "pages"}
        asker = Asker(tmp_path)
        yield asker
    assert not asker.served() and not (tmp_path / "pages").exists()
    os.close(asker.fifo)


def test_zeros_are_written_behind_the_end_and_nothing_else_changes(tmp_path: Path) -> None:
    with asking(tmp_path) as asker:
        path = asker.trace / os.fsdecode(NAME)
        asker.ask(0, PAGE)
        assert asker.made(PAGE) and path.read_bytes() == bytes(PAGE)
        path.write_bytes(b"x" * PAGE)
        asker.ask(PAGE, 1 << 20)
        assert asker.made(PAGE + (1 << 20)) and path.read_bytes() == b"x" * PAGE + bytes(1 << 20)
        asker.ask(0, PAGE, wish=DROP)
        asker.ask(PAGE + (1 << 20), PAGE)
        assert asker.made(2 * PAGE + (1 << 20)) and path.read_bytes()[:PAGE] == b"x" * PAGE


BAD = {
    "a file that is not there": dict(at=0, size=PAGE, name=NAME.replace(b"t000", b"t001")),
    "a name that leads elsewhere": dict(at=0, size=PAGE, name=b"../secret"),
    "a name that is not a segment": dict(at=0, size=PAGE, name=b"run.json"),
    "a place that is not the end": dict(at=PAGE, size=PAGE),
    "no bytes": dict(at=0, size=0),
    "a part of a page": dict(at=0, size=PAGE + 1),
    "more than the limit": dict(at=0, size=1 << 31),
    "a sum that leaves 64 bits": dict(at=(1 << 64) - PAGE, size=2 * PAGE),
    "a wish that is none": dict(at=0, size=PAGE, wish=7),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_cannot_be_done_ends_the_service_and_writes_nothing(tmp_path: Path, bad: dict[str, object]) -> None:
    (tmp_path / "secret").write_text("kept")
    with asking(tmp_path) as asker:
        asker.ask(**bad)  # type: ignore[arg-type]
        assert asker.ended()
        assert [path.stat().st_size for path in asker.trace.iterdir()] == [0]
    assert (tmp_path / "secret").read_text() == "kept"


def test_a_link_to_a_file_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    link = NAME.replace(b"t000", b"t007")
    with asking(tmp_path) as asker:
        (asker.trace / os.fsdecode(link)).symlink_to(tmp_path / "elsewhere")
        asker.ask(0, PAGE, name=link)
        assert asker.ended()
    assert (tmp_path / "elsewhere").stat().st_size == 0


def test_a_disk_that_fills_up_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def full(file: int, piece: memoryview, at: int) -> int:
        written.append(at)
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        return os.write(file, bytes(piece))

    monkeypatch.setattr(module.os, "pwrite", full)
    with asking(tmp_path) as asker:
        asker.ask(0, 1 << 20)
        assert asker.ended() and (asker.trace / os.fsdecode(NAME)).stat().st_size == 0
    assert written == [0, 256 << 10]


def test_the_limit_counts_all_that_was_made(tmp_path: Path) -> None:
    with asking(tmp_path, most_bytes=3 * PAGE) as asker:
        asker.ask(0, 2 * PAGE)
        assert asker.made(2 * PAGE)
        asker.ask(2 * PAGE, 2 * PAGE)
        assert asker.ended() and (asker.trace / os.fsdecode(NAME)).stat().st_size == 2 * PAGE


def test_what_measures_the_cost_of_tracing_takes_nothing_of_the_limit(tmp_path: Path) -> None:
    cost = NAME.replace(b".t000.tt", b".cost")
    with asking(tmp_path, most_bytes=2 * PAGE) as asker:
        (asker.trace / os.fsdecode(cost)).touch()
        asker.ask(0, 1 << 20, name=cost)
        assert asker.made(1 << 20, name=cost)
        asker.ask(0, 2 * PAGE)
        assert asker.made(2 * PAGE)
        asker.ask(1 << 20, 8 << 20, name=cost)
        assert asker.ended()


def test_a_flood_of_requests_ends_with_the_block(tmp_path: Path) -> None:
    with asking(tmp_path) as asker, pytest.raises(BlockingIOError):
        for _ in range(100_000):
            asker.ask(0, PAGE, wish=DROP)


def test_where_no_fifo_can_be_made_the_tracer_gets_no_setting(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "pages").touch()
    with trace_pages(tmp_path, 1 << 30) as settings:
        assert settings == {}
    assert (tmp_path / "pages").exists()
