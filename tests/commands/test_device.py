"""`tracegen device`: its table, its JSON, its notes, and how it ends."""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tracegen.cli.commands import device as command
from tracegen.cli.main import main
from tracegen.measure.capture import device, direct_reads, memory_rate, storage
from tracegen.measure.capture.device import Device, Measurement, ProgramLimit, Skipped

MIB = 1 << 20
READS = Measurement("random", 4096, 1, 4321, 4321 * 4096, 10**9, 4321 * 4096.0, 4321.0, 88_600, 1_252_400)
FOUND = Device(
    file="m.gguf",
    file_bytes=2 << 20,
    fragments=3,
    device="/dev/\x1b[2J",
    model=None,
    file_system="ext4",
    rotational=False,
    scheduler="none",
    readahead_bytes=131072,
    max_request_bytes=1310720,
    duration_ns=10**9,
    measurements=(READS, replace(READS, pattern="sequential", block_bytes=2 * MIB, reads=20, latency_p99_ns=None)),
    skipped=(Skipped("random", 128 * 1024, 16, "the file holds 8 of the 16 blocks that are needed"),),
    program_limits=(ProgramLimit(1, 1_000_000.4, 700),),
)
EXPECTED = """\
file             m.gguf, 2 MiB
fragments        3
device           /dev/\\x1b[2J
model            not known
file system      ext4
rotational       no, says the kernel
scheduler        none
read-ahead       128 KiB
largest request  1.2 MiB

pattern     block  queue depth  reads  MiB/s  reads/s   median  99th percentile
random      4 KiB            1  4,321   16.9    4,321  88.6 µs          1.25 ms
sequential  2 MiB            1     20   16.9    4,321  88.6 µs                –

Not measured: random 128 KiB at queue depth 16; the file holds 8 of the 16 blocks that are needed.
–: fewer than 100 reads, too few for a 99th percentile.
Without a device, a read takes the program itself 0.7 µs (1,000,000 reads/s) at queue depth 1.
Memory is read with 10.0 GiB/s with 1 thread, 17.5 GiB/s with 2 threads.
"""
MEMORY = {"threads": [1, 2], "bytes_per_second": [10 << 30, 35 << 29]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a\x1b[31mb"
    path.write_bytes(os.urandom(MIB))
    if storage.storage_of(path)["file_system"] in ("tmpfs", "ramfs"):
        pytest.skip("the temporary folder is on no disk")
    return path


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "measure_device", lambda path, seconds, progress: FOUND)
    monkeypatch.setattr(memory_rate, "memory_rate", lambda *, anew: MEMORY if anew else None)


def test_text(measured: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "m.gguf"]) == 0
    assert capsys.readouterr().out == EXPECTED


def test_on_a_terminal(measured: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cells, in rich's table where it fits and in ours where not."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    words = sorted(EXPECTED.split())
    for columns in ("120", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["device", "m.gguf"]) == 0
        printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # without its colours
        assert sorted(printed.replace("─", "").split()) == words and "\x1b" not in printed


def test_what_is_not_known_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = replace(
        FOUND,
        fragments=None,
        device=None,
        file_system=None,
        rotational=None,
        scheduler=None,
        readahead_bytes=None,
        max_request_bytes=None,
        program_limits=(),
    )
    command._print(unknown)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[-1].strip() for line in lines[1:9]] == ["not known"] * 8
    assert lines[-1] == "What the program itself needs for a read is not known: /dev/zero cannot be read."
    command._print(replace(FOUND, rotational=True))
    assert "rotational       yes, says the kernel" in capsys.readouterr().out


def test_a_figure_near_the_limit_of_the_program_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    command._print(replace(FOUND, program_limits=(ProgramLimit(1, 2 * 4321.0, 700),)))
    assert "so that the device may be faster" not in capsys.readouterr().out
    command._print(replace(FOUND, measurements=(READS,), program_limits=(ProgramLimit(1, 2 * 4320.0, 700),)))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "Near that, so that the device may be faster: random 4 KiB at queue depth 1."


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", str(file), "--seconds", "0.2", "--json"]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out and "\x1b" not in printed.err
    said = json.loads(printed.out)
    assert said["file"] == str(file) and said["file_bytes"] == MIB
    assert {key: said[key] for key in storage.storage_of(file)} == storage.storage_of(file)
    assert len(said["measurements"]) + len(said["skipped"]) == 13
    first = said["measurements"][0]
    assert (first["pattern"], first["block_bytes"], first["queue_depth"]) == ("random", 4096, 1)
    assert first["read_bytes"] == first["reads"] * 4096
    assert said["memory_rate"] is None or said["memory_rate"]["threads"][0] == 1
    assert said["skipped"][-1] == {
        "pattern": "sequential",
        "block_bytes": 2 * MIB,
        "queue_depth": 4,
        "reason": "the file holds 0 of the 4 blocks that are needed",
    }


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "60.1"])
def test_a_time_that_is_none(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "m.gguf", "--seconds", seconds]) == 2
    assert f"--seconds {seconds}: write a number above 0, at most 60" in capsys.readouterr().err


def test_refused_direct_reads(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(direct_reads, "bytes_from_devices", lambda: 0)
    assert main(["device", str(file)]) == 3
    assert "the kernel counts 0 of 4096 bytes as read from a device" in capsys.readouterr().err


def test_a_wrong_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "no\x1b[2J"]) == 2
    said = "tracegen: no\\x1b[2J: cannot be read: No such file or directory; name another file\n"
    assert capsys.readouterr() == ("", said)
