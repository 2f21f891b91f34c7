"""Protobuf's wire format: one message as bytes, or millions of them at once, column by column, with NumPy and Arrow.

A column is a piece of the bytes of each row: `bytes`, the same in each row; an array (n, size) of uint8, pieces of one
size; or an Arrow array of n pieces of any size. Where many rows have a number, all take as many bytes as the largest:
protobuf allows a varint to be longer than it must be.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

VARINT, FIXED64, LENGTH = 0, 1, 2  # wire types: what follows a tag
_MODULUS = 1 << 64
_PIECES = pa.large_binary()
_NOTHING = pa.scalar(b"", _PIECES)

Column = Any  # bytes | np.ndarray | pa.Array, which has no types


def varint(value: int) -> bytes:
    """A whole number as a varint, a negative one as its two's complement of 64 bits."""
    value %= _MODULUS
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


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


def varints(values: np.ndarray) -> np.ndarray:
    """A varint in each row, all as long as the longest; `values` are whole numbers below 2**64."""
    left = values.astype(np.uint64)  # a copy; negative numbers become their two's complement
    width = max(1, -(-int(left.max(initial=0)).bit_length() // 7))
    data = np.empty((len(left), width), np.uint8)
    for k in range(width - 1):
        data[:, k] = left & np.uint64(127) | np.uint64(128)
        left >>= np.uint64(7)
    data[:, -1] = left
    return data


def numbers(field: int, values: np.ndarray) -> list[Column]:
    """A field that holds a whole number, in each row."""
    return [tag(field, VARINT), varints(values)]


def messages(field: int, columns: Sequence[Column]) -> list[Column]:
    """A field that holds a message, in each row; `columns` are the fields of the messages."""
    size = sum(map(_sizes, columns))
    return [tag(field, LENGTH), varint(size) if isinstance(size, int) else varints(size), *columns]


def _sizes(column: Column) -> Any:
    """The length of each row's piece (int64), or of every row's."""
    if isinstance(column, bytes):
        return len(column)
    return column.shape[1] if isinstance(column, np.ndarray) else pc.binary_length(column).to_numpy()


def chosen(pieces: Sequence[bytes], index: np.ndarray) -> Column:
    """In row i the piece `index[i]` of the list."""
    return pa.array(pieces, _PIECES).take(pa.array(index))


def ragged(data: np.ndarray, lengths: np.ndarray) -> Column:
    """In row i the next `lengths[i]` bytes of `data` (uint8)."""
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return pa.Array.from_buffers(_PIECES, len(lengths), [None, pa.py_buffer(bounds), pa.py_buffer(data)])


def fixed64s(fields: np.ndarray, values: np.ndarray, rows: np.ndarray, n: int) -> Column:
    """Fields of 64 bits in some of n rows: `values[i]` (uint64) in field `fields[i]` of row `rows[i]`, as they come.

    The fields must have numbers from 16 to 2047, whose tags are of two bytes.
    """
    order = np.argsort(rows, kind="stable")
    data = np.empty((len(rows), 10), np.uint8)
    tags = fields[order].astype(np.int64) << 3 | FIXED64
    data[:, 0], data[:, 1] = tags & 127 | 128, tags >> 7
    data[:, 2:] = values[order].astype("<u8").view(np.uint8).reshape(-1, 8)
    return ragged(data, np.bincount(rows, minlength=n) * 10)


def some(columns: Sequence[Column], known: np.ndarray) -> Column:
    """The bytes of these columns in the rows where `known` is true, and nothing in the others."""
    return pc.if_else(pa.array(known), _joined(columns), _NOTHING)


def woven(*blocks: tuple[np.ndarray, Sequence[Column]]) -> memoryview:
    """The bytes of all rows of the blocks, each a key for each row and its columns; by key, those of one as they come.

    A block has a column that is not the same in each row.
    """
    order = np.argsort(np.concatenate([keys for keys, _ in blocks]), kind="stable")
    rows = pa.concat_arrays([_joined(columns) for _, columns in blocks]).take(pa.array(order))
    _, bounds, data = rows.buffers()
    return memoryview(data or b"")[: int(np.frombuffer(bounds, np.int64)[len(rows)]) if len(rows) else 0]


def _joined(columns: Sequence[Column]) -> Any:
    """The columns side by side, as an Arrow array; neighbours of one size become one column first, which is faster."""
    parts: list[Any] = []
    for of_any_size, group in groupby(columns, lambda column: isinstance(column, pa.Array)):
        neighbours = list(group)
        n = max((len(column) for column in neighbours if isinstance(column, np.ndarray)), default=None)
        if of_any_size:
            parts += neighbours
        elif n is None:
            parts.append(pa.scalar(b"".join(neighbours), _PIECES))
        else:
            data = np.empty((n, sum(map(_sizes, neighbours))), np.uint8)
            at = 0
            for column in neighbours:
                data[:, at : (at := at + _sizes(column))] = np.frombuffer(column, np.uint8).reshape(-1, _sizes(column))
            parts.append(ragged(data, np.full(n, at)))
    return pc.binary_join_element_wise(*parts, _NOTHING) if len(parts) > 1 else parts[0]
