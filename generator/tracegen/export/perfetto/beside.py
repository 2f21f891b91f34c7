"""What is drawn beside the threads: passes, splits, copies, requests, page faults elsewhere, and bytes of buffers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracegen.analysis.backends import submitted
from tracegen.export.format import Source
from tracegen.export.perfetto import packets
from tracegen.export.perfetto.chunks import Chunk, integers, refuse_backwards
from tracegen.export.perfetto.operations import Operations, file_names
from tracegen.export.perfetto.packets import INSTANT, SLICE_BEGIN, SLICE_END, Words, words_of
from tracegen.export.perfetto.tracks import OPEN, Tracks
from tracegen.export.protobuf import Block, Column, Same, joined

INSTANTLY = np.iinfo(np.int64).min  # in place of an end: it was not recorded


class Beside:
    """Makes the slices of one chunk after the other."""

    def __init__(self, source: Source, words: Words, tracks: Tracks, operations: Operations) -> None:
        """Prepare what is the same in every chunk."""
        self._words, self._tracks, self._operations = words, tracks, operations
        self._files = file_names(source)

    def passes(self, passes: pd.DataFrame) -> np.ndarray:
        """Passes and loads; one whose end is unknown has no end."""
        integer = ("pass_id", "context", "n_tokens", "n_outputs", "produced_token", "graph")
        fields = self._fields("pass", "pass", passes["kind"], passes, texts=("kind_basis",), integer=integer)
        return self._drawn("passes", passes, integers(passes["begin_ns"]), integers(passes["end_ns"], OPEN), fields)

    def splits(self, splits: pd.DataFrame) -> np.ndarray:
        """The parts of passes that the scheduler gave to one backend.

        Of a backend that may return before it has computed, the slice is the hand-over: its name says `submitted to`.
        """
        handed, backend = submitted(splits), splits["backend"].astype(object)
        named = backend.where(~handed, "submitted to " + backend)
        told = splits.assign(by_op=splits["by_op"].astype("int64"), submitted=handed.astype(np.int64))
        integer = ("pass_id", "split", "n_nodes", "by_op", "submitted")
        fields = self._fields("split", "split", named, told, texts=("backend",), integer=integer)
        return self._drawn("splits", splits, integers(splits["begin_ns"]), integers(splits["end_ns"]), fields)

    def copies(self, copies: pd.DataFrame) -> np.ndarray:
        """Copies of tensors from one backend to another."""
        fields = self._fields("copy", "copy", copies["tensor"], copies, integer=("pass_id", "split", "size_bytes"))
        fields += [self._words.texts(name, copies[name]) for name in ("source", "target")]
        return self._drawn("copies", copies, integers(copies["begin_ns"]), integers(copies["end_ns"]), fields)

    def requests(self, requests: pd.DataFrame) -> np.ndarray:
        """Reads of devices; one whose completion was not recorded is an instant."""
        named = requests["kind"].astype("string").replace("ahead", "read ahead")
        told = requests.assign(file=requests["file"].map(self._files))
        integer = ("pass_id", "place", "size_bytes", "offset", "file_bytes")
        fields = self._fields("request", "read", named, told, texts=("file",), integer=integer)
        begin = integers(requests["issue_ns"])
        return self._drawn("requests", requests, begin, _end(requests, begin), fields, requests["device"])

    def faults(self, faults: pd.DataFrame) -> np.ndarray:
        """Page faults outside operations, or that cross the bounds of one; one without a known end is an instant."""
        fields = self._operations.fault_fields(faults)
        for name in ("pass_id", "node"):
            fields += self._words.integers(name, faults[name])
        begin = integers(faults["begin_ns"])
        return self._drawn("faults", faults, begin, _end(faults, begin), fields, self._operations.labels(faults))

    def barriers(self, barriers: pd.DataFrame) -> np.ndarray:
        """Waits at barriers that cross the bounds of their operation, or a page fault in it."""
        fields = self._operations.barrier_fields(barriers)
        for name in ("pass_id", "node"):
            fields += self._words.integers(name, barriers[name])
        begin = integers(barriers["begin_ns"])
        return self._drawn(
            "barriers", barriers, begin, _end(barriers, begin), fields, self._operations.labels(barriers)
        )

    def _fields(
        self, category: str, unknown: str, named: pd.Series, table: pd.DataFrame, *, texts: Sequence[str] = (),
        integer: Sequence[str] = (),
    ) -> list[Column]:  # fmt: skip
        """Name (`unknown` where it is null), category, and columns of the table as arguments."""
        words = self._words
        fields: list[Column] = [words.names(named, unknown), Same(words.category(category))]
        fields += [words.texts(name, table[name]) for name in texts]
        return fields + [column for name in integer for column in words.integers(name, table[name])]

    def _drawn(
        self, name: str, table: pd.DataFrame, begin: np.ndarray, end: np.ndarray, fields: Sequence[Column],
        of: pd.Series | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Slices from begin to end on tracks `name`, or `NAME of …` for each text in `of`.

        An end of OPEN is none. An end of INSTANTLY: the slice is an instant.
        """
        instant = end == INSTANTLY
        end = np.where(instant, begin, end)
        refuse_backwards(name, table, begin, end)
        codes, texts = (np.zeros(len(begin), np.int64), [""]) if of is None else words_of(of)
        order = np.lexsort((end, begin, codes))
        tracks = np.empty(len(begin), np.int64)
        bounds = np.searchsorted(codes[order], np.arange(len(texts) + 1))
        for text, first, last in zip(texts, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[first:last]
            tracks[rows] = self._tracks.place(f"{name} of {text}" if of is not None else name, begin[rows], end[rows])
        ends = ~instant & (end != OPEN)
        places = np.empty(len(begin), np.int64)
        places[order] = np.cumsum(1 + ends[order]) - 1 - ends[order]
        kinds: int | np.ndarray = np.where(instant, INSTANT, SLICE_BEGIN) if instant.any() else SLICE_BEGIN
        return joined(
            [
                Block(places, packets.events(kinds, begin, tracks, fields)),
                Block(places[ends] + 1, packets.events(SLICE_END, end[ends], tracks[ends], [])),
            ]
        )


def _end(table: pd.DataFrame, begin: np.ndarray) -> np.ndarray:
    """The end of each row with a duration; INSTANTLY where it is null."""
    known = table["duration_ns"].notna().to_numpy(bool)
    return np.where(known, begin + integers(table["duration_ns"]), INSTANTLY)


class BufferCounters:
    """The bytes that are allocated, as counters: for each backend those of its buffers, and those it views in files."""

    def __init__(self, source: Source, tracks: Tracks) -> None:
        """Sum the allocations up; where passes were left out, those until the last of the others ends."""
        table = source.table("buffers").sort_values("time_ns", kind="stable")
        if source.restricted:
            ended = int(np.max(integers(source.table("passes")["end_ns"], OPEN)))
            table = table[(table["time_ns"] <= ended).to_numpy(bool)]
        mapped = np.where((table["usage"] == "mapped").fillna(False).to_numpy(bool), "mapped", "allocated")
        names: pd.Series[str] = table["backend"].fillna("unknown backend").astype(object) + ": " + mapped + " buffers"
        self._names = names.to_numpy(object)
        self._tracks = tracks
        self._times = integers(table["time_ns"])
        sign = np.where((table["event"] == "alloc").to_numpy(bool), 1, -1)
        change = pd.Series(integers(table["size_bytes"]) * sign, index=table.index)
        self._values = change.groupby(self._names).cumsum().to_numpy(np.int64)
        self.begin_late = source.restricted  # whether the first file begins with the values until then

    def before(self, time_ns: int) -> np.ndarray:
        """The last values before `time_ns`, told at that time: what a file begins with."""
        rows = np.flatnonzero(self._times < time_ns)
        last = pd.Series(rows).groupby(self._names[rows]).last().to_numpy(np.int64)
        return self._told(last, np.full(len(last), time_ns))

    def new_in(self, chunk: Chunk) -> np.ndarray:
        """The values that are new in the time of a chunk."""
        begin = chunk.begin_ns if chunk.first_ns is None and self.begin_late else chunk.first_ns
        first = 0 if begin is None else int(np.searchsorted(self._times, begin))
        end = len(self._times) if chunk.end_ns is None else int(np.searchsorted(self._times, chunk.end_ns))
        rows = np.arange(first, end)
        return self._told(rows, self._times[rows])

    def _told(self, rows: np.ndarray, times: np.ndarray) -> np.ndarray:
        tracks = np.array([self._tracks.counter(str(name)) for name in self._names[rows]], np.int64)
        return joined([Block(np.arange(len(rows)), packets.counts(times, tracks, self._values[rows]))])
