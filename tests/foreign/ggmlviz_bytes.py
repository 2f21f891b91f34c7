"""The bytes of `.ggmlviz` files, written and read one field after another, by nothing of the reader's."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "data" / "foreign" / "ggmlviz"
HEADER = b"GGMLVIZ1\x01\0\0\0"


def sample(number: str) -> bytes:
    """The bytes of the sample whose name begins with this number."""
    (path,) = SAMPLES.glob(f"{number}-*.ggmlviz")
    return path.read_bytes()


def record(kind: int, time: int, thread: int, payload: bytes, label: str | None = None) -> bytes:
    """One record; the payload is filled up with zeros."""
    data = bytes([kind]) + struct.pack("<Q", time) + struct.pack("<I", thread) + payload.ljust(32, b"\0")
    if label is None:
        return data + b"\0"
    text = label.encode()
    return data + b"\1" + struct.pack("<I", len(text)) + text


def graph(kind: int, time: int, n_nodes: int, pointer: int = 0x1000, backend: int = 0, thread: int = 7) -> bytes:
    return record(kind, time, thread, struct.pack("<QIIQ", pointer, n_nodes, 1, backend))


def op(kind: int, time: int, label: str | None, number: int, pointer: int, size: int = 64, thread: int = 7) -> bytes:
    return record(kind, time, thread, struct.pack("<QI4xQQ", pointer, number, size, 0), label)


def memory(kind: int, time: int, pointer: int, size: int, label: str | None = None) -> bytes:
    return record(kind, time, 7, struct.pack("<QQ", pointer, size), label)


@dataclass(frozen=True)
class Plain:
    """One record as the plain loop reads it."""

    offset: int
    type: int
    time: int
    thread: int
    pointer: int
    payload: bytes
    label: str | None

    def number(self, at: int, size: int) -> int:
        """The number of `size` bytes at a byte of the record."""
        return int.from_bytes(self.payload[at - 13 : at - 13 + size], "little")


def plain(data: bytes) -> Iterator[Plain]:
    """The whole records of a file, one after the other."""
    at = 12
    while at + 46 <= len(data):
        kind, time, thread = data[at], *struct.unpack("<QI", data[at + 1 : at + 13])
        payload, label, end = data[at + 13 : at + 45], None, at + 46
        if data[at + 45]:
            if at + 50 > len(data):
                return
            length = int.from_bytes(data[at + 46 : at + 50], "little")
            end = at + 50 + length
            if end > len(data):
                return
            label = data[at + 50 : end].decode()
        yield Plain(at, kind, time, thread, int.from_bytes(payload[:8], "little"), payload, label)
        at = end


def two_ops(begin: int, thread: int = 7, graph_pointer: int = 0x1000, backend: int = 0) -> list[bytes]:
    """A graph of two operations in numbers of 2026-11, each with a time of its own: 10 and 20 ns of 40."""
    return [
        graph(0, begin, 2, graph_pointer, backend, thread),
        op(2, begin + 1, "inp_embd", 40, 0x10, thread=thread),
        op(3, begin + 11, "inp_embd", 40, 0x10, thread=thread),
        op(2, begin + 12, "ffn_up-0", 29, 0x20, thread=thread),
        op(3, begin + 32, "ffn_up-0", 29, 0x20, thread=thread),
        graph(1, begin + 40, 2, graph_pointer, backend, thread),
    ]
