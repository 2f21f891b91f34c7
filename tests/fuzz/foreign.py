"""Bytes as a file of the older tools. The first byte says what the file is, the rest is its content."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.foreign.samples import SAMPLES, sample
from tests.foreign.test_companions import WHOLE
from tracegen.contract import tables
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign import older_json
from tracegen.foreign.companions import Companions
from tracegen.foreign.restore import restore
from tracegen.foreign.source import opened
from tracegen.foreign.tensor_trace.ops import ops_of
from tracegen.foreign.tensor_trace.records import read_records
from tracegen.foreign.trace import ForeignTrace

LONGEST = 1 << 13
KINDS = ("records", "restored json", *sorted(WHOLE))
PLACE = Path(tempfile.mkdtemp(prefix="fuzz-foreign-")) / "it.bin"


def seeds() -> Iterator[bytes]:
    """The first records of each sample, and a small file of each kind that lies beside a trace."""
    for name in SAMPLES:
        yield bytes([0]) + (sample(name) / "tensor_trace.bin").read_bytes()[: LONGEST - 1]
    yield bytes([1]) + WHOLE["trace"][1]
    for number, kind in enumerate(KINDS[2:], 2):
        yield bytes([number]) + WHOLE[kind][1]


def check(data: bytes) -> None:
    """Read the file: tables that keep the contract, or TraceFormatError."""
    kind = KINDS[data[0] % len(KINDS)] if data else KINDS[0]
    try:
        if kind == "records":
            _kept(_records(data[1:]))
        elif kind == "restored json":
            _kept(restore("it", older_json.read_traces({"it": data[1:]}), Companions()))
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
