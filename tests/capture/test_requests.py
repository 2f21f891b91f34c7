"""Known reads of a file, against the pages that became resident and against the kernel's own text of its events."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest

from tests.loop_disk import loop_disk
from tests.ring_pages import files_of, passes_of
from tests.small_disk import small_disk
from tracegen.capture import tracefs
from tracegen.capture.extents import NoPlacesError, device_number, disk_place, extents_of
from tracegen.capture.requests import Requests, recorded_requests
from tracegen.checks import requests as checks
from tracegen.checks.evidence import Evidence
from tracegen.readers.requests.table import read_requests

MIB = 1 << 20
PAGE = mmap.PAGESIZE
SIZE = 24 * MIB


@pytest.fixture
def tracing(request: pytest.FixtureRequest) -> Path:
    """Where tracefs is mounted."""
    mounted: Path = request.getfixturevalue("tracefs")
    return mounted


def write_model(path: Path) -> Path:
    """A file of 24 MiB on the device, with none of its pages in memory."""
    path.write_bytes(random.Random(7).randbytes(SIZE))
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    evict(path, 0, SIZE)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    (tmp_path / "probe").write_bytes(b"1")
    try:
        device_number(tmp_path / "probe")
        extents_of(tmp_path / "probe")
    except NoPlacesError as error:
        pytest.skip(f"the temporary folder has no places on a device: {error}")
    return write_model(path)


def evict(path: Path, offset: int, size: int) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, offset, size, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def resident(path: Path) -> set[int]:
    """The pages of the file that are in memory, after reads that are under way have had time to end."""
    time.sleep(0.1)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size = path.stat().st_size
    states = (ctypes.c_ubyte * -(-size // PAGE))()
    with path.open("rb") as stream:
        no = ctypes.c_size_t(0)
        address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, stream.fileno(), no)
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), states) == 0
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return {number for number, state in enumerate(states) if state & 1}


def recording(raw: Path, path: Path, act: Callable[[], None]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table `requests` of what happens in `act`, and the facts of the recording."""
    with recorded_requests(raw, wanted=True) as requests:
        assert requests and requests.refused is None
        act()
        time.sleep(0.1)
    requests.locate([path])
    return read_requests(raw / "requests", passes_of(), files_of(path.stat().st_size))


