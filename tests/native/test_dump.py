"""tt_dump names every kind of segment, record, event, number and page fault that the header of the format lists."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

from tests.native.conftest import NATIVE
from tests.native.trace_bytes import RUN, chunk, fault, header, index, op, pass_begin, record, string, thread_begin

pytestmark = pytest.mark.native

FORMAT = (NATIVE / "include/tensor_trace_format.h").read_text(encoding="utf-8")
ROOM = bytes(256)  # as much as the largest struct, all numbers 0: string 0, and no rows behind it


def kinds(enum: str, prefix: str) -> dict[str, int]:
    """Name (without prefix, lower case) -> number of each value of an enum of the header."""
    body = re.search(rf"enum {enum} \{{(.*?)\}}", FORMAT, re.S)
    assert body is not None
    named = {name.lower(): int(n) for name, n in re.findall(rf"\b{prefix}(\w+) *= *(\d+)", body[1])}
    assert named
    return named


RECORDS = kinds("tt_type", "TT_")
UNITS = kinds("tt_unit_type", "TT_")
FLAGS = kinds("tt_pass_flags", "TT_PASS_")


def event(kind: int) -> bytes:
    """An event of this type: as the header describes those of two units, unless it is known to be another."""
    one = {UNITS["op"]: op()[:15] + b"\x01", UNITS["thread_end"]: struct.pack("<QIHBB", 9_000, 0, 0, 0, kind)}
    many = {UNITS["thread_begin"]: thread_begin(), UNITS["index"]: index(bytes(4), ne0=1)}
    return one.get(kind) or many.get(kind) or struct.pack("<QIHBB", 1, 0, 0, 0, kind) + op()[16:]


def dumped(tools: Path, folder: Path, *segments: bytes) -> list[str]:
    """The lines that tt_dump prints for a folder of these segments, each a file; none may be unknown to it."""
    for i, data in enumerate(segments):
        (folder / f"{RUN.hex()}.{'main' if i == 0 else f't{i:03}'}.tt").write_bytes(data)
    command = [tools / "tt_dump", "--events", folder]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "?" not in ended.stdout and "unknown" not in ended.stdout.replace("dropped_why=unknown", "")
    return ended.stdout.splitlines()


def firsts(lines: list[str]) -> set[str]:
    return {line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("    ")}


def test_every_kind_in_one_folder(tools: Path, tmp_path: Path) -> None:
    main = b"".join([string(0, ""), *(record(n, ROOM) for name, n in RECORDS.items() if name != "string")])
    main += b"".join(_with_flag(flag) for flag in FLAGS.values())
    events = b"".join(event(n) for name, n in UNITS.items() if name != "more")  # the type of a second unit
    numbers = kinds("tt_index_kind", "TT_INDEX_")
    events += b"".join(index(bytes(8), ne0=2, what=n) for n in numbers.values())
    faults = kinds("tt_fault_kind", "TT_FAULT_")
    payloads = {"main": main, "thread": events, "faults": b"".join(fault(n) for n in faults.values())}
    segments = kinds("tt_segment_kind", "TT_SEGMENT_")
    lines = dumped(tools, tmp_path, *(header(n, n) + chunk(payloads.get(name, b"")) for name, n in segments.items()))
    assert firsts(lines) == {*RECORDS, *faults, *UNITS} - {"more"}
    text = "\n".join(lines)
    assert re.findall(r"segment .*kind=(\w+)", text) == list(segments)
    assert set(re.findall(r"what=(\w+)", text)) == set(numbers) and {*re.findall(r"flags=(\w+)", text)} == set(FLAGS)


def _with_flag(flag: int) -> bytes:
    """The start of a pass with this flag, without tokens."""
    data = bytearray(pass_begin(n_tokens=0))
    data[16 + 56 : 16 + 60] = struct.pack("<I", flag)
    return bytes(data)


def test_every_clock_and_every_reason_for_drops(tools: Path, tmp_path: Path) -> None:
    clocks, reasons = kinds("tt_clock_kind", "TT_CLOCK_"), kinds("tt_dropped_why", "TT_DROPPED_")
    for why, n in reasons.items():
        for clock, number in clocks.items():
            data = bytearray(header(clock=number))
            data[80:84] = struct.pack("<I", n)
            text = "\n".join(dumped(tools, tmp_path, bytes(data)))
            assert f"clock={clock} " in text and f"dropped_why={why}" in text


def test_every_proof_of_splits_and_copies(tools: Path, tmp_path: Path) -> None:
    proofs = kinds("tt_proof", "TT_PROOF_")
    last = [struct.pack("<36xI", n) for n in proofs.values()]  # of both structs, but for the time after that of a split
    records = [
        record(RECORDS[name], data + more) for name, more in (("split", bytes(8)), ("copy", b"")) for data in last
    ]
    main = string(0, "") + b"".join(records)
    text = "\n".join(dumped(tools, tmp_path, header() + chunk(main)))
    assert re.findall(r"proof=(\w+)", text) == [*proofs, *proofs]


def test_a_fault_names_the_node_and_waits_of_its_part(tools: Path, tmp_path: Path) -> None:
    faults = fault(7, address=5, took=3) + fault(8, address=2, begin=70, took=9)
    faults += fault(4, address=6) + fault(5, address=4) + fault(6, address=13) + fault(9, begin=80, took=7, address=1)
    lines = dumped(tools, tmp_path, header() + chunk(b""), header(2, 1) + chunk(faults))
    assert "  part time_ns=4100 compute=5 thread=3 os_thread=4242" in lines
    assert "  barrier begin=70 took=9 node=2 os_thread=4242" in lines
    assert "  off_cpu begin_ns=80 took_ns=7 slept=1 os_thread=4242" in lines
    assert lines[-1] == "summary faults=0 elsewhere=6 lost=4 unseen=1 waits=1 off_cpu=1"
