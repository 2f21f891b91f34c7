"""Reads the header and the tensor list of one GGUF file, never the data.

    "GGUF" u32 version, u64 n_tensors, u64 n_pairs      little-endian, version 2 or 3
    n_pairs   × { string key, u32 type, value }         string: u64 length, UTF-8 bytes
    n_tensors × { string name, u32 n_dims, u64 ne[n_dims], u32 ggml type, u64 offset }
    padding to general.alignment (32 when not given)
    data      tensor offsets count from here

Every length and count is checked against the bytes that remain before it is used.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from tracegen.contract import documents
from tracegen.contract.errors import ModelFormatError, os_errors
from tracegen.contract.ggml_types import GGML_TYPES

_SCALARS: Mapping[int, tuple[str, str]] = {
    0: ("u8", "<B"),
    1: ("i8", "<b"),
    2: ("u16", "<H"),
    3: ("i16", "<h"),
    4: ("u32", "<I"),
    5: ("i32", "<i"),
    6: ("f32", "<f"),
    7: ("bool", "<B"),
    10: ("u64", "<Q"),
    11: ("i64", "<q"),
    12: ("f64", "<d"),
}
_BOOL, _STRING, _ARRAY = 7, 8, 9

_MAX_DIMS = 4  # GGML_MAX_DIMS
_MAX_NAME = 63  # GGML_MAX_NAME less its closing zero
_MAX_KEY = 65535  # the GGUF specification's limit
_MAX_TEXT = 4096  # of a longer metadata string (a chat template) only the length is kept
_ALIGNMENT = 32  # GGUF_DEFAULT_ALIGNMENT
_LEAST_PAIR = 8 + 4 + 1  # empty key, type, one byte
_LEAST_TENSOR = 8 + 4 + 4 + 8  # empty name, no dimension, type, offset

Update = Callable[[int, int, str], None]  # how far reading is: done, of how many, of what; as `Progress.update`
_MANY = 10_000  # tensors: reading fewer takes no time that anybody notices
_STEP = 1000  # tensors, after which it is called again


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as its file lists it; `offset` counts from the start of the file, in bytes.

    The bytes from `listed_begin` to `listed_end` of the file list it; the last 8 of them are its offset.
    """

    name: str
    dtype: str
    shape: tuple[int, int, int, int]
    offset: int
    size_bytes: int
    listed_begin: int
    listed_end: int


@dataclass(frozen=True)
class GgufFile:
    """The header of one file. Its data begin at `data_begin`; tensors begin at multiples of `alignment` bytes.

    `name_at`: the bytes of the file that hold the model's name (`general.name`) and its length; None: it has none.
    """

    path: Path
    size_bytes: int
    data_begin: int
    alignment: int
    metadata: dict[str, object]
    tensors: tuple[TensorInfo, ...]
    name_at: range | None = None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The regular file, open for reading. Raises ModelFormatError when it is none, or cannot be read in the block."""
    with (
        os_errors(f"{path}: cannot be read", ModelFormatError),
        documents.opened(path, ModelFormatError, "name a GGUF model") as stream,
    ):
        yield stream


def read_header(path: Path, progress: Update | None = None, *, whole: bool = True) -> GgufFile:
    """Read the header of one file; `progress` is called while many tensors are read, first with 0.

    Without `whole` the data may be cut: then its size is the one that its tensors need. Raises ModelFormatError when it
    cannot be read or is broken.
    """
    with opened(path) as stream:
        return header_of(path, stream, progress, whole=whole)


def header_of(path: Path, stream: BinaryIO, progress: Update | None = None, *, whole: bool = True) -> GgufFile:
    """Read the header of a file that is open as `stream`, at its start; `whole` as for `read_header`.

    Raises ModelFormatError when the header is broken, OSError when it cannot be read.
    """
    cursor = Cursor(path, stream)
    magic = cursor.take(4, "the magic number")
    if magic != b"GGUF":
        raise ModelFormatError(
            f"{cursor.path}: is not a GGUF file: it begins with {magic!r}, not b'GGUF'; name a GGUF model"
        )
    version = cursor.number("<I", "the version")
    if version not in (2, 3):
        foreign = version & 0xFFFF == 0 and version > 0
        kind = "big-endian" if foreign else f"version {version}"
        raise ModelFormatError(
            f"{cursor.path}: is a {kind} GGUF file; tracegen reads little-endian versions 2 and 3; convert the file"
        )
    n_tensors = cursor.number("<Q", "the number of tensors")
    n_pairs = cursor.number("<Q", "the number of metadata pairs")
    least = n_tensors * _LEAST_TENSOR + n_pairs * _LEAST_PAIR
    if least > cursor.remain:
        raise cursor.broken(
            f"the header announces {n_tensors} tensors and {n_pairs} metadata pairs, which take at least {least} bytes,"
            f" but {cursor.remain} remain"
        )
    metadata: dict[str, object] = {}
    name_at = None
    for _ in range(n_pairs):
        key = cursor.text("a metadata key", _MAX_KEY)
        if key in metadata:
            raise cursor.broken(f"the metadata key {key!r} occurs twice")
        begin = cursor.position + 4  # behind the type
        metadata[key] = cursor.value(key)
        if key == "general.name" and isinstance(metadata[key], str):
            name_at = range(begin, cursor.position)
    infos = []
    for i in range(n_tensors):
        if progress and n_tensors >= _MANY and i % _STEP == 0:
            progress(i, n_tensors, "tensors")
        infos.append(cursor.tensor())
    try:
        alignment = alignment_in(metadata)
    except ValueError as error:
        raise cursor.broken(str(error)) from error
    data_begin = -(-cursor.position // alignment) * alignment
    placed = tuple(replace(tensor, offset=data_begin + tensor.offset) for tensor in infos)
    _check_order(cursor, placed, data_begin, alignment)
    end = max((tensor.offset + tensor.size_bytes for tensor in placed), default=0)
    if whole:
        _check_end(cursor, placed, end)
    return GgufFile(cursor.path, max(cursor.size, end), data_begin, alignment, metadata, placed, name_at)


def alignment_in(metadata: Mapping[str, object]) -> int:
    """The alignment of a file's tensors, in bytes. Raises ValueError when it is not a power of two."""
    value = metadata.get("general.alignment", _ALIGNMENT)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value & (value - 1):
        raise ValueError(f"general.alignment is {value!r}, not a power of two")
    return value


