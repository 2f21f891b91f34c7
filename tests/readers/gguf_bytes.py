"""Builds GGUF bytes by hand, independently of the reader and of the gguf package."""

import struct
from collections.abc import Iterable, Mapping


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def pair(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def u32(key: str, value: int) -> bytes:
    return pair(key, 4, struct.pack("<I", value))


def u16(key: str, value: int) -> bytes:
    return pair(key, 2, struct.pack("<H", value))


def string(key: str, value: str | bytes) -> bytes:
    return pair(key, 8, text(value))


def array(key: str, kind: int, n: int, elements: bytes) -> bytes:
    return pair(key, 9, struct.pack("<IQ", kind, n) + elements)


def tensor(name: str | bytes, shape: Iterable[int], kind: int, offset: int) -> bytes:
    sizes = list(shape)
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset)


def header(
    pairs: Iterable[bytes] = (),
    tensors: Iterable[bytes] = (),
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> bytes:
    pairs, tensors = list(pairs), list(tensors)
    n_tensors, n_pairs = counts or (len(tensors), len(pairs))
    return magic + struct.pack("<IQQ", version, n_tensors, n_pairs) + b"".join([*pairs, *tensors])


def padded(data: bytes, alignment: int = 32) -> bytes:
    return data + b"\0" * (-len(data) % alignment)


def file(
    tensors: Mapping[str, tuple[tuple[int, ...], int, int]], pairs: Iterable[bytes] = (), alignment: int = 32
) -> bytes:
    """A whole file: `{name: (shape, ggml type, size in bytes)}`, data filled with 0xAA."""
    infos, data = [], b""
    for name, (shape, kind, size) in tensors.items():
        infos.append(tensor(name, shape, kind, len(data)))
        data = padded(data + b"\xaa" * size, alignment)
    return padded(header(pairs, infos), alignment) + data
