"""The structs of the C headers and the formats that the reader unpacks have the same layout."""

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tracegen.measure.capture import trace_pages
from tracegen.readers.native import fault_records, recorded, records, segments, units

pytestmark = pytest.mark.native

FIELD_BYTES = {"I": 4, "i": 4, "Q": 8}
HEADER = (Path(__file__).parents[2] / "native/include/tensor_trace_format.h").read_text(encoding="utf-8")
TYPES = HEADER.partition("enum tt_type {")[2].partition("};")[0]
STRUCTS = [
    ("tt_file_header", segments._FILE_HEADER),
    ("tt_chunk_header", segments._CHUNK_HEADER),
    ("tt_record", records._RECORD),
    ("tt_page_request", trace_pages._REQUEST),
    *((name, records._TAKERS[int(n)][0]) for n, name in re.findall(r"= (\d+), +/\* struct (\w+)", TYPES)),
]
ARRAYS: dict[str, np.dtype[np.void]] = {
    "tt_node": recorded.NODE,
    "tt_place": recorded.PLACE,
    "tt_token": recorded.TOKEN,
    "tt_op": units.OP_UNIT,
    "tt_long_op": units.LONG_UNITS,
    "tt_thread_begin": units.BEGIN_UNITS,
    "tt_thread_end": units.END_UNIT,
    "tt_index": units.INDEX_UNITS,
    "tt_footprint_part": np.dtype([("bytes", "<u8"), ("kind", "<u4"), ("number", "<u4")]),
    "tt_allocated_class": np.dtype(
        [("n_live", "<u8"), ("live_bytes", "<u8"), ("size_class", "<u4"), ("reserved", "<u4")]
    ),
    "tt_allocated_site": np.dtype(
        [("n_live", "<u8"), ("live_bytes", "<u8"), ("n_all", "<u8"), ("stack", "<u4"), ("reserved", "<u4")]
    ),
    "tt_fault": fault_records.FAULT,
    "tt_faults_elsewhere": fault_records.FAULTS_ELSEWHERE,
    "tt_faults_lost": fault_records.FAULTS_LOST,
    "tt_faults_unseen": fault_records.FAULTS_UNSEEN,
    "tt_fault_part": fault_records.FAULT_PART,
    "tt_barrier_wait": fault_records.BARRIER_WAIT,
    "tt_off_cpu": fault_records.TIME_OFF_CPU,
}
INSIDE = {"usage": "tt_usage", "begin": "tt_device_counts", "end": "tt_device_counts"}  # fields that are structs
Layout = dict[str, tuple[int, dict[str, tuple[int, int]]]]


@pytest.fixture(scope="module")
def layout(tools: Path) -> Layout:
    """Struct -> (size, field -> (offset, size))."""
    structs: Layout = {}
    for line in subprocess.run(
        [tools / "tt_dump", "--layout"], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        name, offset, size = line.split()
        whole, _, field = name.partition(".")
        if field:
            structs[whole][1][field] = int(offset), int(size)
        else:
            structs[whole] = int(size), {}
    return structs


def _fields(form: str) -> list[tuple[int, int]]:
    """(offset, bytes) of each field of a struct format without padding between them."""
    fields, at = [], 0
    for count, code in re.findall(r"(\d*)([a-zA-Z])", form):
        sizes = [int(count)] if code == "s" else [] if code == "x" else [FIELD_BYTES[code]] * int(count or 1)
        for size in sizes:
            fields.append((at, size))
            at += size
    return fields


@pytest.mark.parametrize(("name", "read"), STRUCTS)
def test_struct(layout: Layout, name: str, read: struct.Struct) -> None:
    size, fields = layout[name]
    assert read.size == size
    flat = [
        (at + inner, inner_bytes)
        for field, (at, n) in fields.items()
        for inner, inner_bytes in (_inside(layout, INSIDE[field]) if n in (40, 56) else [(0, n)])
    ]
    assert _fields(read.format) == [part for part in flat if not (name == "tt_chunk_header" and part[0] == 32)]


@pytest.mark.parametrize("name", ARRAYS)
def test_array(layout: Layout, name: str) -> None:
    size, fields = layout[name]
    dtype = ARRAYS[name]
    assert dtype.itemsize == size and dtype.fields is not None
    assert {field: (at, part.itemsize) for field, (part, at, *_) in dtype.fields.items()} == fields


def test_every_struct_is_compared(layout: Layout) -> None:
    assert set(layout) == {*dict(STRUCTS), *ARRAYS, *INSIDE.values()}


def test_the_header_and_the_reader_have_the_same_numbers() -> None:
    """Numbers of record types, event types and index kinds, from the enums of the C header."""
    named = {name: int(number) for name, number in re.findall(r"\b(TT_\w+) *= *(\d+)", HEADER)}
    numbers = {f"_take_{name.lower()}": int(n) for name, n in re.findall(r"TT_(\w+) *= *(\d+)", TYPES)}
    assert numbers == {take.__name__: n for n, (_, take) in records._TAKERS.items()}
    for name in ("OP", "THREAD_BEGIN", "THREAD_END", "INDEX", "LONG_OP", "MORE"):
        assert getattr(units, name) == named[f"TT_{name}"]
    for name in ("ROWS", "EXPERTS", "CELLS", "COLUMNS", "WEIGHTS", "MASK"):
        assert getattr(units, name) == named[f"TT_INDEX_{name}"]
    kinds = dict(re.findall(r"TT_FAULT_(\w+) *= \d+, /\* struct (\w+)", HEADER))
    assert {named[f"TT_FAULT_{name}"]: ARRAYS[struct] for name, struct in kinds.items()} == fault_records.STRUCTS
    for name in kinds:
        assert getattr(fault_records, name) == named[f"TT_FAULT_{name}"]
    for name in ("WARMUP", "ENCODER", "OUTSIDE"):
        assert getattr(recorded, name) == named[f"TT_PASS_{name}"]


def _inside(layout: Layout, name: str) -> list[tuple[int, int]]:
    return list(layout[name][1].values())
