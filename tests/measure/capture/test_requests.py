"""Known reads of a file, against the pages that became resident and against the kernel's own text of its events."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from tests.loop_disk import loop_disk
from tests.measure.capture.known_reads import (
    MIB,
    PAGE,
    SIZE,
    again_after_eviction,
    direct_reads,
    every_2_mib,
    evict,
    in_order,
    pages_of,
    reads_within,
    recording,
    resident,
    write_model,
)
from tests.ring_pages import files_of, passes_of
from tests.small_disk import small_disk
from tracegen.measure.capture import tracefs
from tracegen.measure.capture.extents import device_number, disk_place
from tracegen.measure.capture.requests import recorded_requests
from tracegen.measure.checks import requests as checks
from tracegen.measure.checks.evidence import Evidence
from tracegen.readers.requests.table import read_requests


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
        assert row["kind"] == ("ahead" if "A" in line.flags else "read") and ended.n_sectors == line.n_sectors
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


def test_a_large_buffer_loses_none(tracing: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
