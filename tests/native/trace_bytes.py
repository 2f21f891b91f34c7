"""Builds the bytes of a trace of one pass on one thread, from tensor_trace_format.h and without the C writer."""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracegen.readers.native.trace import NativeTrace, read_trace

Files = Mapping[str, bytes]

NONE = 0xFFFFFFFF
RUN = bytes(range(16))
MAIN, THREAD = f"{RUN.hex()}.main.tt", f"{RUN.hex()}.t000.tt"
STRINGS = ("", "GET_ROWS", "inp_embd", "f32", "NONE", "token_embd.weight", "CPU", "inp_tokens")


def read(files: Files) -> NativeTrace:
    return read_trace({name: np.frombuffer(data, np.uint8) for name, data in files.items()})


def header(
    kind: int = 0, number: int = 0, *, magic: bytes = b"TTRACE\r\n", version: int = 2, run: bytes = RUN, clock: int = 0
) -> bytes:
    checked = struct.pack("<8sII16sIIQQI", magic, version, kind, run, number, 4242, 1_000, 0, clock)
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


def info(number: int, key: str, value: str) -> list[bytes]:
    """A fact of the trace, with its two strings, of which the first has this number."""
    return [string(number, key), string(number + 1, value), record(1, struct.pack("<II", number, number + 1))]


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
    usual = node(1, 2, computes=1, sources=(1, 2)) + node(4, 5) + node(4, 7)
    return record(12, struct.pack("<QIIII", 99, number, n_nodes, n_leafs, 0) + (usual if nodes is None else nodes))


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
    context: int = NONE,
    time_ns: int = 3_000,
) -> bytes:
    head = struct.pack("<5Q5IiII", minor_faults, 2, 3, 4, 512, number, context, graph, placement, 0, 0, n_tokens, 1)
    return record(15, head + struct.pack("<iiiI", 7, 0, 0, 1), time_ns)


def pass_end(number: int = 0) -> bytes:
    return record(16, struct.pack("<5Q5IiII", 1, 2, 3, 4, 512, number, NONE, 0, 0, 0, 0, 0, 0), 9_000)


def compute(
    number: int = 0, *, of_pass: int = 0, n_nodes: int = 1, first: int = 0, n_map: int = 0, nodes: bytes = b""
) -> bytes:
    return record(17, struct.pack("<QIIIIII", number, of_pass, 0, 6, n_nodes, first, n_map) + nodes)


def split(
    *,
    of_pass: int = 0,
    backend: int = 6,
    begin_ns: int = 5_000,
    n_nodes: int = 1,
    first: int = 0,
    n_map: int = 0,
    by_op: int = 0,
    proof: int = 0,
    submitted_ns: int = 5_200,
    number: int = 0,
    nodes: bytes = b"",
) -> bytes:
    head = struct.pack(
        "<QIIIIIIIIQ", begin_ns, of_pass, number, backend, n_nodes, first, n_map, by_op, proof, submitted_ns
    )
    return record(24, head + nodes, 6_000)


def done(*splits: tuple[int, int], begin_ns: int = 6_100, proof: int = 2, n: int | None = None) -> bytes:
    ids = b"".join(struct.pack("<II", *split) for split in splits)
    return record(32, struct.pack("<QII", begin_ns, proof, len(splits) if n is None else n) + ids, 7_000)


