"""A trace byte by byte, from the prose of tensor_trace_format.h and without the writer: one pass, one thread."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracegen.readers.native import NativeTrace, read_trace

Files = Mapping[str, bytes]

NONE = 0xFFFFFFFF
RUN = bytes(range(16))
MAIN, THREAD = f"{RUN.hex()}.main.tt", f"{RUN.hex()}.t000.tt"
STRINGS = ("", "GET_ROWS", "inp_embd", "f32", "NONE", "token_embd.weight", "CPU", "inp_tokens")


def read(files: Files) -> NativeTrace:
    return read_trace({name: np.frombuffer(data, np.uint8) for name, data in files.items()})


def header(
    kind: int = 0, number: int = 0, *, magic: bytes = b"TTRACE\r\n", version: int = 1, run: bytes = RUN
) -> bytes:
    checked = struct.pack("<8sII16sIIQQI", magic, version, kind, run, number, 4242, 1_000, 0, 0)
    return (checked + struct.pack("<IQQ", zlib.crc32(checked), 0, 0)).ljust(4096, b"\0")


def chunk(payload: bytes, sequence: int = 0, *, sealed: int = 1, committed: int | None = None) -> bytes:
    size = -(-(64 + len(payload)) // 4096) * 4096
    head = struct.pack(
        "<IIQQII32x",
        0x4B4E4843,
        sequence,
        size,
        len(payload) if committed is None else committed,
        sealed,
        zlib.crc32(payload),
    )
    return (head + payload).ljust(size, b"\0")


def record(kind: int, payload: bytes, time_ns: int = 2_000) -> bytes:
    padded = payload.ljust(-(-len(payload) // 8) * 8, b"\0")
    return struct.pack("<IIQ", kind, 16 + len(padded), time_ns) + padded


def string(number: int, text: str) -> bytes:
    data = text.encode()
    return record(2, struct.pack("<II", number, len(data)) + data)


def node(
    op: int,
    name: int,
    *,
    computes: int = 0,
    rows: int = 4,
    sources: tuple[int, ...] = (),
    view_of: int = NONE,
    nb: int = 4,
) -> bytes:
    size = 16 * rows
    head = struct.pack("<6I2Q", op, name, 3, 16, computes, view_of, 0, size)
    shape = struct.pack("<8Q", 4, rows, 1, 1, nb, 16, size, size)
    return head + shape + struct.pack("<10I", *sources, *[NONE] * (10 - len(sources))) + bytes(64)


def graph(number: int = 0, *, n_nodes: int = 1, n_leafs: int = 2, nodes: bytes | None = None) -> bytes:
    made = node(1, 2, computes=1, sources=(1, 2)) + node(4, 5) + node(4, 7)
    return record(12, struct.pack("<QIIII", 99, number, n_nodes, n_leafs, 0) + (made if nodes is None else nodes))


def placement(number: int = 0, *, graph: int = 0, buffer: int = 0, n: int = 3) -> bytes:
    places = b"".join(struct.pack("<QII", 0x1000 * (i + 1), buffer, 0) for i in range(n))
    return record(13, struct.pack("<QIIII", 98, number, graph, n, 0) + places)


def buffer(number: int = 0, size: int = 1 << 16, kind: int = 9) -> bytes:
    return record(kind, struct.pack("<IIQQII", number, 2, 0x1000, size, 6, 6))


def pass_begin(
    number: int = 0,
    *,
    graph: int = 0,
    placement: int = 0,
    n_tokens: int = 1,
    minor_faults: int = 1,
    time_ns: int = 3_000,
) -> bytes:
    head = struct.pack("<4Q5IiII", minor_faults, 2, 3, 4, number, NONE, graph, placement, 0, 0, n_tokens, 1)
    return record(15, head + struct.pack("<iiiI", 7, 0, 0, 1), time_ns)


def pass_end(number: int = 0) -> bytes:
    return record(16, struct.pack("<4Q5IiII", 1, 2, 3, 4, number, NONE, 0, 0, 0, 0, 0, 0), 9_000)


def compute(
    number: int = 0, *, of_pass: int = 0, n_nodes: int = 1, first: int = 0, n_map: int = 0, nodes: bytes = b""
) -> bytes:
    return record(17, struct.pack("<QIIIIII", number, of_pass, 0, 6, n_nodes, first, n_map) + nodes)


def end(n_passes: int = 1, n_segments: int = 2) -> bytes:
    return record(20, struct.pack("<4Q", 10**18, n_passes, n_segments, 0), 10_000)


def event(
    kind: int, *, begin: int = 4_000, end: int = 5_000, barrier: int = 0, node: int = 0, n_fused: int = 0
) -> bytes:
    return struct.pack("<QQQIHH", begin, end, barrier, node, n_fused, kind)


def thread_begin(compute: int = 0, *, thread: int = 0, pool: int = 1) -> bytes:
    return event(2, begin=3_500, end=compute, barrier=pool, node=thread)


def thread_end(compute: int = 0, *, thread: int = 0) -> bytes:
    return event(3, begin=6_000, end=compute, node=thread)


def index(values: bytes, *, ne0: int, ne1: int = 1, what: int = 1, element: int = 4, node: int = 0) -> bytes:
    data = values.ljust(-(-len(values) // 32) * 32, b"\0")
    return event(4, begin=3_900, end=ne0 | ne1 << 32, barrier=what, node=node, n_fused=element) + data


ROW = index(struct.pack("<i", 3), ne0=1)


@dataclass
class Trace:
    """The parts of a good trace; a test replaces one and asks what the reader says."""

    strings: list[bytes] = field(default_factory=lambda: [string(i, text) for i, text in enumerate(STRINGS)])
    before: list[bytes] = field(default_factory=lambda: [buffer(), graph(), placement()])
    run: list[bytes] = field(default_factory=lambda: [pass_begin(), compute(), pass_end()])
    after: list[bytes] = field(default_factory=lambda: [end()])
    events: list[bytes] = field(default_factory=lambda: [thread_begin(), ROW, event(1), thread_end()])
    sealed: int = 1

    @property
    def main(self) -> bytes:
        return b"".join((*self.strings, *self.before, *self.run, *self.after))

    def files(self) -> dict[str, bytes]:
        return {
            MAIN: header() + chunk(self.main, sealed=self.sealed),
            THREAD: header(1, 1) + chunk(b"".join(self.events), sealed=self.sealed),
        }


# Segments whose checksums are right and whose contents are not: what tt_dump must refuse without a wrong read.
GARBAGE: tuple[bytes, ...] = (
    header() + chunk(record(21, b"")),
    header() + chunk(struct.pack("<IIQ", 1, 8, 1)),
    header() + chunk(record(2, struct.pack("<II", 0, 99))),
    header() + chunk(record(1, struct.pack("<II", 1, 1))),
    header() + chunk(graph(n_leafs=NONE)),
    header() + chunk(graph()),
    header() + chunk(pass_begin(n_tokens=NONE)),
    header() + chunk(record(13, struct.pack("<QIIII", 1, 0, 0, NONE, 0))),
    header() + chunk(record(17, struct.pack("<QIIIIII", 0, 0, 0, 0, 5, NONE, 6) + bytes(24))),
    header() + chunk(b"", sealed=0, committed=4033),
    header() + chunk(b"", 1),
    header(1, 1) + chunk(event(9)),
    header(1, 1) + chunk(event(4, end=NONE | NONE << 32, n_fused=8)),
    header(1, 1) + chunk(event(4, end=1 | 1 << 32, n_fused=0)),
    header(1, 1) + chunk(event(1)[:31]),
    header(7) + chunk(b""),
    header(version=2) + chunk(b""),
)
