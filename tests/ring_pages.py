"""Writes pages of the kernel's ring buffer, and the evidence of recorded requests that is made of them."""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.contract.tables import frame

DELTA_BITS = 27
ISSUE, COMPLETE = 1101, 1104  # the numbers of the events in the texts below
FORMAT = """name: {name}
ID: {number}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:sector_t sector;	offset:16;	size:8;	signed:0;
	field:unsigned int nr_sector;	offset:24;	size:4;	signed:0;
	field:char rwbs[10];	offset:30;	size:10;	signed:0;
	field:__data_loc char[] cmd;	offset:40;	size:4;	signed:0;

print fmt: "nothing"
"""
FORMATS = {
    "issue.format": FORMAT.format(name="block_rq_issue", number=ISSUE),
    "complete.format": FORMAT.format(name="block_rq_complete", number=COMPLETE),
}


@dataclass
class Page:
    """A page under construction: entries are appended, and each says how long after the last one it came."""

    begin_ns: int
    lost: bool = False
    now: int = field(init=False)
    entries: bytearray = field(default_factory=bytearray, init=False)

    def __post_init__(self) -> None:
        self.now = self.begin_ns

    def event(self, time_ns: int, payload: bytes, *, large: bool = False) -> None:
        """An event; its size stands in its head when it is small, else behind it."""
        assert len(payload) % 4 == 0 and payload
        delta = self._delta(time_ns)
        if large or len(payload) > 112:
            self._word(delta << 5)
            self._word(len(payload) + 4)
        else:
            self._word(delta << 5 | len(payload) // 4)
        self.entries += payload

    def discarded(self, time_ns: int, size: int) -> None:
        """The place of an event that the kernel took back. Its delta is never 0."""
        self._word(max(1, self._delta(time_ns)) << 5 | 29)
        self._word(size)
        self.entries += b"\xff" * (size - 4)

    def later(self, time_ns: int) -> None:
        """An entry that only says how much time has passed, in 59 bits."""
        delta = time_ns - self.now
        self._word((delta & (1 << DELTA_BITS) - 1) << 5 | 30)
        self._word(delta >> DELTA_BITS)
        self.now = time_ns

    def absolute(self, time_ns: int) -> None:
        """An entry that says the time, but for its uppermost 5 bits."""
        time = time_ns & (1 << 59) - 1
        self._word((time & (1 << DELTA_BITS) - 1) << 5 | 31)
        self._word(time >> DELTA_BITS)
        self.now = time_ns

    def padding(self, size: int) -> None:
        """The rest of the page, which holds nothing."""
        self._word(29)
        self.entries += b"\xee" * size

    def __bytes__(self) -> bytes:
        return struct.pack("<QQ", self.begin_ns, len(self.entries) | self.lost << 31) + self.entries

    def _delta(self, time_ns: int) -> int:
        delta, self.now = time_ns - self.now, time_ns
        assert 0 <= delta < 1 << DELTA_BITS
        return delta

    def _word(self, value: int) -> None:
        self.entries += struct.pack("<I", value)


@dataclass(frozen=True)
class Event:
    """An event of a block device; `number`: ISSUE or COMPLETE."""

    time_ns: int
    number: int
    device: tuple[int, int]
    sector: int
    n_sectors: int
    flags: str = "RA"

    @property
    def payload(self) -> bytes:
        device = self.device[0] << 20 | self.device[1]
        fields = (self.number, 77, device, self.sector, self.n_sectors, self.flags.encode(), 0)
        return struct.pack("<HxxiIxxxxQIxx10sI", *fields)


def ring(events: Iterable[Event], per_page: int = 3, *, lost: bool = False) -> bytes:
    """The pages of a processor that hold these events, in order of time."""
    pages: list[Page] = []
    for number, event in enumerate(sorted(events, key=lambda event: event.time_ns)):
        if number % per_page == 0:
            pages.append(Page(event.time_ns, lost and not number))
        if event.time_ns - pages[-1].now >= 1 << DELTA_BITS:
            pages[-1].later(event.time_ns)
        pages[-1].event(event.time_ns, event.payload)
    return b"".join(map(bytes, pages))


def placed(device: tuple[int, int], *extents: Sequence[int]) -> dict[str, Any]:
    """What state.json says of a file with these extents: (offset, place, size)."""
    return {"refused": None, "device": list(device), "extents": [list(extent) for extent in extents]}


def write_requests(folder: Path, rings: Sequence[bytes], files: Sequence[Mapping[str, Any]], *, lost: int = 0) -> Path:
    """Write the evidence of a run that recorded requests: formats, a ring for each processor, and state.json."""
    folder.mkdir(exist_ok=True)
    for name, text in FORMATS.items():
        (folder / name).write_text(text)
    for number, content in enumerate(rings):
        (folder / f"cpu{number}.ring").write_bytes(content)
    (folder / "state.json").write_text(json.dumps({"refused": None, "lost": lost, "files": list(files)}))
    return folder


def passes_of(*spans: tuple[int, int | None]) -> pd.DataFrame:
    """A table of passes that begin and end then, numbered from 10."""
    rows = [
        dict(pass_id=10 + i, kind="load", kind_basis="recorded", begin_ns=begin, end_ns=end)
        for i, (begin, end) in enumerate(spans)
    ]
    return frame("passes", rows)


def files_of(*sizes: int) -> pd.DataFrame:
    """A table of model files of these sizes."""
    rows = [
        dict(file=i, model=0, split_index=i, path=f"{i}.gguf", size_bytes=size, axis_begin=0, sha256="ab" * 32)
        for i, size in enumerate(sizes)
    ]
    return frame("files", rows)
