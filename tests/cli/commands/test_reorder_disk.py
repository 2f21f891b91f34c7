"""The reads that `tracegen reorder` simulates, made past the page cache: a device counts as many requests."""

import mmap
import os
import random
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import scaled_case
from tests.loop_disk import loop_disk
from tests.reordered_files import gguf_file, reorder
from tests.reordered_runs import entries_of, joined, relocated, stored_run
from tests.small_disk import needs_root
from tracegen.measure.capture.extents import extents_of

PAGE = mmap.PAGESIZE


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The folder of the device in sysfs, and where it is mounted."""
    with loop_disk(tmp_path) as (_, device, folder):
        yield Path("/sys/block") / device.name, folder


def pages(read: tuple[int, int]) -> tuple[int, int]:
    """The whole pages around a read."""
    return read[0] // PAGE * PAGE, -(-read[1] // PAGE) * PAGE


def requests_of(path: Path, reads: list[tuple[int, int]], sysfs: Path) -> int:
    """The read requests that the device completed while these ranges were read, one call each."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, PAGE) as buffer:
            os.preadv(descriptor, [buffer], 0)  # where the file lies is known from here on
        before = int((sysfs / "stat").read_text().split()[0])
        for begin, end in reads:
            with mmap.mmap(-1, end - begin) as buffer:
                buffer.write(bytes(end - begin))
                assert os.preadv(descriptor, [buffer], begin) >= min(end, path.stat().st_size) - begin
        return int((sysfs / "stat").read_text().split()[0]) - before
    finally:
        os.close(descriptor)


@needs_root
def test_a_device_counts_the_reads_that_were_simulated(
    disk: tuple[Path, Path], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sysfs, folder = disk
    tables = scaled_case(4, 3, moe=True, copied=False)
    stored_run(tables)
    entries = entries_of(tables)
    random.Random(9).shuffle(entries)
    model, out = folder / "m.gguf", folder / "o.gguf"
    model.write_bytes(gguf_file(entries))
    assert reorder(model, out, "--order", "hot", "--run", "demo") == 0
    simulated = re.search(
        r"speed: ([\d.]+) reads per token \(generate pass\) from MODEL as it is, ([\d.]+) from OUT",
        capsys.readouterr().out,
    )
    assert simulated
    os.sync()
    # A request holds at most so many bytes, and so many pieces of memory, which are pages at least.
    limits = {name: int((sysfs / "queue" / name).read_text()) for name in ("max_sectors_kb", "max_segments")}
    least = min(limits["max_sectors_kb"] * 1024, limits["max_segments"] * PAGE)
    for path, median in zip((model, out), simulated.groups(), strict=True):
        if len(extents_of(path)) > 1:
            pytest.skip("the file system gave the file no single stretch")
        n_reads = []
        for reads in joined(relocated(tables, path)):
            ranges = [pages(read) for read in reads]
            split = sum((end - begin - 1) // least for begin, end in ranges)
            assert len(reads) <= requests_of(path, ranges, sysfs) <= len(reads) + split
            assert split < len(reads) / 10, "else the bounds say little"
            n_reads.append(len(reads))
        assert statistics.median(n_reads) == float(median)
