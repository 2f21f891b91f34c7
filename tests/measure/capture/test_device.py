"""What a device can read: the figures against the bytes of the file, the kernel's counters and its page cache."""

import errno
import io
import mmap
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture import device, direct_reads, page_cache, storage
from tracegen.storing.progress import Progress

MIB = 1 << 20
SECONDS = 0.4
Preadv = Callable[[int, Sequence[mmap.mmap], int], int]
PREADV: Preadv = os.preadv


def measure(path: Path, seconds: float = SECONDS) -> device.Device:
    return device.measure_device(path, seconds, Progress(io.StringIO()))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """32 MiB and one byte on a disk: as many blocks of 2 MiB as the largest queue depth needs."""
    path = tmp_path_factory.mktemp("device") / "large"
    path.write_bytes(random.Random(1).randbytes(32 * MIB + 1))
    if storage.storage_of(path)["file_system"] in ("tmpfs", "ramfs"):
        pytest.skip("the temporary folder is on no disk")
    return path


@pytest.fixture
def small(large: Path) -> Iterator[Path]:
    """1 MiB, and half a block."""
    path = large.with_name("small")
    path.write_bytes(large.read_bytes()[: MIB + 2048])
    yield path
    path.unlink()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bytes]]:
    """Offset and bytes of every read."""
    done: list[tuple[int, bytes]] = []

    def read(fd: int, buffers: Sequence[mmap.mmap], offset: int) -> int:
        n = PREADV(fd, buffers, offset)
        done.append((offset, buffers[0][:n]))
        return n

    monkeypatch.setattr(os, "preadv", read)
    return done


def counters() -> dict[str, int]:
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


def test_every_measurement_adds_up_and_the_kernel_counted_its_bytes(large: Path) -> None:
    before = counters()
    result = measure(large)
    after = counters()
    assert [(each.pattern, each.block_bytes, each.queue_depth) for each in result.measurements] == [
        *(("random", kib * 1024, depth) for kib in (4, 16, 128, 2048) for depth in (1, 4, 16)),
        ("sequential", 2 * MIB, 4),
    ]
    assert result.skipped == () and result.file_bytes == 32 * MIB + 1
    for each in result.measurements:
        assert each.queue_depth <= each.reads <= result.file_bytes // each.block_bytes
        assert each.read_bytes == each.reads * each.block_bytes
        assert each.bytes_per_second * each.duration_ns == pytest.approx(each.read_bytes * 1e9)
        assert each.reads_per_second * each.duration_ns == pytest.approx(each.reads * 1e9)
        assert 0 < each.latency_median_ns <= (each.latency_p99_ns or each.duration_ns) <= each.duration_ns
        assert (each.latency_p99_ns is None) == (each.reads < 100)
        # Little's law: at no time are more reads under way than the queue is deep.
        assert each.latency_median_ns * each.reads / 2 <= each.queue_depth * each.duration_ns
    n_bytes = sum(each.read_bytes for each in result.measurements)
    assert after["read_bytes"] - before["read_bytes"] >= n_bytes and after["rchar"] - before["rchar"] >= n_bytes
    assert after["syscr"] - before["syscr"] >= sum(each.reads for each in result.measurements)
    assert sum(each.duration_ns for each in result.measurements) <= result.duration_ns