def _check_order(cursor: Cursor, tensors: tuple[TensorInfo, ...], data_begin: int, alignment: int) -> None:
    """Raises ModelFormatError for a tensor that is not aligned, or overlaps another."""
    before: TensorInfo | None = None
    for tensor in sorted(tensors, key=lambda t: (t.offset, t.size_bytes)):
        if (tensor.offset - data_begin) % alignment:
            raise cursor.broken(f"the tensor {tensor.name!r} at offset {tensor.offset} is not aligned to {alignment}")
        if before and before.offset + before.size_bytes > tensor.offset:
            raise cursor.broken(
                f"the tensors {before.name!r} (offset {before.offset}, {before.size_bytes} bytes)"
                f" and {tensor.name!r} (offset {tensor.offset}) overlap"
            )
        before = tensor


def _check_end(cursor: Cursor, tensors: tuple[TensorInfo, ...], end: int) -> None:
    """Raises ModelFormatError for a file that ends before its tensors do."""
    if end > cursor.size:
        cut = next(t for t in sorted(tensors, key=lambda t: t.offset) if t.offset + t.size_bytes > cursor.size)
        raise ModelFormatError(
            f"{cursor.path}: is cut at offset {cursor.size}, in or before the tensor {cut.name!r}:"
            f" {end - cursor.size} bytes are missing; get the file again"
        )