def pages_of(table: pd.DataFrame, begin_ns: int, end_ns: int) -> list[int]:
    """Each page of the file that was requested within a time."""
    rows = table[(table["file"] == 0) & table["issue_ns"].between(begin_ns, end_ns)]
    spans = zip(rows["offset"].astype("int64"), rows["file_bytes"], strict=True)
    return sorted(page for offset, size in spans for page in range(offset // PAGE, (offset + size - 1) // PAGE + 1))


@contextmanager
def cold_map(path: Path) -> Iterator[mmap.mmap]:
    """A mapping whose pages are read one by one."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)
        yield mapped


def every_2_mib(path: Path) -> None:
    with cold_map(path) as mapped:
        assert sum(mapped[place] for place in range(0, SIZE, 2 * MIB)) >= 0


def in_order(path: Path) -> None:
    with path.open("rb", buffering=0) as stream:
        stream.seek(5 * MIB)
        for _ in range(32):
            stream.read(MIB // 16)


def again_after_eviction(path: Path) -> None:
    evict(path, 6 * MIB, MIB // 2)
    with cold_map(path) as mapped:
        assert sum(mapped[place] for place in range(6 * MIB, 6 * MIB + MIB // 2, PAGE)) >= 0


def test_the_requests_cover_exactly_the_pages_that_became_resident(tracing: Path, model: Path, tmp_path: Path) -> None:
    evict(model, 0, SIZE)
    assert resident(model) == set()
    phases: list[tuple[int, int, set[int]]] = []

    def act() -> None:
        for phase in (every_2_mib, in_order):
            before, begin = resident(model), time.monotonic_ns()
            phase(model)
            after = resident(model)
            phases.append((begin, time.monotonic_ns(), after - before))
        begin = time.monotonic_ns()
        again_after_eviction(model)
        phases.append((begin, time.monotonic_ns(), set(range(6 * MIB // PAGE, (6 * MIB + MIB // 2) // PAGE))))
        gone = phases[-1][2] - resident(model)
        assert len(gone) <= len(phases[-1][2]) // 50  # some kernels drop pages early, by themselves

    table, facts = recording(tmp_path / "raw", model, act)
    assert facts["requests_recorded"] and facts["requests_lost"] == 0 and facts["requests_unplaced"] is None
    single, stretch, again = (pages_of(table, begin, end) for begin, end, _ in phases)
    assert single == list(range(0, SIZE // PAGE, 2 * MIB // PAGE)) == sorted(phases[0][2])
    assert stretch == sorted(phases[1][2])
    assert set(stretch) | set(single) >= set(range(5 * MIB // PAGE, 7 * MIB // PAGE))
    assert again == sorted(phases[2][2])
    of_model = table[(table["file"] == 0).fillna(value=False)]
    assert of_model["duration_ns"].notna().all() and (of_model["duration_ns"] > 0).all()


@dataclass(frozen=True)
class Line:
    """A line of the kernel's text."""

    time_us: int
    event: str
    device: str
    flags: str
    sector: int
    n_sectors: int


_LINE = re.compile(
    r" (\d+)\.(\d{6}): block_rq_(issue|complete|requeue): (\d+),(\d+) (\w+) (?:\d+ )?\(.*?\) (\d+) \+ (\d+) ",
    re.MULTILINE,
)


@contextmanager
def kernel_text(tracing: Path) -> Iterator[Callable[[], list[Line]]]:
    """An instance of the test's own, whose text the test reads itself."""
    folder = tracing / "instances" / f"witness-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / "trace_clock").write_text("mono")
        (folder / "buffer_size_kb").write_text("8192")
        for event in ("issue", "complete", "requeue"):
            (folder / f"events/block/block_rq_{event}/enable").write_text("1")

        def lines() -> list[Line]:
            (folder / "tracing_on").write_text("0")
            found = [
                Line(int(s) * 10**6 + int(us), event, f"{major}:{minor}", flags, int(sector), int(n))
                for s, us, event, major, minor, flags, sector, n in _LINE.findall((folder / "trace").read_text())
            ]
            return [line for line in found if "R" in line.flags]

        yield lines
    finally:
        (folder / "tracing_on").write_text("0")
        folder.rmdir()


def test_the_requests_are_those_of_the_kernels_own_text(tracing: Path, model: Path, tmp_path: Path) -> None:
    evict(model, 0, SIZE)
    with kernel_text(tracing) as text:
        times = []

        def act() -> None:
            times.append(time.monotonic_ns() // 1000)
            every_2_mib(model)
            in_order(model)
            again_after_eviction(model)
            times.append(time.monotonic_ns() // 1000)

        table, _ = recording(tmp_path / "raw", model, act)
        lines = text()
    begin, end = times
    number, _ = disk_place(device_number(model))
    device = f"{os.major(number)}:{os.minor(number)}"
    lines = [line for line in lines if line.device == device]
    rows = table[table["issue_ns"].floordiv(1000).between(begin, end)].to_dict("records")
    expected = [pair for pair in pairs(lines) if begin <= pair[0].time_us <= end]
    assert len(rows) == len(expected) >= 12 + 2
    # By place: reads of other programs on another processor may stand the other way round in the two instances.
    rows.sort(key=lambda row: (row["place"], row["issue_ns"]))
    expected.sort(key=lambda pair: (pair[0].sector, pair[0].time_us))
    apart: list[int] = []
    for row, (line, ended) in zip(rows, expected, strict=True):
        assert (row["device"], row["place"], row["size_bytes"]) == (device, line.sector * 512, line.n_sectors * 512)
        assert row["kind"] == ("ahead" if "A" in line.flags else "read")
        assert ended.n_sectors == line.n_sectors
        apart += [row["issue_ns"] - line.time_us * 1000, row["issue_ns"] + row["duration_ns"] - ended.time_us * 1000]
    # Each instance reads the clock by itself, a moment apart, longer when an interrupt comes between.
    assert median(map(abs, apart)) < 2_000 and max(map(abs, apart)) < 1_000_000


def pairs(lines: list[Line]) -> list[tuple[Line, Line]]:
    """Each read that the device took, with its end; the device puts some back, and they are issued once more."""
    found = []
    for i, line in enumerate(lines):
        if line.event == "issue":
            others = (other for other in lines[i + 1 :] if other.sector == line.sector and other.event != "issue")
            after = next(others, None)
            if after and after.event == "complete":
                found.append((line, after))
    return found


def direct_reads(path: Path, reads: Sequence[tuple[int, int]]) -> None:
    """Read past the page cache, one read after the other."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        for offset, size in reads:
            with mmap.mmap(-1, size) as buffer:
                assert os.preadv(descriptor, [buffer], offset) == size
    finally:
        os.close(descriptor)


def reads_within(path: Path, n: int) -> list[tuple[int, int]]:
    """Reads at random of 4, 16 and 64 KiB, each within an extent of the file."""
    extent = max(extents_of(path), key=lambda extent: extent.size_bytes)
    behind = min(extent.offset + extent.size_bytes, SIZE)
    if behind - extent.offset < 256 * 1024:
        pytest.skip("the file system gave the file no stretch of 256 KiB")
    choice = random.Random(8)
    sizes = [choice.choice((1, 4, 16)) * 4096 for _ in range(n)]
    return [(extent.offset + 4096 * choice.randrange((behind - extent.offset - size) // 4096), size) for size in sizes]


def test_direct_reads_are_exactly_those_requests(tracing: Path, model: Path, tmp_path: Path) -> None:
    reads = reads_within(model, 50)
    times: list[int] = []

    def act() -> None:
        direct_reads(model, reads)
        times.append(time.monotonic_ns())

    begin = time.monotonic_ns()
    table, facts = recording(tmp_path / "raw", model, act)
    rows = table[(table["file"] == 0).fillna(value=False)]
    assert list(zip(rows["offset"], rows["size_bytes"], strict=True)) == reads
    assert (rows["file_bytes"] == rows["size_bytes"]).all() and (rows["kind"] == "read").all()
    assert rows["issue_ns"].is_monotonic_increasing and rows["issue_ns"].between(begin, times[0]).all()
    ends = rows["issue_ns"] + rows["duration_ns"]
    assert (ends.iloc[:-1].to_numpy() <= rows["issue_ns"].iloc[1:].to_numpy()).all()
    assert facts["requests_lost"] == 0


def test_a_model_on_a_partition_of_a_loop_device_is_found(tracing: Path, tmp_path: Path) -> None:
    with loop_disk(tmp_path) as (_, device, folder):
        path = write_model(folder / "model")
        reads = reads_within(path, 20)
        table, _ = recording(tmp_path / "raw", path, lambda: direct_reads(path, reads))
        number = device.stat().st_rdev
    rows = table[(table["file"] == 0).fillna(value=False)]
    assert list(zip(rows["offset"], rows["size_bytes"], strict=True)) == reads
    assert set(table["device"]) == {f"{os.major(number)}:{os.minor(number)}"}


def test_a_model_in_memory_says_that_it_has_no_place(tracing: Path, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with small_disk(tmp_path / "memory", "size=1m"):
        path = tmp_path / "memory" / "model"
        path.write_bytes(b"GGUF")
        table, facts = recording(tmp_path / "raw", path, lambda: None)
    assert facts["requests_recorded"] and "no single block device" in facts["requests_unplaced"] and table.empty


def test_a_buffer_too_small_loses_events_and_says_so(
    tracing: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracefs, "_BUFFER_BYTES", 0)
    monkeypatch.setattr(tracefs, "_LEAST_KB", 8)
    reads = [(4096 * i, 4096) for i in range(1500)]
    table, facts = recording(tmp_path / "raw", model, lambda: direct_reads(model, reads))
    lost = facts["requests_lost"]
    assert 1000 < lost < 2 * 1500 + 5_000
    of_model = int((table["file"] == 0).sum())
    assert 0 < of_model < 1500 and 2 * of_model + lost >= 2 * 1500 - 100
    trace = {"requests_recorded": True, "requests_refused": None, "requests_lost": lost, "requests_unplaced": None}
    check = checks.recorded(Evidence({"requests": table}, trace, {}))
    assert check.state == "failed" and check.found.startswith(f"{lost:,} events lost".replace(",", "\u202f"))


def test_a_buffer_that_is_emptied_in_time_loses_none(
    tracing: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracefs, "_BUFFER_BYTES", 0)
    monkeypatch.setattr(tracefs, "_LEAST_KB", 64)
    reads = [(4096 * i, 4096) for i in range(1500)]
    with recorded_requests(tmp_path, wanted=True) as requests:
        assert requests
        for i in range(0, len(reads), 100):
            direct_reads(model, reads[i : i + 100])
            requests.drain()
    requests.locate([model])
    table, facts = read_requests(tmp_path / "requests", passes_of(), files_of(SIZE))
    assert facts["requests_lost"] == 0
    rows = table[(table["file"] == 0).fillna(value=False)]
    assert list(zip(rows["offset"], rows["size_bytes"], strict=True)) == reads


def instances(tracing: Path) -> set[str]:
    return {folder.name for folder in (tracing / "instances").iterdir()}


def test_who_is_not_root_is_told_so(tracing: Path, tmp_path: Path) -> None:
    end, begin = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with recorded_requests(tmp_path / "raw", wanted=True) as requests:
                os.write(begin, str(requests and requests.refused).encode())
        finally:
            os._exit(0)
    os.close(begin)
    with os.fdopen(end, "rb") as stream:
        refused = stream.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert "Permission denied" in refused and "only root may record" in refused


def in_a_mount_namespace(code: str) -> str:
    """What a program prints that sees no tracefs but what it mounts itself."""
    unmount = """
import ctypes, os, sys
from pathlib import Path
libc = ctypes.CDLL(None)
while (folders := [line.split()[4] for line in open("/proc/self/mountinfo") if " - tracefs " in line]):
    assert libc.umount2(folders[-1].encode(), 2) == 0
"""
    ended = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", unmount + code], capture_output=True, text=True, timeout=60
    )
    if "unshare" in ended.stderr:
        pytest.skip(ended.stderr.strip())
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_where_tracefs_is_not_mounted_one_is_told_what_to_do(tracing: Path, tmp_path: Path) -> None:
    code = f"""
from tracegen.capture.requests import recorded_requests
with recorded_requests(Path({str(tmp_path)!r}), wanted=True) as requests:
    print(requests.refused)
requests.locate([])
"""
    assert in_a_mount_namespace(code) == (
        "tracefs is not mounted: `mount -t tracefs nodev /sys/kernel/tracing` as root"
    )
    table, facts = read_requests(tmp_path / "requests", passes_of(), files_of())
    assert table.empty and "tracefs is not mounted" in facts["requests_refused"]


def test_tracefs_is_found_under_any_name(tracing: Path, tmp_path: Path) -> None:
    folder = tmp_path / "trace \\ é\t2"
    folder.mkdir()
    code = f"""
from tracegen.capture.tracefs import tracefs_folder
assert tracefs_folder() is None
assert libc.mount(b"nodev", os.fsencode({str(folder)!r}), b"tracefs", 0, None) == 0
print(tracefs_folder() == Path({str(folder)!r}), tracefs_folder())
"""
    assert in_a_mount_namespace(code).startswith("True")


HOLD = """
import time
from tracegen.capture import tracefs
with tracefs.instance() as made:
    made.begin(("block/block_rq_issue",), 'rwbs ~ "*R*"')
    print(made.folder.name, flush=True)
    time.sleep(60)
"""


@contextmanager
def holding() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that records, and the name of its instance; it is killed at the end of the block."""
    child = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    try:
        yield child, child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_the_instance_of_a_killed_process_is_removed_by_the_next(tracing: Path) -> None:
    foreign = tracing / "instances" / f"tracegen-{os.getpid()}-of-somebody"
    taken = tracing / "instances" / "tracegen-1-4000000000"  # process 1 lives, and did not begin then
    for folder in (foreign, taken):
        folder.mkdir()
    try:
        with holding() as (_, living):
            with holding() as (_, killed):
                assert {living, killed} <= instances(tracing)
            assert killed in instances(tracing)
            with tracefs.instance() as made:
                there = instances(tracing)
                assert {living, foreign.name, made.folder.name} <= there
                assert not {killed, taken.name} & there
            assert made.folder.name not in instances(tracing) and living in instances(tracing)
        with tracefs.instance():
            assert living not in instances(tracing)
    finally:
        for folder in (foreign, taken):
            if folder.exists():
                folder.rmdir()


def test_after_an_exception_the_instance_is_gone(tracing: Path, tmp_path: Path) -> None:
    before = instances(tracing)
    with pytest.raises(ZeroDivisionError), recorded_requests(tmp_path, wanted=True) as requests:
        assert requests and requests.refused is None
        assert len(instances(tracing) - before) == 1
        raise ZeroDivisionError
    assert instances(tracing) == before


def test_two_recordings_one_after_the_other_have_their_own_events(tracing: Path, model: Path, tmp_path: Path) -> None:
    reads = reads_within(model, 8)
    for number, part in enumerate((reads[:4], reads[4:])):
        table, _ = recording(tmp_path / str(number), model, lambda part=part: direct_reads(model, part))  # type: ignore[misc]
        rows = table[(table["file"] == 0).fillna(value=False)]
        assert list(zip(rows["offset"], rows["size_bytes"], strict=True)) == part


def test_nobody_is_recorded_who_did_not_ask(tmp_path: Path) -> None:
    with recorded_requests(tmp_path, wanted=False) as requests:
        assert requests is None
    assert not list(tmp_path.iterdir())


def rewritten(path: Path) -> None:
    path.write_bytes(b"2" * 9000)


def truncated(path: Path) -> None:
    os.truncate(path, 100)


def replaced(path: Path) -> None:
    path.with_name("new").write_bytes(b"3" * 9000)
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [rewritten, truncated, replaced, lambda path: path.chmod(0o600)])
@pytest.mark.parametrize("later_s", [0.0, 0.02])
def test_a_file_that_changed_meanwhile_has_no_places(
    model: Path, tmp_path: Path, change: Callable[[Path], None], later_s: float
) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"1" * 9000)
    time.sleep(0.05)
    requests = Requests(tmp_path / "raw")
    time.sleep(later_s)
    change(path)
    requests.locate([path, model])
    assert places(tmp_path / "raw") == ["it was changed while the program ran", None]


def test_a_file_that_was_removed_has_no_places(model: Path, tmp_path: Path) -> None:
    requests = Requests(tmp_path / "raw")
    requests.locate([tmp_path / "nowhere", model])
    assert places(tmp_path / "raw") == ["No such file or directory", None]


def places(raw: Path) -> list[Any]:
    """Why each file has no places."""
    state = pd.read_json(raw / "requests" / "state.json", typ="series")
    return [file["refused"] for file in state["files"]]