def test_no_block_is_read_twice(small: Path, reads: list[tuple[int, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_program_limits", lambda _: ())
    result = measure(small, 60.0)  # long enough to read all of it each time
    content = small.read_bytes()
    assert all(data == content[offset : offset + len(data)] for offset, data in reads)
    assert all(offset % len(data) == 0 for offset, data in reads)
    assert [each.reads for each in result.measurements] == [256] * 3 + [64] * 3 + [8] * 2
    rest = reads[2:]  # after the block that is read twice to find out who answers
    for each in result.measurements:
        offsets, rest = [offset for offset, _ in rest[: each.reads]], rest[each.reads :]
        assert sorted(offsets) == list(range(0, MIB, each.block_bytes))
        assert each.block_bytes > 65536 or offsets != sorted(offsets)
    assert rest == []
    assert [(each.pattern, each.block_bytes, each.queue_depth, each.reason) for each in result.skipped] == [
        ("random", 128 * 1024, 16, "the file holds 8 of the 16 blocks that are needed"),
        *(("random", 2 * MIB, n, f"the file holds 0 of the {n} blocks that are needed") for n in (1, 4, 16)),
        ("sequential", 2 * MIB, 4, "the file holds 0 of the 4 blocks that are needed"),
    ]


def test_limits_of_the_program_are_of_reads_that_never_wait(large: Path, reads: list[tuple[int, bytes]]) -> None:
    limits = device._program_limits(1_000_000)
    assert [limit.queue_depth for limit in limits] == [1, 4, 16]
    assert {data for _, data in reads} == {bytes(4096)}
    assert all(limit.latency_median_ns > 0 and limit.reads_per_second > 0 for limit in limits)


def test_a_sequential_read_goes_on_behind_what_it_has_read() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        blocks = device._draw_blocks("sequential", 10, 6, generator)
        assert len(blocks) == 6 and set(np.diff(blocks)) <= {1, -9}
    drawn = device._draw_blocks("random", 10, 99, generator)
    assert sorted(drawn) == list(range(10))
    many = device._draw_blocks("random", 1 << 40, 1000, generator)
    assert len(set(many.tolist())) == 1000 and many.min() >= 0 and many.max() < 1 << 40


def test_the_page_cache_stays_as_it_is(large: Path) -> None:
    """Half of the file is cached, half is not; nothing is added, and only the kernel drops some by itself."""
    page_cache.drop([large])
    with large.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for at in range(0, 32 * MIB, 2 * MIB):
            os.pread(stream.fileno(), MIB, at)
        before = page_cache.resident_pages(stream.fileno(), 0, 32 * MIB)
        measure(large)
        after = page_cache.resident_pages(stream.fileno(), 0, 32 * MIB)
    assert 0 < before.sum() < len(before) and not (after & ~before).any() and after.sum() > before.sum() / 2


def test_the_clock_ends_it(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that a read moves by a second, each measurement ends with the first read of each thread."""
    now = [0]
    lock = threading.Lock()

    def read(fd: int, buffers: Sequence[mmap.mmap], offset: int) -> int:
        with lock:
            now[0] += 10**9
        return PREADV(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", read)
    monkeypatch.setattr(direct_reads.time, "monotonic_ns", lambda: now[0])
    result = measure(large, 0.01)
    assert [each.reads for each in result.measurements] == [each.queue_depth for each in result.measurements]


def test_ctrl_c_ends_the_threads(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads, n_reads = threading.active_count(), [0]

    def read(fd: int, buffers: Sequence[mmap.mmap], offset: int) -> int:
        n_reads[0] += 1
        if n_reads[0] == 100:
            os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.005)  # slow enough that a minute's reads would be many more
        return len(buffers[0])

    monkeypatch.setattr(device, "refuse_memory", lambda *_: None)
    monkeypatch.setattr(device, "_program_limits", lambda _: ())
    monkeypatch.setattr(os, "preadv", read)
    with pytest.raises(KeyboardInterrupt):
        measure(large, 60)
    assert threading.active_count() == threads
    assert n_reads[0] < 200


def test_a_file_that_may_not_be_read(small: Path) -> None:
    small.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)  # root may read everything
        with pytest.raises(EnvironmentFailure, match=r"cannot be read: Permission denied"):
            measure(small)
    finally:
        os.seteuid(user)


def test_a_file_that_is_too_small(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(4095))
    with pytest.raises(SettingsError, match=f"{tmp_path}/x: has 4095 bytes, fewer than the 4096"):
        measure(tmp_path / "x")


@pytest.mark.parametrize(("written", "refused"), [(range(0, 512, 2), True), (range(4, 512), False), ((), True)])
def test_holes_are_refused(large: Path, written: Sequence[int], refused: bool) -> None:
    """Pieces of 64 KiB of 32 MiB are written; 4 of 512 may lack."""
    path = large.with_name("holes")
    with path.open("wb") as stream:
        for piece in written:
            os.pwrite(stream.fileno(), b"x" * 65536, piece * 65536)
        stream.truncate(512 * 65536)
    try:
        if path.stat().st_blocks * 512 >= 512 * 65536:
            pytest.skip("this file system keeps no holes")
        if not refused:
            assert measure(path).measurements
            return
        with pytest.raises(SettingsError, match=r"more than 1% of it was never written \(holes\)"):
            measure(path)
    finally:
        path.unlink()


def test_files_in_memory_are_refused() -> None:
    folder = Path("/dev/shm")
    if not folder.is_dir() or storage.storage_of(folder)["file_system"] != "tmpfs" or not os.access(folder, os.W_OK):
        pytest.skip("no tmpfs here")
    path = folder / f"tracegen-test-{os.getpid()}"
    path.write_bytes(b"x" * MIB)
    try:
        with pytest.raises(EnvironmentFailure, match=r"the file system \(tmpfs\) (serves|refuses) direct reads"):
            measure(path)
    finally:
        path.unlink()


@pytest.mark.parametrize("at_open", [True, False])
def test_a_file_system_that_refuses_direct_reads(small: Path, monkeypatch: pytest.MonkeyPatch, at_open: bool) -> None:
    real = os.open

    def refuse(*given: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    def opened(path: str | Path, flags: int) -> int:
        return refuse() if flags & os.O_DIRECT else real(path, flags)

    monkeypatch.setattr(os, "open" if at_open else "preadv", opened if at_open else refuse)
    with pytest.raises(EnvironmentFailure, match=r"refuses direct reads \(O_DIRECT\), without which .* put the file"):
        measure(small)


def test_a_file_system_that_reads_through_the_page_cache(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flag is taken away, as file systems do that compress: result by the kernel's counter."""
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, flags: real(path, flags & ~os.O_DIRECT))
    for prepare in (page_cache.drop, page_cache.fill):
        prepare([large])
        with pytest.raises(EnvironmentFailure, match=r"serves direct reads \(O_DIRECT\) from memory: the kernel"):
            measure(large)


def test_a_part_that_came_from_memory_is_result_at_the_end(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "refuse_memory", lambda *_: None)
    for module in (device, direct_reads):
        monkeypatch.setattr(module, "bytes_from_devices", lambda: 7)
    with pytest.raises(EnvironmentFailure, match=r"the kernel counts 0 of [0-9]+ bytes as read from a device"):
        measure(small)
    monkeypatch.setattr(direct_reads, "bytes_from_devices", lambda: None)  # a kernel that does not count
    assert measure(small).measurements


def test_a_file_that_is_cut_meanwhile(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(fd: int, buffers: Sequence[mmap.mmap], offset: int) -> int:
        os.truncate(small, 8192)
        return PREADV(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", read)
    with pytest.raises(EnvironmentFailure, match=r"small: cannot be read: it ends at byte [0-9]+: it was cut"):
        measure(small)


def test_a_read_that_fails(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(fd: int, buffers: Sequence[mmap.mmap], offset: int) -> int:
        if offset == 65536:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return PREADV(fd, buffers, offset)

    threads = threading.active_count()
    monkeypatch.setattr(device, "_program_limits", lambda _: ())
    monkeypatch.setattr(os, "preadv", read)
    with pytest.raises(EnvironmentFailure, match=r"cannot be read: Input/output error; try again; the kernel's log"):
        measure(small, 60.0)
    assert threading.active_count() == threads


def test_threads_that_cannot_be_started(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, real = [0], threading.Thread.start

    def start(thread: threading.Thread) -> None:
        started[0] += 1
        if started[0] == 5:
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(EnvironmentFailure, match=r"[0-9]+ threads cannot be started: .*; raise the limit"):
        measure(small)


def test_model_and_largest_request_are_those_of_the_kernel(small: Path) -> None:
    """Against lsblk, which asks udev or sysfs by itself."""
    result = storage.hardware_of(small)
    number = small.stat().st_dev
    disk = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not (disk / "queue").is_dir():
        pytest.skip("a partition, or no block device")
    assert result["max_request_bytes"] == int((disk / "queue/max_sectors_kb").read_text()) * 1024
    named = disk / "device/model"
    assert result["model"] == (named.read_text().strip() if named.is_file() else None)
