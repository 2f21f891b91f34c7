"""Beside the threads: passes, splits, copies, operations of devices, requests, page faults elsewhere, buffers."""

import numpy as np
import pandas as pd

from tracegen.export.format import Source
from tracegen.export.perfetto import packets
from tracegen.export.perfetto.chunks import Chunk, integers, refuse_backwards
from tracegen.export.perfetto.described import Described
from tracegen.export.perfetto.operations import Operations
from tracegen.export.perfetto.packets import INSTANT, SLICE_BEGIN, SLICE_END, words_of
from tracegen.export.perfetto.tracks import OPEN, Tracks
from tracegen.export.protobuf import woven


class Beside:
    """Makes the slices of one chunk after the other."""

    def __init__(self, described: Described, tracks: Tracks, operations: Operations) -> None:
        """Prepare what is the same in every chunk."""
        self._described, self._tracks, self._operations = described, tracks, operations

    def drawn(self, name: str, table: pd.DataFrame) -> memoryview:
        """The rows of the table `name` as slices on tracks of that name, or `NAME of …` a device or thread.

        A pass whose end is unknown has none; another slice without a known end is an instant.
        """
        begin = integers(table["issue_ns" if name == "requests" else "begin_ns"])
        of, instant = None, np.zeros(len(table), bool)
        if "duration_ns" in table:
            instant = table["duration_ns"].isna().to_numpy(bool)
            end = begin + integers(table["duration_ns"])
        else:
            end = integers(table["end_ns"], OPEN)
        if name in ("requests", "device_ops"):
            of = table["device"].fillna("unknown device")
        elif name in ("faults", "barriers"):
            of = self._operations.labels(table)
        refuse_backwards(name, table, begin, end)
        fields = self._described.fields(name, table)
        codes, texts = (np.zeros(len(begin), np.int64), [""]) if of is None else words_of(of)
        order = np.lexsort((end, begin, codes))
        tracks = np.empty(len(begin), np.int64)
        bounds = np.searchsorted(codes[order], np.arange(len(texts) + 1))
        for text, first, last in zip(texts, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[first:last]
            tracks[rows] = self._tracks.place(f"{name} of {text}" if text else name, begin[rows], end[rows])
        rank = np.empty(len(begin), np.int64)
        rank[order] = np.arange(len(begin))
        ends = ~instant & (end != OPEN)
        kinds = np.where(instant, INSTANT, SLICE_BEGIN)
        return woven(
            (rank, packets.events(kinds, begin, tracks, fields)),
            (rank[ends], packets.events(SLICE_END, end[ends], tracks[ends], [])),
        )


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

    def before(self, time_ns: int) -> memoryview:
        """The last values before `time_ns`, given at that time: what a file begins with."""
        rows = np.flatnonzero(self._times < time_ns)
        last = pd.Series(rows).groupby(self._names[rows]).last().to_numpy(np.int64)
        return self._encoded(last, np.full(len(last), time_ns))

    def new_in(self, chunk: Chunk) -> memoryview:
        """The values that are new in the time of a chunk."""
        begin = chunk.begin_ns if chunk.first_ns is None and self.begin_late else chunk.first_ns
        first = 0 if begin is None else int(np.searchsorted(self._times, begin))
        end = len(self._times) if chunk.end_ns is None else int(np.searchsorted(self._times, chunk.end_ns))
        rows = np.arange(first, end)
        return self._encoded(rows, self._times[rows])

    def _encoded(self, rows: np.ndarray, times: np.ndarray) -> memoryview:
        tracks = np.array([self._tracks.counter(str(name)) for name in self._names[rows]], np.int64)
        return woven((np.arange(len(rows)), packets.counts(times, tracks, self._values[rows])))
