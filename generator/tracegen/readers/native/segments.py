"""Reads the files of a native trace and checks them: headers, chunks, checksums.

The layout is described in native/include/tensor_trace_format.h.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tracegen.contract.errors import EnvironmentFailure, TraceFormatError
from tracegen.storing.store import for_arrow

MAGIC = b"TTRACE\r\n"
VERSION = 2
PAGE = 4096
CHUNK_MAGIC = 0x4B4E4843
MAIN, THREAD, FAULTS = 0, 1, 2
CLOCKS = ("monotonic", "tsc")  # by their number in the header
WHY_DROPPED = (
    "",
    "the limit of the trace or a disk quota was reached",
    "the disk became full",
    "the trace could not be written",
)  # by their number in the header
NO_SPACE = 2

_FILE_HEADER = struct.Struct("<8sII16sIIQQIIQQII")
_CHUNK_HEADER = struct.Struct("<IIQQII32x")

Bytes = np.ndarray


@dataclass(frozen=True)
class Segment:
    """One checked file of a trace. `parts` are the payloads of its chunks; a killed process leaves chunks unsealed."""

    name: str
    kind: int
    number: int
    clock: int
    run_id: str
    parts: tuple[Bytes, ...]
    n_unsealed: int
    dropped_records: int
    dropped_why: int
    size_bytes: int

    @property
    def payload(self) -> Bytes:
        """The payloads of all chunks joined. A new copy each time: keeping those of all segments would take as much
        memory as the trace.
        """
        if len(self.parts) == 1:
            return self.parts[0]
        return np.concatenate(self.parts) if self.parts else np.zeros(0, np.uint8)


def segment_files(folder: Path) -> dict[str, Bytes]:
    """The bytes of every segment in `folder` by file name: `*.tt` mapped, `*.tt.zst` unpacked.

    Raises TraceFormatError when there is no segment, EnvironmentFailure when one cannot be read.
    """
    segments: dict[str, Bytes] = {}
    try:
        for path in sorted(folder.glob("*.tt")):
            segments[path.name] = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
        for path in sorted(folder.glob("*.tt.zst")):
            with for_arrow(path, "rb") as place, pa.input_stream(place, compression="zstd") as stream:
                segments[path.name.removesuffix(".zst")] = np.frombuffer(stream.read(), np.uint8)
    except OSError as error:
        if error.errno is None:  # an error of the decompressor, not of the system
            raise TraceFormatError(f"{path}: cannot be unpacked: {error}; the file was cut or changed") from error
        raise EnvironmentFailure(f"{folder}: the trace cannot be read: {error}") from error
    if not segments:
        raise TraceFormatError(
            f"{folder}: holds no trace (*.tt); run a program whose llama.cpp has the hooks, or attach to it"
        )
    return segments


def read_segments(files: Mapping[str, Bytes]) -> tuple[Segment, ...]:
    """Check the segments of one run; the main segment comes first, then the threads by number.

    A file that a killed process had just created is left out, unless it is the main segment. Raises TraceFormatError
    for a broken or foreign file, a missing segment, or segments of different runs.
    """
    written = {name: data for name, data in files.items() if not _is_unbegun(data)}
    segments = sorted((read_segment(name, data) for name, data in written.items()), key=lambda s: s.number)
    if not segments or segments[0].kind != MAIN:
        for name in files.keys() - written.keys():
            read_segment(name, files[name])  # raises the error that says what is wrong with the file
    for segment in segments:
        if segment.run_id != segments[0].run_id:
            raise TraceFormatError(
                f"{segment.name}: belongs to run {segment.run_id}, but {segments[0].name} to {segments[0].run_id}; "
                "move the files of one run into a folder of their own"
            )
    numbers = [segment.number for segment in segments]
    if not segments or segments[0].kind != MAIN:
        raise TraceFormatError(
            f"{', '.join(files) or 'no files'}: the main segment of this run is missing; put it beside the others"
        )
    if numbers != list(range(len(numbers))):
        raise TraceFormatError(
            f"segments {numbers}: segments of this run are missing or occur twice; keep each of its files once"
        )
    for segment in segments[1:]:
        if segment.kind == MAIN:
            raise TraceFormatError(f"{segment.name}: is a second main segment; keep one of them")
        if segment.clock != segments[0].clock:
            raise TraceFormatError(f"{segment.name}: uses another clock than {segments[0].name}; the trace was changed")
    return tuple(segments)


def _is_unbegun(data: Bytes) -> bool:
    """Whether the file is empty, or one page whose header has no checksum yet, as the checksum is written last."""
    return len(data) in (0, PAGE) and not data[60:64].any()


def read_segment(name: str, data: Bytes) -> Segment:
    """Check one segment file and its chunks. Raises TraceFormatError naming byte and fault."""
    if len(data) < PAGE:
        raise TraceFormatError(f"{name}: {len(data)} bytes, but a segment has at least {PAGE}; the file was cut")
    head = _FILE_HEADER.unpack_from(data.data)
    magic, version, kind, run_id, number = head[:5]
    clock, crc, dropped_records, _, dropped_why, _ = head[8:]
    if magic != MAGIC:
        raise TraceFormatError(
            f"{name}: is not a tensor trace: it begins with {magic!r}, not with {MAGIC!r}; move it out of this folder"
        )
    if version != VERSION:
        raise TraceFormatError(
            f"{name}: is a trace of version {version}, but this tracegen reads version {VERSION}; record it again"
        )
    if crc != zlib.crc32(data[:60].data):
        raise TraceFormatError(f"{name}: the header at byte 0 has a wrong checksum; the file was changed")
    if kind not in (MAIN, THREAD, FAULTS):
        raise TraceFormatError(f"{name}: segment kind {kind} at byte 12 is unknown; the file was changed")
    if clock >= len(CLOCKS):
        raise TraceFormatError(f"{name}: clock {clock} at byte 56 is unknown; the file was changed")
    if dropped_why >= len(WHY_DROPPED):
        raise TraceFormatError(f"{name}: reason {dropped_why} at byte 80 is unknown; the file was changed")
    parts, unsealed, sequence = [], 0, 0
    at = PAGE
    while at < len(data):
        part, size, sealed = _chunk(name, data, at, sequence)
        if part is None:
            break
        parts.append(part)
        unsealed += not sealed
        sequence += 1
        at += size
    what_was_dropped = (dropped_records, dropped_why)
    return Segment(name, kind, number, clock, run_id.hex(), tuple(parts), unsealed, *what_was_dropped, len(data))


def _chunk(name: str, data: Bytes, at: int, sequence: int) -> tuple[Bytes | None, int, bool]:
    """Payload and size of the chunk at byte `at`, and whether it is sealed; (None, 0, False) for an empty chunk.

    A killed process may leave an empty chunk at the end. Raises TraceFormatError for a broken chunk.
    """
    remaining = len(data) - at
    if remaining < _CHUNK_HEADER.size:
        raise TraceFormatError(f"{name}: byte {at}: {remaining} bytes left, a chunk header has 64; the file was cut")
    magic, number, size, committed, sealed, crc = _CHUNK_HEADER.unpack_from(data.data, at)
    if magic == 0 and not data[at : at + PAGE].any():
        return None, 0, False
    if magic != CHUNK_MAGIC or number != sequence:
        raise TraceFormatError(f"{name}: byte {at}: chunk {sequence} is expected here; the file was changed")
    if size % PAGE or size < _CHUNK_HEADER.size or size > remaining:
        raise TraceFormatError(f"{name}: byte {at}: chunk of {size} bytes, but {remaining} are left; the file was cut")
    if committed > size - _CHUNK_HEADER.size:
        raise TraceFormatError(
            f"{name}: byte {at}: chunk claims to hold {committed} bytes in {size}; the file was changed"
        )
    begin = at + _CHUNK_HEADER.size
    payload = data[begin : begin + committed]
    if sealed not in (0, 1) or (sealed and zlib.crc32(payload.data) != crc):
        raise TraceFormatError(f"{name}: byte {at}: chunk {sequence} has a wrong checksum; the file was changed")
    return payload, size, bool(sealed)
