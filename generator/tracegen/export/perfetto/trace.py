"""`perfetto`: writes the trace of a run, in several files where it is large."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tracegen.export.format import Format, Source
from tracegen.export.perfetto import packets
from tracegen.export.perfetto.beside import Beside, BufferCounters
from tracegen.export.perfetto.chunks import Chunk, chunks
from tracegen.export.perfetto.described import Described
from tracegen.export.perfetto.operations import Operations
from tracegen.export.perfetto.packets import Words
from tracegen.export.perfetto.tracks import Tracks

SUFFIX = ".pftrace"
LIMIT_BYTES = 256 << 20  # of a file: a browser holds all of it in memory, and more that it makes of it
_CHUNK_ROWS = 65_536  # with half as many an export takes longer, with more it is not faster
_ROW_BYTES = 2048  # of a row, amply: a chunk is far smaller than a file


@dataclass
class _File:
    """A file that is being written, and what it holds so far."""

    path: Path
    stream: BinaryIO
    size: int = 0
    words: dict[int, int] = field(default_factory=dict)
    tracks: set[int] = field(default_factory=set)
    passes: list[int] = field(default_factory=list)

    def write(self, data: bytes | memoryview) -> None:
        """Append packets. Raises OSError."""
        self.size += len(data)
        self.stream.write(data)


class _Writer:
    """Writes chunk after chunk, and begins a new file where one would exceed the limit."""

    def __init__(self, folder: Path, limit: int, words: Words, tracks: Tracks, buffers: BufferCounters) -> None:
        self._folder, self._limit = folder, limit
        self._words, self._tracks, self._buffers = words, tracks, buffers
        self.files: list[_File] = []

    def add(self, chunk: Chunk, parts: list[memoryview]) -> None:
        """Write the packets of a chunk. Raises OSError."""
        wanted = self._tracks.take_used()
        file = self.files[-1] if self.files else self._new(chunk)
        heading = self._heading(file, wanted)
        if file.passes and file.size + len(heading) + sum(map(len, parts)) > self._limit:
            file.stream.close()
            file = self._new(chunk)
            heading = self._heading(file, wanted)
        file.write(heading)
        file.words = self._words.counts
        file.tracks |= wanted
        file.passes += chunk.numbers[[0, -1]].tolist() if len(chunk.numbers) else []
        for part in parts:
            file.write(part)

    def _heading(self, file: _File, wanted: set[int]) -> bytes:
        """What the file needs before packets that use these tracks and all words."""
        return self._words.packet(file.words) + self._tracks.descriptors(wanted - file.tracks)

    def _new(self, chunk: Chunk) -> _File:
        path = self._folder / f"{len(self.files)}.part"
        file = _File(path, path.open("wb"))
        file.write(packets.opening(chunk.begin_ns))
        if self.files or self._buffers.begin_late:
            values = self._buffers.before(chunk.begin_ns)
            wanted = self._tracks.take_used()
            file.write(self._tracks.descriptors(wanted))
            file.tracks |= wanted
            file.write(values)
        self.files.append(file)
        return file


def write(source: Source, folder: Path, limit: int = LIMIT_BYTES) -> None:
    """Write the trace into `folder`: one file, or several of at most `limit` bytes with whole passes each.

    Only a file of a single pass may be larger. Raises SettingsError where a version lacks a table, TableError where a
    slice would end before it begins, and OSError.
    """
    words, tracks = Words(), Tracks(source.name)
    described = Described(source, words)
    operations = Operations(source, words, tracks, described)
    beside = Beside(described, tracks, operations)
    buffers = BufferCounters(source, tracks)
    writer = _Writer(folder, limit, words, tracks, buffers)
    try:
        for chunk in chunks(source, min(_CHUNK_ROWS, max(limit // _ROW_BYTES, 1))):
            writer.add(chunk, _parts(chunk, operations, beside, buffers))
    finally:
        for file in writer.files:
            file.stream.close()
    _name(source, folder, writer.files)


def _parts(chunk: Chunk, operations: Operations, beside: Beside, buffers: BufferCounters) -> list[memoryview]:
    """The packets of a chunk, in pieces."""
    tables = chunk.tables
    of_threads, left = operations.encoded(chunk)
    return [
        *(beside.drawn(name, tables[name]) for name in ("passes", "splits", "copies", "device_ops")),
        of_threads,
        *(beside.drawn(name, table) for name, table in left.items()),
        beside.drawn("requests", tables["requests"]),
        buffers.new_in(chunk),
    ]


def _name(source: Source, folder: Path, files: list[_File]) -> None:
    """Give the files their names: that of the run, or of the passes that each holds."""
    if len(files) == 1:
        files[0].path.rename(folder / f"{source.stem}{SUFFIX}")
        return
    digits = len(str(files[-1].passes[-1]))
    for file in files:
        first, last = (f"{number:0{digits}}" for number in (file.passes[0], file.passes[-1]))
        file.path.rename(folder / f"passes-{first}-{last}{SUFFIX}")


PERFETTO = Format("perfetto", "a timeline for ui.perfetto.dev, in several files where it is large", write, SUFFIX)
