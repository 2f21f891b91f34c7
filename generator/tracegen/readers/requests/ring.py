"""Events in the binary pages of the kernel's ring buffer (Documentation/trace/ring-buffer-design)."""

import re
import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracegen.contract.errors import TraceFormatError

_PAGE = struct.Struct("<QQ")  # time of the first event, ns; bytes of events and flags
_COUNT = (1 << 20) - 1
_LOST = 1 << 31  # events are missing before this page
_MOST = 1 << 16  # bytes of events in a page: more than any kernel's
_WORD = struct.Struct("<I")
_LARGE, _PADDING, _LATER, _ABSOLUTE = 0, 29, 30, 31  # kinds of entries that are no event of 4 to 112 bytes
_TIME_BITS = 27
_TOP = (1 << 64) - (1 << 59)  # of a time, the bits that an absolute one does not hold
_NUMBER = r"([0-9]{1,9})"
_ID = re.compile(rf"^ID: {_NUMBER}$", re.MULTILINE)
_FIELD = re.compile(rf"field:([^;]+);\s*offset:{_NUMBER};\s*size:{_NUMBER};\s*signed:([01]);")
_DTYPES = {("1", 4): "<i4", ("1", 8): "<i8", ("0", 1): "u1", ("0", 2): "<u2", ("0", 4): "<u4", ("0", 8): "<u8"}

_Rows = tuple["array[int]", "array[int]", "array[int]"]  # time, begin and size of each event


@dataclass(frozen=True)
class EventFormat:
    """The layout of an event: its number, and its fields as (offset, NumPy type)."""

    number: int
    fields: Mapping[str, tuple[int, str]]


@dataclass(frozen=True)
class RingEvents:
    """The entries of a processor: time (ns), and where in `data` the bytes of each begin and how many there are."""

    data: np.ndarray
    time_ns: np.ndarray
    begin: np.ndarray
    size: np.ndarray

    def of(self, layout: EventFormat, *names: str) -> tuple[np.ndarray, ...]:
        """Times and fields of the events with this layout. Raises TraceFormatError when one is cut short."""
        (number,) = self._values(np.arange(len(self.begin)), ((0, "<u2"),))
        here = np.flatnonzero(number == layout.number)
        return self.time_ns[here], *self._values(here, [layout.fields[name] for name in names])

    def _values(self, here: np.ndarray, fields: object) -> list[np.ndarray]:
        values = []
        for offset, kind in fields:  # type: ignore[attr-defined]
            dtype = np.dtype(kind)
            if len(here) and int(self.size[here].min()) < offset + dtype.itemsize:
                raise TraceFormatError("requests: an event is shorter than its format says; the file was changed")
            at = self.begin[here, None] + offset + np.arange(dtype.itemsize)
            values.append(np.ascontiguousarray(self.data[at]).view(dtype).reshape(len(here)))
        return values


def read_layout(name: str, text: str) -> EventFormat:
    """The layout of an event from the text of its `format` file. Raises TraceFormatError."""
    number = _ID.search(text)
    if number is None:
        raise TraceFormatError(f"requests/{name}: holds no ID; the file was changed")
    fields = {}
    for declared, offset, size, signed in _FIELD.findall(text):
        *_, word = re.sub(r"\[.*?\]", "", declared).split() or [""]
        kind = f"S{int(size)}" if declared.startswith("char ") else _DTYPES.get((signed, int(size)))
        if kind is not None and 0 < int(size) <= _MOST and int(offset) <= _MOST:
            fields[word] = (int(offset), kind)
    return EventFormat(int(number[1]), fields)


def read_ring(name: str, content: bytes) -> tuple[RingEvents, int]:
    """The events of a processor, and how many the kernel says are missing. Raises TraceFormatError.

    `content` is a row of pages, each cut behind its last event.
    """
    rows: _Rows = (array("q"), array("q"), array("q"))
    lost = at = 0
    while at < len(content):
        if at + _PAGE.size > len(content):
            raise TraceFormatError(f"requests/{name}: ends within a page at byte {at}; the file was cut")
        time_ns, commit = _PAGE.unpack_from(content, at)
        begin, end = at + _PAGE.size, at + _PAGE.size + (commit & _COUNT)
        if commit & _COUNT > _MOST or end > len(content):
            raise TraceFormatError(f"requests/{name}: the page at byte {at} is longer than the file; it was cut")
        lost += bool(commit & _LOST)
        _read_page(name, content, begin, end, time_ns, rows)
        at = end
    return RingEvents(np.frombuffer(content, np.uint8), *(np.asarray(row) for row in rows)), lost


def _read_page(name: str, content: bytes, at: int, end: int, now: int, rows: _Rows) -> None:
    """Append time, begin and size of each event between `at` and `end`; `now` is the time of the page, ns."""
    times, begins, sizes = rows
    while at + 4 <= end:
        (head,) = _WORD.unpack_from(content, at)
        kind, delta, at = head & 31, head >> 5, at + 4
        if kind == _PADDING and delta == 0:
            return  # nothing follows in this page
        if kind in (_LARGE, _PADDING, _LATER, _ABSOLUTE):
            if at + 4 > end:
                raise TraceFormatError(f"requests/{name}: an entry ends behind its page at byte {at}; the file was cut")
            (more,) = _WORD.unpack_from(content, at)
        if kind == _LATER:
            now, at = now + (more << _TIME_BITS) + delta, at + 4
        elif kind == _ABSOLUTE:
            now, at = (now & _TOP) | (more << _TIME_BITS) + delta, at + 4
        else:
            begin = at + 4 if kind == _LARGE else at
            size = more - 4 if kind == _LARGE else more if kind == _PADDING else kind * 4
            now += delta
            if size < 0 or begin + size > end or now >= 1 << 62:
                raise TraceFormatError(f"requests/{name}: an entry ends behind its page at byte {at}; the file was cut")
            if kind != _PADDING:
                times.append(now)
                begins.append(begin)
                sizes.append(size)
            at = begin + size
