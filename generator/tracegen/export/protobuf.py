"""Protobuf's wire format: one message as bytes, or millions of them at once, column by column, with NumPy.

A column holds a piece of the bytes of each row; `joined` puts columns side by side, and rows into their order. Where
many rows have a number or a length, all take as many bytes as the largest: protobuf allows a varint to be longer than
it must be, and pieces of one size are written without a loop over rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

VARINT, FIXED64, LENGTH = 0, 1, 2  # wire types: what follows a tag
_MODULUS = 1 << 64


def varint(value: int) -> bytes:
    """A whole number as a varint, a negative one as its two's complement of 64 bits."""
    value %= _MODULUS
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def tag(field: int, wire_type: int) -> bytes:
    """What begins a field of a message."""
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    """A field that holds a whole number, an enum or a bool."""
    return tag(field, VARINT) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """A field that holds a message, whose fields are `parts`."""
    return tag(field, LENGTH) + varint(sum(map(len, parts))) + b"".join(parts)


def text(field: int, value: str) -> bytes:
    """A field that holds text; what UTF-8 cannot express, half of a surrogate pair, becomes its escape."""
    return message(field, value.encode("utf-8", "backslashreplace"))


class Column(ABC):
    """A piece of bytes for each of n rows."""

    @property
    @abstractmethod
    def sizes(self) -> np.ndarray | int:
        """The length of the piece: of each row (int64), or of all."""

    @abstractmethod
    def put(self, out: np.ndarray, at: np.ndarray) -> None:
        """Write the piece of each row into `out` (uint8) from `at` on, and move `at` (int64) to the end of it."""


@dataclass(frozen=True)
class Same(Column):
    """The same bytes in each row."""

    data: bytes

    @property
    def sizes(self) -> int:
        """The length of these bytes."""
        return len(self.data)

    def put(self, out: np.ndarray, at: np.ndarray) -> None:
        """See Column."""
        if self.data and len(at):
            _pieces(out, len(self.data))[at] = np.void(self.data)
            at += len(self.data)


@dataclass(frozen=True)
class Fixed(Column):
    """Pieces of one size: row i has the bytes data[i] (uint8)."""

    data: np.ndarray

    @property
    def sizes(self) -> int:
        """The size of all pieces."""
        return int(self.data.shape[1])

    def put(self, out: np.ndarray, at: np.ndarray) -> None:
        """See Column."""
        if self.sizes and len(at):
            flat = np.ascontiguousarray(self.data).reshape(-1)
            _pieces(out, self.sizes)[at] = _pieces(flat, self.sizes)[:: self.sizes]
            at += self.sizes


@dataclass(frozen=True)
class Ragged(Column):
    """Pieces of any size: row i has the `lengths[i]` bytes of `data` (uint8) from `begin[i]` on."""

    data: np.ndarray
    begin: np.ndarray  # int64
    lengths: np.ndarray  # int64

    @property
    def sizes(self) -> np.ndarray:
        """The length of each row's piece."""
        return self.lengths

    def put(self, out: np.ndarray, at: np.ndarray) -> None:
        """See Column."""
        for size in np.flatnonzero(np.bincount(self.lengths)).tolist():
            if size:
                rows = np.flatnonzero(self.lengths == size)
                _pieces(out, size)[at[rows]] = _pieces(self.data, size)[self.begin[rows]]
        at += self.lengths


def _pieces(data: np.ndarray, size: int) -> np.ndarray:
    """All pieces of `size` bytes of `data` (uint8) as single values, that from byte i on as value i.

    Such pieces overlap; NumPy copies each as a whole, which is many times faster than byte by byte.
    """
    return np.ndarray((len(data) - size + 1,), f"V{size}", buffer=data, strides=(1,))


@dataclass(frozen=True)
class Pieces:
    """A list of pieces of bytes, to be chosen from."""

    data: np.ndarray  # uint8: one after the other
    begin: np.ndarray  # int64
    lengths: np.ndarray  # int64

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> Pieces:
        """The list of these pieces."""
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        return cls(np.frombuffer(b"".join(pieces), np.uint8), np.cumsum(lengths) - lengths, lengths)

    def at(self, index: np.ndarray) -> Column:
        """In row i the piece `index[i]`."""
        if len(self.lengths) and (self.lengths == self.lengths[0]).all():
            return Fixed(self.data.reshape(len(self.lengths), -1).take(index, axis=0))
        return Ragged(self.data, self.begin[index], self.lengths[index])


