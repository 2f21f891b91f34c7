"""A second decoder of tensor_trace.bin, written for the tests alone: `struct`, one record at a time, no numpy."""

import struct
from dataclasses import dataclass
from pathlib import Path

HEAD = struct.Struct("<QIHHBBB5x")
V3_SOURCE = struct.Struct("<20sQIHBxQI4x")
V4_SOURCE = struct.Struct("<128sQIHBxQI4x")


@dataclass(frozen=True)
class Source:
    name: str
    address: int
    size: int
    memory: str
    place: int


@dataclass(frozen=True)
class Op:
    time_ns: int
    token: int
    layer: int
    thread: int
    op: int
    phase: int
    name: str
    sources: tuple[Source, ...]
    experts: tuple[int, ...] = ()


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode()


def whole_ops(path: Path, size: int) -> list[Op]:
    """The operations of a file with 256 or 1,024 bytes a record."""
    data, ops = path.read_bytes(), []
    name_bytes, source, first = (24, V3_SOURCE, 48) if size == 256 else (128, V4_SOURCE, 152)
    for at in range(0, len(data) - size + 1, size):
        time_ns, token, layer, thread, op, phase, n = HEAD.unpack_from(data, at)
        if not time_ns:
            break
        sources = []
        for i in range(n):
            name, address, nbytes, _, memory, place, _ = source.unpack_from(data, at + first + i * source.size)
            sources.append(Source(_text(name), address, nbytes, ("disk", "buffer")[memory], place))
        experts: tuple[int, ...] = ()
        if size == 1024:
            experts = struct.unpack_from("<16i", data, at + 792)[: data[at + 856]]
        name = _text(data[at + 24 : at + 24 + name_bytes])
        ops.append(Op(time_ns, token, layer, thread, op, phase, name, tuple(sources), experts))
    return ops


def single_operands(path: Path, size: int) -> list[tuple[int, int, str, int]]:
    """Time, address, name and size of each record of a file with 64 or 128 bytes a record."""
    data, rows = path.read_bytes(), []
    for at in range(0, len(data) - size + 1, size):
        time_ns = struct.unpack_from("<Q", data, at)[0]
        if not time_ns:
            break
        address = struct.unpack_from("<Q", data, at + 28)[0]
        nbytes = struct.unpack_from("<I", data, at + 44)[0]
        rows.append((time_ns, address, _text(data[at + 64 : at + 128]) if size == 128 else "", nbytes))
    return rows
