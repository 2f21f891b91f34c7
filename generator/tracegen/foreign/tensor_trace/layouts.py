"""The four layouts of a record of tensor_trace.bin, and which of them the bytes of a file are.

byte  0  time in ns; 0 ends the data, whatever the size of the file
      8  token u32 · layer u16 (65535: none) · thread u16 (its low 16 bits)
     16  operation u8 · phase u8 (0 prompt, 1 generate) · from 256 bytes on: number of operands u8 · padding
     24  64 and 128 bytes:    one operand: index u32, address u64, place u64, size u32, …; from 64 on its name
         256 and 1,024 bytes: name of the result, then four operands: name, address, size u32, layer u16,
                              memory u8 (0 "disk", 1 buffer), place u64 (in the file, or number of the buffer)
    792  1,024 bytes, newer builds: 16 numbers of experts i32, and how many of them count u8
"""

from dataclasses import dataclass

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.op_numbers import TABLES

OPS = TABLES["2026-01"]  # the numbers of operations in such files are those of that time
MEMORY = ("disk", "buffer")
NO_LAYER = 65535
SAMPLE = 256  # records that are looked at to recognise the layout
N_IDS = 16  # numbers of experts that a record has room for

_HEAD: list[tuple[str, str]] = [
    ("time_ns", "<u8"),
    ("token", "<u4"),
    ("layer", "<u2"),
    ("thread", "<u2"),
    ("op", "u1"),
    ("phase", "u1"),
]
_ONE = [
    *_HEAD,
    ("padding", "V6"),
    ("index", "<u4"),
    ("address", "<u8"),
    ("place", "<u8"),
    ("size", "<u4"),
    ("unused", "V16"),
]


def _operands(width: int) -> np.dtype[np.void]:
    fields = [("name", f"S{width}"), ("address", "<u8"), ("size", "<u4"), ("layer", "<u2"), ("memory", "u1")]
    fields += [("padding", "u1"), ("place", "<u8"), ("index", "<u4"), ("tail", "V4")]
    return np.dtype(fields)


_V3 = [*_HEAD, ("n", "u1"), ("padding", "V5"), ("name", "S24"), ("operands", _operands(20), 4)]
_V4 = [
    *_HEAD,
    ("n", "u1"),
    ("padding", "V5"),
    ("name", "S128"),
    ("operands", _operands(128), 4),
    ("experts", "<i4", N_IDS),
    ("n_experts", "u1"),
    ("end", "V167"),
]


@dataclass(frozen=True)
class RecordLayout:
    """A layout of records: its name, its dtype, and where the bytes end that are the same each time an op runs."""

    key: str
    record: np.dtype[np.void]
    fixed_end: int

    @property
    def size_bytes(self) -> int:
        """Bytes of a record."""
        return int(self.record.itemsize)

    def has(self, field: str) -> bool:
        """Whether a record has a field. With `operands` it is an operation, else one operand of a MUL_MAT."""
        return field in (self.record.names or ())

    @property
    def room(self) -> tuple[int, int]:
        """The longest names that a result and an operand can have; 0 where there is no name."""
        if self.has("operands"):
            return self.record["name"].itemsize - 1, self.record["operands"].base["name"].itemsize - 1
        return 0, (self.record["name"].itemsize - 1 if self.has("name") else 0)


LAYOUTS = (
    RecordLayout("64 bytes a record (v1)", np.dtype(_ONE), 64),
    RecordLayout("128 bytes a record (v2)", np.dtype([*_ONE, ("name", "S64")]), 128),
    RecordLayout("256 bytes a record (v3)", np.dtype(_V3), 256),
    RecordLayout("1,024 bytes a record (v4)", np.dtype(_V4), 792),
)


def layout_of(name: str, head: bytes) -> RecordLayout:
    """The layout of a file that begins with `head`. Raises TraceFormatError unless exactly one fits."""
    fits = {layout.key: _fits(layout, head) for layout in LAYOUTS}
    winners = [layout for layout in LAYOUTS if fits[layout.key] == 1]
    if len(winners) == 1:
        return winners[0]
    tried = "; ".join(f"{key}: {share:.0%} of the first records fit" for key, share in fits.items())
    what = "several layouts of tensor_trace.bin fit" if winners else "no layout of tensor_trace.bin fits"
    raise TraceFormatError(f"{name}: {what}, so it is not read ({tried}); name a file of such a trace")


def _fits(layout: RecordLayout, head: bytes) -> float:
    """The share of the first records that could be records of this layout, until the first empty one; 0 if none."""
    whole = len(head) // layout.size_bytes
    records = np.frombuffer(head, layout.record, min(whole, SAMPLE))
    empty = np.flatnonzero(records["time_ns"] == 0)
    records = records[: empty[0]] if len(empty) else records
    if not len(records):
        return 0.0
    times = records["time_ns"].astype(np.float64)
    good = np.append(True, times[1:] >= times[:-1]) & (records["phase"] <= 1) & (times < 2.0**63)
    good &= _zero(records["padding"])
    if layout.has("operands"):
        used = np.arange(4) < records["n"][:, None]
        operands = records["operands"]
        good &= (records["op"] < len(OPS)) & (records["n"] <= 4) & _printable(records["name"])
        good &= ((operands["memory"] <= 1) & (operands["address"] != 0) | ~used).all(axis=1)
        good &= (_printable(operands["name"].ravel()).reshape(-1, 4) | ~used).all(axis=1)
    else:
        good &= (records["op"] == 1) & (records["address"] != 0) & _zero(records["unused"])
        if layout.has("name"):
            good &= _printable(records["name"])
    return float(good.mean())


def _zero(field: np.ndarray) -> np.ndarray:
    """Whether all bytes of each value are 0."""
    flat = np.ascontiguousarray(field)
    return np.asarray(~flat.view(np.uint8).reshape(len(flat), -1).any(axis=1))


def _printable(names: np.ndarray) -> np.ndarray:
    """Whether each name is printable text up to its first NUL, with nothing but NUL behind it."""
    flat = np.ascontiguousarray(names)
    raw = flat.view(np.uint8).reshape(len(flat), -1)
    ended = np.maximum.accumulate(raw == 0, axis=1)
    good: np.ndarray = np.asarray(((raw >= 32) & (raw != 127) | ended).all(axis=1) & ~((raw != 0) & ended).any(axis=1))
    return good
