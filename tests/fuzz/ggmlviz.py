"""Bytes as a `.ggmlviz` trace. The first byte says which table of operations is wanted, the rest is the file."""

from collections.abc import Iterator

from tests.foreign import ggmlviz_bytes as made
from tracegen.contract import tables
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign import ggmlviz
from tracegen.foreign.op_numbers import TABLES

LONGEST = 1 << 12
WANTED = (None, *TABLES)
EMPTY = tables.empty()
tables.empty = lambda: dict(EMPTY)  # made once: they take most of the time of a small trace


def seeds() -> Iterator[bytes]:
    """The small samples, and files of both dialects with graphs in one another, each with and without a table."""
    nested = [made.graph(0, 1, 4, 0x9000), *made.two_ops(10), *made.two_ops(60, thread=8), made.graph(1, 99, 4, 0x9000)]
    buffers = [made.memory(6, 2, 0xA, 64, "CPU"), made.memory(4, 3, 0xB, 8, "w"), made.memory(7, 100, 0xA, 64)]
    others = [made.record(kind, 101 + kind, 7, b"") for kind in (8, 9, 10)]
    mine = [nested, [*buffers, *nested, *others], [*nested, made.record(6, 101, 7, b""), made.record(7, 102, 7, b"")]]
    files = [made.sample(number) for number in ("02", "03", "05", "10", "11", "13", "14")]
    for data in (*files, *(made.HEADER + b"".join(records) for records in mine)):
        for way in (0, len(WANTED) - 1):
            yield bytes([way]) + data


def check(data: bytes) -> None:
    """Read the trace: tables that keep the contract, or TraceFormatError."""
    wanted = WANTED[data[0] % len(WANTED)] if data else None
    try:
        trace = ggmlviz.read("it", data[1:], op_table=wanted)
    except TraceFormatError:
        return
    for name, table in trace.tables.items():
        if len(table):
            tables.check(name, table)
