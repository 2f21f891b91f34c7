"""The bytes of a `.ggmlviz` file: a header, then one record per event with an optional label.

Header: magic, u32 version. A record has 46 bytes (`RECORD`, without padding between fields, but with four unused bytes
behind the number of an operation); where `has_label` is 1, u32 length and the bytes of the label follow. Little-endian.

Two dialects give the types 6 to 10 different meanings under the same version. `main` has barrier and thread events (6
to 8, without a pointer); the branch `memory-visualization` put allocations of backend buffers before them.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

import numpy as np

from tracegen.contract.errors import TraceFormatError

MAGIC = b"GGMLVIZ1"
VERSION = 1
HEADER = struct.Struct("<8sI")

GRAPH_BEGIN, GRAPH_END, OP_BEGIN, OP_END, TENSOR_ALLOC, TENSOR_FREE = range(6)
BUFFER_ALLOC, BUFFER_FREE = 6, 7  # in one dialect
N_TYPES = 11  # of both dialects together
_COMMON = ("graph_begin", "graph_end", "op_begin", "op_end", "tensor_alloc", "tensor_free")
MAIN, MEMORY, EITHER = "main", "memory-visualization", "main or memory-visualization"
TYPES = {
    MAIN: (*_COMMON, "barrier", "thread_begin", "thread_free"),
    MEMORY: (*_COMMON, "buffer_alloc", "buffer_free", "barrier", "thread_begin", "thread_free"),
    EITHER: _COMMON,
}

# Offset and type of each field. Which of them a record has, its type says: graphs have n_nodes, n_threads and
# graph_backend, operations op, op_size and op_backend, allocations alloc_size; all have a pointer.
_FIELDS = {
    "type": (0, "u1"),
    "time_ns": (1, "<u8"),
    "thread": (9, "<u4"),
    "pointer": (13, "<u8"),
    "n_nodes": (21, "<u4"),
    "op": (21, "<u4"),
    "alloc_size": (21, "<u8"),
    "n_threads": (25, "<u4"),
    "graph_backend": (29, "<u8"),
    "op_size": (29, "<u8"),
    "op_backend": (37, "<u8"),
    "has_label": (45, "u1"),
}
RECORD = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [kind for _, kind in _FIELDS.values()],
        "offsets": [offset for offset, _ in _FIELDS.values()],
        "itemsize": 46,
    }
)
_LABEL = struct.Struct("<I")
_TEXT = RECORD.itemsize + _LABEL.size  # where a label begins
LONGEST_LABEL = 63  # bytes: ggml's field for a name has 64, with a NUL
_MOST = 1 << 63  # times and sizes are below it


@dataclass(frozen=True)
class VizEvents:
    """The events of a file in the order of their records, one array per field; 0 where a type has no such field.

    `label` indexes `labels` (-1: none). A file that was cut ends at the byte `truncated_at` (None: it is whole), with
    `n_left` bytes of a record that is not whole. `n_full` counts the labels that are as long as ggml allows.
    """

    offset: np.ndarray
    type: np.ndarray
    time_ns: np.ndarray
    thread: np.ndarray
    pointer: np.ndarray
    n_nodes: np.ndarray
    n_threads: np.ndarray
    op: np.ndarray
    size: np.ndarray
    backend: np.ndarray
    label: np.ndarray
    labels: tuple[str, ...]
    n_full: int = 0
    truncated_at: int | None = None
    n_left: int = 0


def decode(name: str, data: bytes) -> VizEvents:
    """The events of a file. Raises TraceFormatError naming file, offset, what was expected and what was found."""
    _check_header(name, data)
    at, offsets, codes, texts = _walk(data)
    offset, label = np.asarray(offsets, np.int64), np.asarray(codes, np.int32)
    records = _anywhere(data, RECORD)[offset].view(RECORD) if len(offset) else np.zeros(0, RECORD)
    kind = records["type"].copy()
    _refuse_where(name, kind >= N_TYPES, f"type 0 to {N_TYPES - 1}", offset, kind)
    truncated_at = _cut_at(name, data, at)
    if not len(offset):
        raise TraceFormatError(
            f"{name}: expected events after the header of {HEADER.size} bytes, found {len(data) - HEADER.size} bytes "
            "and no whole record: no events were captured"
        )
    sizes = np.zeros(len(offset), np.uint64)
    is_op, is_graph = (kind == OP_BEGIN) | (kind == OP_END), kind <= GRAPH_END
    is_alloc = (kind >= TENSOR_ALLOC) & (kind <= BUFFER_FREE)
    sizes[is_op], sizes[is_alloc] = records["op_size"][is_op], records["alloc_size"][is_alloc]
    backend = np.where(is_op, records["op_backend"], np.where(is_graph, records["graph_backend"], 0))
    times = records["time_ns"].copy()
    for what, values in (("time", times), ("size", sizes)):
        _refuse_where(name, values >= _MOST, f"a {what} below 2^63", offset, values)
    return VizEvents(
        offset,
        kind,
        times.view(np.int64),
        records["thread"].copy(),
        records["pointer"].copy(),
        np.where(is_graph, records["n_nodes"], 0),
        np.where(is_graph, records["n_threads"], 0),
        np.where(is_op, records["op"], 0),
        sizes.view(np.int64),
        backend,
        label,
        tuple(text.decode("utf-8", "replace") for text in texts),
        sum(len(text) >= LONGEST_LABEL for text in texts),
        truncated_at,
        0 if truncated_at is None else len(data) - truncated_at,
    )


def _check_header(name: str, data: bytes) -> None:
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise TraceFormatError(
            f"{name}: byte 0: expected {HEADER.size} bytes of header / magic {MAGIC.decode()}, "
            f"found {len(data)} bytes / {bytes(data[:8])!r}"
        )
    version = HEADER.unpack_from(data)[1]
    if version != VERSION:
        raise TraceFormatError(f"{name}: byte 8: expected version {VERSION}, found {version}")


def _walk(data: bytes) -> tuple[int, array[int], array[int], list[bytes]]:
    """Where the last whole record ends; the offset and the label of each record, and the labels, each once.

    This loop runs once for each record, so it does nothing that arrays can do afterwards.
    """
    at, size, length_at = HEADER.size, len(data), _LABEL.unpack_from
    last = size - RECORD.itemsize
    offsets, codes, texts = array("q"), array("i"), dict[bytes, int]()
    while at <= last:
        has_label = data[at + 45]
        if has_label == 0:
            offsets.append(at)
            codes.append(-1)
            at += 46
            continue
        begin = at + 50
        if has_label != 1 or begin > size:
            break
        end = begin + length_at(data, at + 46)[0]
        if end > size:
            break
        offsets.append(at)
        codes.append(texts.setdefault(data[begin:end], len(texts)))
        at = end
    return at, offsets, codes, list(texts)


def _cut_at(name: str, data: bytes, at: int) -> int | None:
    """Where a file was cut whose whole records end at `at`, or None. Raises TraceFormatError for other faults there.

    A label that is longer than names are in ggml, and reaches beyond the file, is no cut.
    """
    left = len(data) - at
    if left < RECORD.itemsize:
        return at if left else None
    where = f"{name}: record at byte {at}"
    kind, has_label = data[at], data[at + 45]
    if kind >= N_TYPES:
        raise TraceFormatError(f"{where}: expected type 0 to {N_TYPES - 1}, found {kind}")
    if has_label > 1:
        raise TraceFormatError(f"{where}: byte {at + 45}: expected 0 or 1 (whether it has a label), found {has_label}")
    if left < _TEXT:
        return at
    length = _LABEL.unpack_from(data, at + RECORD.itemsize)[0]
    if length > LONGEST_LABEL:
        raise TraceFormatError(
            f"{where}: byte {at + RECORD.itemsize}: expected a label of at most {left - _TEXT} bytes, which are all "
            f"that remain, found one of {length} bytes"
        )
    return at


def _anywhere(data: bytes, dtype: np.dtype) -> np.ndarray:
    """The bytes of `data` as items of `dtype`, which begin at every byte and overlap; too short data raises."""
    raw = np.dtype(f"V{dtype.itemsize}")
    return np.ndarray(len(data) - dtype.itemsize + 1, raw, data, 0, (1,))


def _refuse_where(name: str, wrong: np.ndarray, expected: str, offset: np.ndarray, values: np.ndarray) -> None:
    if wrong.any():
        first = int(wrong.argmax())
        at, found = int(offset[first]), int(values[first])
        raise TraceFormatError(f"{name}: record at byte {at}: expected {expected}, found {found}")


def dialect_of(name: str, events: VizEvents) -> str:
    """The dialect, by what the records hold; EITHER where no record differs between them.

    Raises TraceFormatError where the records fit both or neither.
    """
    kind, pointer = events.type, events.pointer
    if not (kind >= BUFFER_ALLOC).any():
        return EITHER
    buffers = (kind == BUFFER_ALLOC) | (kind == BUFFER_FREE)
    signs = {
        MAIN: ("of type 6 or 7 without a pointer", buffers & (pointer == 0)),
        MEMORY: ("of type 6 or 7 with a pointer, or of type 9 or 10", (buffers & (pointer != 0)) | (kind > 8)),
    }
    fits = [dialect for dialect, (_, sign) in signs.items() if sign.any()]
    if len(fits) == 1:
        return fits[0]
    at = int(events.offset[(kind >= BUFFER_ALLOC).argmax()])
    counts = "; ".join(f"{dialect} ({int(sign.sum())} records {what})" for dialect, (what, sign) in signs.items())
    raise TraceFormatError(
        f"{name}: record at byte {at}: expected the types above 5 of one dialect, found signs of "
        f"{'both' if fits else 'neither'}: {counts}; record it again with one version of ggml-viz"
    )


def counts_by_type(events: VizEvents, dialect: str) -> dict[str, int]:
    """How many events of each type there are, for those that there are."""
    names = TYPES[dialect]
    counts = np.bincount(events.type, minlength=len(names)).tolist()
    return {names[number]: n for number, n in enumerate(counts) if n}