class Cursor:
    """A place in the header of `path`, which is open as `stream`; it knows how many bytes remain."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        """Begin at byte 0 of the file."""
        self.path = path
        self.stream = stream
        self.size = os.fstat(stream.fileno()).st_size
        self.position = 0

    @property
    def remain(self) -> int:
        """Bytes between this place and the end of the file."""
        return self.size - self.position

    def broken(self, what: str) -> ModelFormatError:
        """The error for a broken file: what is wrong at this place."""
        return ModelFormatError(f"{self.path}, offset {self.position}: {what}; the file is broken, get it again")

    def need(self, n_bytes: int, what: str) -> None:
        """Raise ModelFormatError if fewer than `n_bytes` remain."""
        if n_bytes > self.remain:
            raise ModelFormatError(
                f"{self.path}: is cut in its header: {what} at offset {self.position} takes {n_bytes} bytes,"
                f" {n_bytes - self.remain} of them are missing; get the file again"
            )

    def take(self, n_bytes: int, what: str) -> bytes:
        """The next `n_bytes` bytes. Raises ModelFormatError if they are not there."""
        self.need(n_bytes, what)
        taken = self.stream.read(n_bytes)
        if len(taken) != n_bytes:
            raise self.broken(f"only {len(taken)} of the {n_bytes} bytes of {what} were read, as the file is changing")
        self.position += n_bytes
        return taken

    def skip(self, n_bytes: int, what: str) -> None:
        """Pass over `n_bytes` bytes. Raises ModelFormatError if they are not there."""
        self.need(n_bytes, what)
        self.stream.seek(n_bytes, os.SEEK_CUR)
        self.position += n_bytes

    def number(self, layout: str, what: str) -> int:
        """The next whole number; `layout` is its format for `struct`."""
        (value,) = struct.unpack(layout, self.take(struct.calcsize(layout), what))
        return int(value)

    def text(self, what: str, longest: int) -> str:
        """The next string. Raises ModelFormatError if it is longer than `longest` bytes or not UTF-8."""
        length = self.number("<Q", f"the length of {what}")
        if length > longest:
            raise self.broken(f"{what} has {length} bytes, but at most {longest} are allowed")
        return self.decoded(self.take(length, what), what)

    def decoded(self, data: bytes, what: str) -> str:
        """The bytes as text. Raises ModelFormatError when they are not UTF-8."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.broken(f"{what} is not UTF-8: {data[:40]!r}") from error

    def value(self, key: str) -> object:
        """The next typed value; of arrays and long strings only kind and length."""
        what = f"the value of {key!r}"
        kind = self.number("<I", f"the type of {key!r}")
        if kind == _STRING:
            length = self.number("<Q", f"the length of {key!r}")
            if length <= _MAX_TEXT:
                return self.decoded(self.take(length, what), what)
            self.skip(length, what)
            return {"string": length}
        if kind == _ARRAY:
            return self.array(key)
        return self.scalar(kind, what)

    def scalar(self, kind: int, what: str) -> object:
        """The next number or bool of a GGUF type; of a number that is not finite, which JSON lacks, its name."""
        if kind not in _SCALARS:
            raise self.broken(f"{what} has the type {kind}, which GGUF does not define")
        layout = _SCALARS[kind][1]
        (value,) = struct.unpack(layout, self.take(struct.calcsize(layout), what))
        if kind != _BOOL:
            return value if math.isfinite(value) else {"number": str(value)}
        if value > 1:
            raise self.broken(f"{what} is {value}, but a bool must be 0 or 1")
        return bool(value)

    def array(self, key: str) -> dict[str, object]:
        """Pass over the next array: its type of elements, and how many it has."""
        what = f"the array {key!r}"
        kind = self.number("<I", f"the element type of {key!r}")
        n = self.number("<Q", f"the length of {key!r}")
        if kind == _STRING:
            self.need(8 * n, what)
            for _ in range(n):
                self.skip(self.number("<Q", f"a length in {what}"), f"an element of {what}")
            return {"array": "string", "n": n}
        if kind not in _SCALARS:
            raise self.broken(f"{what} has elements of type {kind}; only scalars and strings are allowed")
        name, layout = _SCALARS[kind]
        self.skip(n * struct.calcsize(layout), what)
        return {"array": name, "n": n}

    def tensor(self) -> TensorInfo:
        """The next tensor; its offset counts from the start of the data section."""
        begin = self.position
        name = self.text("a tensor name", _MAX_NAME)
        n_dims = self.number("<I", f"the dimensions of {name!r}")
        if n_dims > _MAX_DIMS:
            raise self.broken(f"the tensor {name!r} has {n_dims} dimensions, but at most {_MAX_DIMS} are allowed")
        sizes = [self.number("<Q", f"the shape of {name!r}") for _ in range(n_dims)]
        ne0, ne1, ne2, ne3 = sizes + [1] * (_MAX_DIMS - n_dims)
        kind = self.number("<I", f"the type of {name!r}")
        if kind not in GGML_TYPES:
            raise ModelFormatError(
                f"{self.path}, offset {self.position}: tensor {name!r} has the ggml type {kind}, which this tracegen"
                " does not know: the file is broken or too new; get it again, or convert it"
            )
        dtype, block, block_bytes = GGML_TYPES[kind]
        if ne0 % block:
            raise self.broken(f"the tensor {name!r} has rows of {ne0} elements, but {dtype} needs multiples of {block}")
        size = math.prod((ne0, ne1, ne2, ne3)) // block * block_bytes
        offset = self.number("<Q", f"the offset of {name!r}")
        if max(ne0, ne1, ne2, ne3, size, offset) >= 1 << 62:
            raise self.broken(f"the tensor {name!r} has an impossible shape {sizes} or offset {offset}")
        return TensorInfo(name, dtype, (ne0, ne1, ne2, ne3), offset, size, begin, self.position)
