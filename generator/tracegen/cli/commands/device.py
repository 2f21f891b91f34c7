"""`tracegen device`: what the storage under a file can read, measured on the file itself."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import NUMBER, PATH, Verb
from tracegen.cli.columns import aligned
from tracegen.contract.errors import SettingsError
from tracegen.reading.shown.printing import print_pairs

if TYPE_CHECKING:
    from tracegen.measure.capture.device import Device, Measurement, Skipped

SECONDS, MOST_SECONDS = 5.0, 60.0
NEAR = 0.5  # of the reads per second that the program can do: above it the program may be what limits
NUMBERS = ("block", "queue depth", "reads", "MiB/s", "reads/s", "median", "99th percentile")


@click.command("device", cls=Verb)
@click.argument("path", metavar="PATH", type=PATH)
@click.option("--seconds", type=NUMBER, metavar="S", default=SECONDS, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def command(path: Path, seconds: float, as_json: bool) -> int:
    """Measure, and print what was found."""
    if not (math.isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
        raise SettingsError(f"--seconds {seconds:g}: write a number above 0, at most {MOST_SECONDS:g}")
    from tracegen.measure.capture.device import measure_device
    from tracegen.measure.capture.memory_rate import memory_rate
    from tracegen.storing.progress import Progress

    device = measure_device(path, seconds, Progress())
    memory = memory_rate(anew=True)
    if as_json:
        print(json.dumps({**asdict(device), "memory_rate": memory}, indent=1, allow_nan=False))
    else:
        _print(device)
        print(_memory(memory))
    return 0


def _memory(rate: Mapping[str, Sequence[int]] | None) -> str:
    """The sentence about the rate of memory."""
    if rate is None:
        return "Memory was not measured: it takes 1.5 GiB of free memory, and processors that are not busy."
    each = (
        f"{n_bytes / 2**30:,.1f} GiB/s with {n} thread{'' if n == 1 else 's'}"
        for n, n_bytes in zip(rate["threads"], rate["bytes_per_second"], strict=True)
    )
    return f"Memory is read with {', '.join(each)}."


def _print(device: Device) -> None:
    pairs = {name: "not known" if value is None else value for name, value in _facts(device).items()}
    print_pairs(pairs, {}, as_json=False)
    columns = _columns(device.measurements)
    if not _print_on_terminal(columns):
        print("", *aligned(columns.items(), [name in NUMBERS for name in columns]), "", sep="\n")
    for note in _notes(device):
        print(note)


def _facts(device: Device) -> Mapping[str, str | None]:
    rotational = {None: None, True: "yes, says the kernel", False: "no, says the kernel"}[device.rotational]
    return {
        "file": f"{device.file}, {_size(device.file_bytes)}",
        "fragments": None if device.fragments is None else str(device.fragments),
        "device": device.device,
        "model": device.model,
        "file system": device.file_system,
        "rotational": rotational,
        "scheduler": device.scheduler,
        "read-ahead": _size(device.readahead_bytes),
        "largest request": _size(device.max_request_bytes),
    }


def _columns(measurements: Sequence[Measurement]) -> dict[str, list[str]]:
    return {
        "pattern": [each.pattern for each in measurements],
        "block": [_size(each.block_bytes) or "" for each in measurements],
        "queue depth": [str(each.queue_depth) for each in measurements],
        "reads": [f"{each.reads:,}" for each in measurements],
        "MiB/s": [f"{each.bytes_per_second / 2**20:,.1f}" for each in measurements],
        "reads/s": [f"{each.reads_per_second:,.0f}" for each in measurements],
        "median": [_time(each.latency_median_ns) for each in measurements],
        "99th percentile": [_time(each.latency_p99_ns) for each in measurements],
    }


def _print_on_terminal(columns: Mapping[str, Sequence[str]]) -> bool:
    """Print the table on a terminal that has room for it; whether it was."""
    if not sys.stdout.isatty():
        return False
    from tracegen.storing.terminal import print_table

    return print_table(columns, NUMBERS)


def _notes(device: Device) -> list[str]:
    """Sentences below the table: what was not measured, and the limits of the program itself."""
    notes = [f"Not measured: {_shape(each)}; {each.reason}." for each in device.skipped]
    if any(each.latency_p99_ns is None for each in device.measurements):
        notes.append("–: fewer than 100 reads, too few for a 99th percentile.")
    if not device.program_limits:
        return [*notes, "What the program itself needs for a read is not known: /dev/zero cannot be read."]
    each_depth = (
        f"{_time(limit.latency_median_ns)} ({limit.reads_per_second:,.0f} reads/s) at queue depth {limit.queue_depth}"
        for limit in device.program_limits
    )
    notes.append(f"Without a device, a read takes the program itself {', '.join(each_depth)}.")
    most = {limit.queue_depth: limit.reads_per_second for limit in device.program_limits}
    near = [each for each in device.measurements if each.reads_per_second > NEAR * most[each.queue_depth]]
    if near:
        notes.append(f"Near that, so that the device may be faster: {', '.join(map(_shape, near))}.")
    return notes


def _shape(each: Measurement | Skipped) -> str:
    """`random 4 KiB at queue depth 16`."""
    return f"{each.pattern} {_size(each.block_bytes)} at queue depth {each.queue_depth}"


def _size(n_bytes: int | None) -> str | None:
    """`16 KiB`, `11.3 GiB`; whole where it is whole."""
    if n_bytes is None:
        return None
    power, unit = next(((p, u) for p, u in ((30, "GiB"), (20, "MiB"), (10, "KiB")) if n_bytes >= 1 << p), (0, "B"))
    whole, rest = divmod(n_bytes, 1 << power)
    return f"{n_bytes / (1 << power):,.1f} {unit}" if rest else f"{whole:,} {unit}"


def _time(ns: int | None) -> str:
    if ns is None:
        return "–"
    return f"{ns / 1e3:,.1f} µs" if ns < 1_000_000 else f"{ns / 1e6:,.2f} ms"