def chosen(*experts: int, tensor: int = 6, n_rows: int = 1, of_pass: int = 0, n: int | None = None) -> bytes:
    head = struct.pack("<4I", of_pass, tensor, n_rows, len(experts) // n_rows if n is None else n)
    return record(33, head + struct.pack(f"<{len(experts)}i", *experts), 6_500)


def footprint(
    *parts: tuple[int, int, int], of_pass: int = 0, load: int = 0xFFFFFFFF, n: int | None = None, occasion: int = 1
) -> bytes:
    """Parts: bytes, kind, number; the process holds the sum of its mappings."""
    whole = sum(size for size, kind, _ in parts if kind < 7)
    head = struct.pack("<QQ4I", 8_000, whole, of_pass, load, occasion, len(parts) if n is None else n)
    return record(34, head + b"".join(struct.pack("<QII", *part) for part in parts), 9_000)


def saved(number: int = 0, *, size: int = 4096, flags: int = 0, restored: int = 0, begin_ns: int = 6_000) -> bytes:
    head = (begin_ns, 1 << 20, size, 0, number, 3, flags, restored, 0)
    return record(35, struct.pack("<QQQIIiIII", *head), 7_000)


def file_read(
    offset: int = 4096,
    size: int = 64,
    *,
    got: int | None = None,
    path: int = 2,
    call: int = 2,
    direct: int = 0,
    begin_ns: int = 5_500,
    end_ns: int = 6_500,
    os_thread: int = 77,
    n_calls: int = 1,
) -> bytes:
    got = size if got is None else got
    head = (begin_ns, offset, size, got, 1 << 20, path, os_thread, call, direct, n_calls, 0)
    return record(36, struct.pack("<5Q6I", *head), end_ns)


def copy(*, of_pass: int = 0, size: int = 64, begin_ns: int = 5_000, proof: int = 0) -> bytes:
    return record(25, struct.pack("<QQIIIIII", begin_ns, size, of_pass, 0, 2, 6, 6, proof), 6_000)


def end(n_passes: int = 1, n_segments: int = 2) -> bytes:
    return record(20, struct.pack("<4Q", 10**18, n_passes, n_segments, 0), 10_000)


def clock(ticks: int, time_ns: int) -> bytes:
    return record(21, struct.pack("<Q", ticks), time_ns)


def residency(
    runs: tuple[tuple[int, int], ...] = ((0, 1),),
    *,
    of_pass: int = 0,
    load: int = 0,
    page: int = 4096,
    size: int = 1 << 16,
    n: int | None = None,
) -> bytes:
    head = struct.pack("<QQIIII", 1 << 20, size, of_pass, load, page, len(runs) if n is None else n)
    return record(22, head + b"".join(struct.pack("<II", *run) for run in runs), 9_500)


def device(
    begin: tuple[int, ...] = (5, 100, 7, 2, 8, 0, 40),
    end: tuple[int, ...] = (6, 300, 9, 4, 24, 3, 41),
    *,
    of_pass: int = 0,
    load: int = 0,
    name: int = 5,
    begin_ns: int = 2_900,
    time_ns: int = 9_400,
) -> bytes:
    """Counters: reads, sectors, ms, writes, sectors, requests under way, ms busy."""
    return record(28, struct.pack("<14QQIIII", *begin, *end, begin_ns, name, of_pass, load, 0), time_ns)


def cache(
    counts: tuple[int, ...] = (9, 1, 0, 5, 4), *, of_pass: int = 0, load: int = 0, path: int = 5, page: int = 4096
) -> bytes:
    """Pages: cached, dirty, being written, evicted, recently evicted."""
    return record(29, struct.pack("<5QIIII", *counts, path, of_pass, load, page), 9_600)


def nodes(
    *runs: tuple[int, ...],
    size: int = 3 << 16,
    granule: int = 1 << 16,
    buffer: int = NONE,
    of_pass: int = 0,
    load: int = 0,
    page: int = 4096,
    address: int = 1 << 20,
    time_ns: int = 9_700,
) -> bytes:
    """Runs: granules, and pages of one of them on node 0, node 1, …"""
    n_nodes = len(runs[0]) - 1 if runs else 2
    head = struct.pack("<3Q6I", address, size, granule, buffer, of_pass, load, page, n_nodes, len(runs))
    return record(37, head + b"".join(struct.pack(f"<{len(run)}I", *run) for run in runs), time_ns)


def allocated(
    *sites: tuple[int, int, int, int],
    classes: tuple[tuple[int, int, int], ...] = (),
    lost: int = 0,
    n_classes: int | None = None,
    n_sites: int | None = None,
) -> bytes:
    """Sites: blocks, bytes, all blocks, string; classes: blocks, bytes, class."""
    counts = (len(classes) if n_classes is None else n_classes, len(sites) if n_sites is None else n_sites)
    rows = [struct.pack("<QQII", *of, 0) for of in classes] + [struct.pack("<QQQII", *of, 0) for of in sites]
    return record(38, struct.pack("<QII", lost, *counts) + b"".join(rows), 9_800)


def load_begin(number: int = 0, path: int = 5) -> bytes:
    return record(5, struct.pack("<5QII", 1, 2, 3, 4, 512, number, path), 1_000)


def short_op(
    *, gap: int = 100, took: int = 1_000, barrier: int = 0, node: int = 0, n_fused: int = 0, kind: int = 1
) -> bytes:
    return struct.pack("<IIIHBB", gap, took, barrier, node, n_fused, kind)


def op(
    *, begin: int = 4_000, took: int = 1_000, barrier: int = 0, node: int = 0, n_fused: int = 0, more: int = 255
) -> bytes:
    """An op that states its own begin: TT_LONG_OP."""
    head = struct.pack("<QIHBB", begin, node, n_fused, 0, 5)
    return head + struct.pack("<QIHBB", took, barrier & NONE, barrier >> 32, 0, more)


def thread_begin(compute: int = 0, *, time: int = 3_500, thread: int = 0, pool: int = 1) -> bytes:
    return struct.pack("<QIHBB", time, thread, pool, 0, 2) + struct.pack("<QIHBB", compute, 4242, 0, 0, 255)


def thread_end(*, time: int = 6_000, thread: int = 0) -> bytes:
    return struct.pack("<QIHBB", time, thread, 0, 0, 3)


def index(values: bytes, *, ne0: int, ne1: int = 1, what: int = 1, element: int = 4, node: int = 0) -> bytes:
    head = struct.pack("<QIBBBB", 3_900, node, what, element, 0, 4) + struct.pack("<IIIHBB", ne0, ne1, 0, 0, 0, 255)
    return head + values.ljust(-(-len(values) // 16) * 16, b"\0")


def fault(kind: int, *, begin: int = 4_100, took: int = 100, address: int = 1 << 20, os_thread: int = 4242) -> bytes:
    return struct.pack("<QQQII", begin, took, address, os_thread, kind)


def part(compute: int = 0, thread: int = 0) -> bytes:
    """The faults after it are of this compute and thread of its pool."""
    return fault(7, took=thread, address=compute)


def file_map(*, address: int = 1 << 20, size: int = 1 << 16, path: int = 5) -> bytes:
    return record(3, struct.pack("<QQQII", address, size, 77, path, 0), 1_500)


ROW = index(struct.pack("<i", 3), ne0=1)


@dataclass
class Trace:
    """The parts of a valid trace; a test replaces one of them and checks what the reader says."""

    strings: list[bytes] = field(default_factory=lambda: [string(i, text) for i, text in enumerate(STRINGS)])
    before: list[bytes] = field(default_factory=lambda: [buffer(), graph(), placement()])
    run: list[bytes] = field(default_factory=lambda: [pass_begin(), compute(), pass_end()])
    after: list[bytes] = field(default_factory=lambda: [end()])
    events: list[bytes] = field(default_factory=lambda: [thread_begin(), ROW, short_op(), thread_end()])
    sealed: int = 1
    clock: int = 0

    @property
    def main(self) -> bytes:
        return b"".join((*self.strings, *self.before, *self.run, *self.after))

    def files(self) -> dict[str, bytes]:
        return {
            MAIN: header(clock=self.clock) + chunk(self.main, sealed=self.sealed),
            THREAD: header(1, 1, clock=self.clock) + chunk(b"".join(self.events), sealed=self.sealed),
        }


# Segments with right checksums and wrong contents: tt_dump must refuse them and read nothing out of bounds.
GARBAGE: tuple[bytes, ...] = (
    *(header() + chunk(record(kind, b"")) for kind in range(22, 37)),
    header() + chunk(device()),
    header() + chunk(cache()),
    header() + chunk(split(n_map=NONE)),
    header() + chunk(done((0, 0), n=NONE)),
    header() + chunk(chosen(1, n_rows=NONE, n=NONE)),
    header() + chunk(residency(n=NONE - 1)),
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
    header(1, 1) + chunk(short_op(kind=9)),
    header(1, 1) + chunk(op()[:16]),
    header(1, 1) + chunk(thread_begin()[:16]),
    header(1, 1) + chunk(index(b"", ne0=1)[:16]),
    header(1, 1) + chunk(index(b"", ne0=NONE, ne1=NONE, element=8)),
    header(1, 1) + chunk(index(b"", ne0=1, element=0)),
    header(1, 1) + chunk(short_op()[:15]),
    header(2, 1) + chunk(fault(10)),
    header(2, 1) + chunk(fault(1)[:31]),
    header(7) + chunk(b""),
    header(version=1) + chunk(b""),
    header(version=3) + chunk(b""),
    header(clock=2) + chunk(b""),
)