def varints(values: np.ndarray) -> Fixed:
    """A varint in each row, all as long as the longest; `values` are whole numbers below 2**64."""
    left = values.astype(np.uint64)  # a copy; negative numbers become their two's complement
    width = max(1, -(-int(left.max(initial=0)).bit_length() // 7))
    data = np.empty((len(left), width), np.uint8)
    for k in range(width - 1):
        data[:, k] = left & np.uint64(127) | np.uint64(128)
        left >>= np.uint64(7)
    data[:, -1] = left
    return Fixed(data)


def numbers(field: int, values: np.ndarray) -> list[Column]:
    """A field that holds a whole number, in each row."""
    return [Same(tag(field, VARINT)), varints(values)]


def size_of(columns: Sequence[Column]) -> np.ndarray | int:
    """The length of each row's bytes (int64), or of every row's."""
    whole: np.ndarray | int = 0
    for column in columns:
        whole = whole + column.sizes
    return whole


def messages(field: int, columns: Sequence[Column]) -> list[Column]:
    """A field that holds a message, in each row; `columns` are the fields of the messages."""
    size = size_of(columns)
    if isinstance(size, int):
        return [Same(tag(field, LENGTH) + varint(size)), *columns]
    return [Same(tag(field, LENGTH)), varints(size), *columns]


@dataclass(frozen=True)
class Block:
    """Rows of like columns, and the place of each among all rows that are joined: a permutation of 0, 1, 2, …"""

    place: np.ndarray
    columns: Sequence[Column]


def joined(blocks: Sequence[Block]) -> np.ndarray:
    """The bytes of all rows of the blocks, in the order of their places (uint8)."""
    sizes = np.zeros(sum(len(block.place) for block in blocks), np.int64)
    for block in blocks:
        sizes[block.place] = size_of(block.columns)
    end = np.cumsum(sizes)
    out = np.empty(int(end[-1]) if len(end) else 0, np.uint8)
    begin = end - sizes
    for block in blocks:
        at = begin[block.place]
        for column in _fewer(block.columns):
            column.put(out, at)
    return out


def fixed64s(fields: np.ndarray, values: np.ndarray, rows: np.ndarray, n: int) -> Ragged:
    """Fields of 64 bits in some of n rows: `values[i]` (uint64) in field `fields[i]` of row `rows[i]`, as they come.

    The fields must have numbers from 16 to 2047, whose tags are of two bytes.
    """
    order = np.argsort(rows, kind="stable")
    data = np.empty((len(rows), 10), np.uint8)
    tags = fields[order].astype(np.int64) << 3 | FIXED64
    data[:, 0], data[:, 1] = tags & 127 | 128, tags >> 7
    data[:, 2:] = values[order].astype("<u8").view(np.uint8).reshape(-1, 8)
    lengths = np.bincount(rows, minlength=n) * 10
    return Ragged(data.reshape(-1), np.cumsum(lengths) - lengths, lengths)


def some(columns: Sequence[Column], known: np.ndarray) -> Ragged:
    """The bytes of these columns in the rows where `known` is true, and nothing in the others.

    The columns have a row for each true value of `known`.
    """
    n = int(np.count_nonzero(known))
    lengths = np.zeros(len(known), np.int64)
    lengths[known] = size_of(columns)
    return Ragged(joined([Block(np.arange(n), columns)]), np.cumsum(lengths) - lengths, lengths)


def _fewer(columns: Sequence[Column]) -> list[Column]:
    """The same bytes with neighbours that are the same in each row as one column."""
    made: list[Column] = []
    for column in columns:
        if made and isinstance(column, Same) and isinstance(made[-1], Same):
            made[-1] = Same(made[-1].data + column.data)
        else:
            made.append(column)
    return made
