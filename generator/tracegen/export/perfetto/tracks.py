"""The tracks of a trace. Slices of a track must not cross: where several are open at once, they get tracks of one name.

Perfetto draws tracks of one name below the same parent as one.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from tracegen.export.perfetto import packets

OPEN = np.iinfo(np.int64).max  # the end of a slice whose end is not known


@dataclass
class _Lanes:
    """Tracks of one name: the end of the last slice on each, and its uuid."""

    ends: list[int] = field(default_factory=list)
    uuids: list[int] = field(default_factory=list)

    def place(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The lane of each slice, the first that is free; slices must be sorted by begin."""
        if (begin[1:] >= end[:-1]).all() and (not self.ends or int(begin[0]) >= self.ends[0]):
            self.ends[:1] = [int(end[-1])]
            return np.zeros(len(begin), np.int64)
        busy = [(last, lane) for lane, last in enumerate(self.ends)]
        heapq.heapify(busy)
        free: list[int] = []
        chosen = []
        for first, last in zip(begin.tolist(), end.tolist(), strict=True):
            while busy and busy[0][0] <= first:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if free:
                lane = heapq.heappop(free)
                self.ends[lane] = last
            else:
                lane = len(self.ends)
                self.ends.append(last)
            heapq.heappush(busy, (last, lane))
            chosen.append(lane)
        return np.array(chosen, np.int64)


class Tracks:
    """All tracks below the one of the process, and which of them were wanted for since `take_used`."""

    def __init__(self, name: str) -> None:
        """No track but that of the process called `name`."""
        self._descriptors = {packets.PROCESS: packets.process(name)}
        self._lanes: dict[str, _Lanes] = {}
        self._counters: dict[str, int] = {}
        self._n_threads = 0
        self._used: set[int] = set()

    def place(self, name: str, begin: np.ndarray, end: np.ndarray, *, thread: bool = False) -> np.ndarray:
        """The uuid of the track for each slice; those of one name never cross, whenever they are placed.

        Slices must be sorted by begin. With `thread` the first track is that of a thread.
        """
        if not len(begin):
            return np.zeros(0, np.int64)
        lanes = self._lanes.setdefault(name, _Lanes())
        lane = lanes.place(begin, end)
        while len(lanes.uuids) < len(lanes.ends):
            lanes.uuids.append(self._new(name, thread and not lanes.uuids))
        self._used.update(lanes.uuids[used] for used in np.flatnonzero(np.bincount(lane)).tolist())
        uuids: np.ndarray = np.array(lanes.uuids, np.int64)[lane]
        return uuids

    def counter(self, name: str) -> int:
        """The uuid of a counter of bytes."""
        if name not in self._counters:
            uuid = self._counters[name] = len(self._descriptors) + 1
            self._descriptors[uuid] = packets.track(uuid, name, counts_bytes=True)
        self._used.add(self._counters[name])
        return self._counters[name]

    def take_used(self) -> set[int]:
        """The uuids that were given since the last call, and that of the process."""
        wanted, self._used = self._used | {packets.PROCESS}, set()
        return wanted

    def descriptors(self, uuids: set[int]) -> bytes:
        """The packets that describe these tracks; a parent comes before its children."""
        return b"".join(self._descriptors[uuid] for uuid in sorted(uuids))

    def _new(self, name: str, thread: bool) -> int:
        uuid = len(self._descriptors) + 1
        self._n_threads += thread
        number = self._n_threads if thread else None
        self._descriptors[uuid] = packets.track(uuid, name, thread=number)
        return uuid
