"""Bytes as a file of the older tools, or of a profiler. The first byte says what it is, the rest is its content."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.foreign import profiles
from tests.foreign.samples import SAMPLES, sample
from tests.foreign.test_companions import WHOLE
from tracegen.contract import tables
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign import older_json
from tracegen.foreign.companions import Companions
from tracegen.foreign.json_text import parse_json
from tracegen.foreign.profilers import nsys, opencl, scheduler
from tracegen.foreign.profilers.profile import tables_of
from tracegen.foreign.restore import restore
from tracegen.foreign.source import opened
from tracegen.foreign.tensor_trace.ops import ops_of
from tracegen.foreign.tensor_trace.records import read_records
from tracegen.foreign.trace import ForeignTrace

LONGEST = 1 << 15
KINDS = ("records", "restored json", *sorted(WHOLE), "opencl", "scheduler", "nsys")
BETWEEN = b"\0events\0"  # stands between the two files of OpenCL
PLACE = Path(tempfile.mkdtemp(prefix="fuzz-foreign-")) / "it.bin"


def seeds() -> Iterator[bytes]:
    """The first records of each sample, and a small file of each kind that lies beside a trace."""
    for name in SAMPLES:
        yield bytes([0]) + (sample(name) / "tensor_trace.bin").read_bytes()[: LONGEST - 1]
    yield bytes([1]) + WHOLE["trace"][1]
    for number, kind in enumerate(sorted(WHOLE), 2):
        yield bytes([number]) + WHOLE[kind][1]
    profiles.opencl(PLACE.parent)
    both = [(PLACE.parent / name).read_bytes() for name in ("cl_profiling.csv", "cl_trace.json")]
    yield bytes([KINDS.index("opencl")]) + BETWEEN.join(both)
    yield bytes([KINDS.index("scheduler")]) + profiles.scheduler(PLACE.parent).read_bytes()
    yield bytes([KINDS.index("nsys")]) + profiles.nsys(PLACE.parent).read_bytes()


def check(data: bytes) -> None:
    """Read the file: tables that keep the contract, or TraceFormatError."""
    kind = KINDS[data[0] % len(KINDS)] if data else KINDS[0]
    try:
        if kind == "records":
            _kept(_records(data[1:]))
        elif kind == "restored json":
            _kept(restore("it", older_json.read_traces({"it": data[1:]}), Companions()))
        elif kind == "opencl":
            lines, _, events = data[1:].partition(BETWEEN)
            _kept(tables_of("it", opencl.read("it", lines, events)))
        elif kind == "scheduler":
            document = parse_json("it", data[1:])
            _kept(
                tables_of(
                    "it", scheduler.read("it", document if scheduler.looks_like(document) else profiles.profile())
                )
            )
        elif kind == "nsys":
            PLACE.write_bytes(data[1:])
            _kept(tables_of("it", nsys.read("it", PLACE)))
        else:
            WHOLE[kind][0](data[1:])
    except TraceFormatError:
        return


def _records(data: bytes) -> ForeignTrace:
    PLACE.write_bytes(data)
    with opened(PLACE) as file:
        records = read_records(file)
    return restore("it", ops_of("it", records), Companions(), cut_at=records.cut_at, n_later=records.n_later)


def _kept(trace: ForeignTrace) -> None:
    for name, table in trace.tables.items():
        if len(table):
            tables.check(name, table)
