"""The table `requests`: what block devices were asked to read, and which bytes of the model files that was."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tracegen.contract import documents
from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.requests.ring import EventFormat, read_layout, read_ring
from tracegen.storing.store import for_arrow

SECTOR = 512
STATE = "state.json"
_MOST_BYTES = 1 << 30  # of a processor: some ten million requests
_CHUNK = 1 << 20
_BEYOND = 1 << 61  # no place on a device, in bytes
_NONE: dict[str, Any] = {
    "requests_recorded": False,
    "requests_refused": None,
    "requests_lost": 0,
    "requests_unplaced": None,
    "requests_elsewhere": 0,
    "requests_elsewhere_bytes": 0,
}
_FIELDS = {"dev": "ui", "sector": "ui", "nr_sector": "ui", "rwbs": "S"}  # with the kinds of NumPy types they may have
_COLUMNS = {"time_ns": "int64", "is_end": "int64", "device": "int64", "sector": "int64", "n_sectors": "int64"}


def read_requests(folder: Path, passes: pd.DataFrame, files: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table `requests` and the facts of its recording, from the folder `raw/requests` of a run.

    A run without that folder recorded none. `passes` and `files`: tables of the run. Raises TraceFormatError naming
    the file.
    """
    state_file = folder / STATE
    if not state_file.exists():
        return contract.frame("requests"), dict(_NONE)
    state = _state(state_file)
    facts = _NONE | {"requests_refused": state["refused"]}
    if state["refused"] is not None:
        return contract.frame("requests"), facts
    reads, lost = _reads(folder)
    unplaced = next((file["refused"] for file in state["files"] if file["refused"] is not None), None)
    places = _Places(state["files"], _sizes(state["files"], files))
    devices = np.isin(reads["device"], places.devices)
    facts |= {
        "requests_recorded": True,
        "requests_lost": max(state["lost"], lost),  # the kernel counts events, the pages say only that some are missing
        "requests_unplaced": unplaced,
        "requests_elsewhere": int((~devices).sum()),
        "requests_elsewhere_bytes": int(reads["size_bytes"][~devices].sum()),
    }
    return _table(reads[devices].reset_index(drop=True), places, passes), facts


def _state(path: Path) -> dict[str, Any]:
    """The content of state.json, checked. Raises TraceFormatError."""
    try:
        data = documents.content(path, documents.MOST_JSON, TraceFormatError)
    except OSError as error:
        raise TraceFormatError(f"requests/{STATE}: cannot be read: {error}; restore it from a copy") from error
    state: dict[str, Any] = documents.parse_json(data, f"requests/{STATE}", TraceFormatError)
    try:
        for file in state["files"]:
            if not _is_why(file["refused"]) or (file["refused"] is None and not _is_placed(file)):
                raise ValueError("a place that cannot be")
        if not _is_why(state["refused"]) or not _is_count(state["lost"]):
            raise ValueError("a value that cannot be")
    except (ValueError, KeyError, TypeError) as error:
        raise TraceFormatError(f"requests/{STATE}: {error!r}; the file was changed") from error
    return state


def _is_why(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_count(value: object, beyond: int = _BEYOND) -> bool:
    return type(value) is int and 0 <= value < beyond


def _is_placed(file: Mapping[str, Any]) -> bool:
    """Whether a file has a device and extents of (offset, place, size)."""
    major, minor = file["device"]
    return (
        _is_count(major, 1 << 12)
        and _is_count(minor, 1 << 20)
        and isinstance(file["extents"], list)
        and all(len(extent) == 3 and all(map(_is_count, extent)) for extent in file["extents"])
    )


def _sizes(placed: Sequence[Mapping[str, Any]], files: pd.DataFrame) -> list[int]:
    """The size of each file, bytes. Raises TraceFormatError when places of other files than the run's were stored."""
    if len(placed) != len(files):
        raise TraceFormatError(
            f"requests/{STATE}: has places of {len(placed)} files, the run {len(files)}; the file was changed"
        )
    return [int(size) for size in files.sort_values("file", kind="stable")["size_bytes"]]


def _reads(folder: Path) -> tuple[pd.DataFrame, int]:
    """Every read that was issued, in order, and how many times a processor had no room for events.

    Columns: device, place (bytes), size_bytes, ahead, issue_ns, complete_ns (-1: not while it was recorded).
    """
    layouts = [_layout(folder / name) for name in ("issue.format", "complete.format")]
    parts = [pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in {**_COLUMNS, "ahead": "bool"}.items()})]
    lost = 0
    for path in sorted([*folder.glob("cpu*.ring"), *folder.glob("cpu*.ring.zst")]):
        events, missed = read_ring(path.name, _content(path))
        lost += missed
        parts += [_columns(layout, events.of(layout, *_FIELDS), end) for end, layout in enumerate(layouts)]
    return _pairs(pd.concat(parts, ignore_index=True)), lost


def _layout(path: Path) -> EventFormat:
    """The layout of an event with all fields that are used. Raises TraceFormatError."""
    try:
        layout = read_layout(path.name, path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TraceFormatError(f"requests/{path.name}: cannot be read: {error}; restore it from a copy") from error
    for name, kinds in _FIELDS.items():
        if name not in layout.fields or np.dtype(layout.fields[name][1]).kind not in kinds:
            raise TraceFormatError(f"requests/{path.name}: has no known field {name}; this kernel is not known")
    return layout


def _content(path: Path) -> bytes:
    """The bytes of a file that may be packed. Raises TraceFormatError when it is damaged or too large."""
    import pyarrow as pa

    content = bytearray()
    try:
        packing = "zstd" if path.suffix == ".zst" else None
        with for_arrow(path, "rb") as place, pa.input_stream(place, compression=packing) as stream:
            while chunk := stream.read(_CHUNK):
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise TraceFormatError(f"requests/{path.name}: holds more than 1 GiB, which no run records")
    except (OSError, pa.ArrowException) as error:
        raise TraceFormatError(f"requests/{path.name}: cannot be unpacked: {error}; restore it from a copy") from error
    return bytes(content)


def _columns(layout: EventFormat, values: tuple[np.ndarray, ...], is_end: int) -> pd.DataFrame:
    time_ns, dev, sector, n_sectors, rwbs = values
    return pd.DataFrame(
        {
            "time_ns": time_ns,
            "is_end": is_end,
            "device": dev.astype(np.int64),
            "sector": sector.astype(np.int64),
            "n_sectors": n_sectors.astype(np.int64),
            "ahead": np.char.find(rwbs.astype("S"), b"A") >= 0,
        }
    )


def _pairs(events: pd.DataFrame) -> pd.DataFrame:
    """Each issued read with its completion: the next one on the same device and sector.

    A read that is issued a second time before it completes was put back into the queue; its last issue counts.
    """
    by_place = events.sort_values(["device", "sector", "time_ns", "is_end"], kind="stable")
    following = by_place.shift(-1)
    same = (by_place["device"] == following["device"]) & (by_place["sector"] == following["sector"])
    issued = by_place["is_end"] == 0
    ended = same & (following["is_end"] == 1)
    again = same & (following["is_end"] == 0)
    by_place["complete_ns"] = following["time_ns"].where(ended, -1).astype("int64")
    placed = (by_place["n_sectors"] > 0) & (by_place["sector"] >= 0) & (by_place["sector"] < _BEYOND // SECTOR)
    reads = by_place[issued & ~again & placed].sort_values("time_ns", kind="stable")
    return pd.DataFrame(
        {
            "device": reads["device"].to_numpy(),
            "place": reads["sector"].to_numpy() * SECTOR,
            "size_bytes": reads["n_sectors"].to_numpy() * SECTOR,
            "ahead": reads["ahead"].to_numpy(),
            "issue_ns": reads["time_ns"].to_numpy(),
            "complete_ns": reads["complete_ns"].to_numpy(),
        }
    )


class _Places:
    """The extents of all model files by device and place; what an extent has behind the end of its file is left out."""

    def __init__(self, files: Sequence[Mapping[str, Any]], sizes: Sequence[int]) -> None:
        rows = [
            ((file["device"][0] << 20) | file["device"][1], place, min(size, sizes[number] - offset), number, offset)
            for number, file in enumerate(files)
            if file["refused"] is None
            for offset, place, size in file["extents"]
            if offset < sizes[number]
        ]
        self.extents = np.asarray(sorted(rows), np.int64).reshape(-1, 5)
        self.devices = np.unique(self.extents[:, 0])

    def find(self, device: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(File, offset, bytes to the end of the extent) of each place; file -1 where no model file lies."""
        file, offset, rest = (np.full(len(place), -1, np.int64) for _ in range(3))
        for number in self.devices:
            extents = self.extents[self.extents[:, 0] == number]
            here = np.flatnonzero(device == number)
            at = np.searchsorted(extents[:, 1], place[here], side="right") - 1
            into = place[here] - extents[at, 1]
            inside = (at >= 0) & (into < extents[at, 2])
            here, at, into = here[inside], at[inside], into[inside]
            file[here], offset[here], rest[here] = extents[at, 3], extents[at, 4] + into, extents[at, 2] - into
        return file, offset, rest


def _table(reads: pd.DataFrame, places: _Places, passes: pd.DataFrame) -> pd.DataFrame:
    place, size = reads["place"].to_numpy(), reads["size_bytes"].to_numpy()
    file, offset, rest = places.find(reads["device"].to_numpy(), place)
    known, issue, complete = file >= 0, reads["issue_ns"].to_numpy(), reads["complete_ns"].to_numpy()
    return contract.frame(
        "requests",
        {
            "request": np.arange(len(reads)),
            "pass_id": _pass_at(issue, passes),
            "device": [f"{number >> 20}:{number & 0xFFFFF}" for number in reads["device"]],
            "place": place,
            "size_bytes": size,
            "file": pd.Series(file, dtype="Int64").where(known),
            "offset": pd.Series(offset, dtype="Int64").where(known),
            "file_bytes": np.where(known, np.minimum(rest, size), 0),
            "kind": np.where(reads["ahead"].to_numpy(), "ahead", "read"),
            "issue_ns": issue,
            "duration_ns": pd.Series(complete - issue, dtype="Int64").where(complete >= 0),
        },
    )


def _pass_at(time_ns: np.ndarray, passes: pd.DataFrame) -> pd.Series:
    """The pass or load that ran at each time; null between them, and where several ran."""
    ended = passes.dropna(subset=["end_ns"])
    ended = ended[(ended["end_ns"] > ended["begin_ns"]).to_numpy(bool)]
    begin, end, number = (ended[name].to_numpy("int64") for name in ("begin_ns", "end_ns", "pass_id"))
    n_until, sum_until = zip(*(_until(time_ns, edge, number) for edge in (begin, end)), strict=True)
    alone = n_until[0] - n_until[1] == 1
    running = sum_until[0] - sum_until[1]  # the sum of the numbers of those that run: of one, its number
    return pd.Series(running, dtype="Int64").where(alone)


def _until(time_ns: np.ndarray, edge: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of the edges lie at or before each time, and the sum of their numbers."""
    order = np.argsort(edge, kind="stable")
    n = np.searchsorted(edge[order], time_ns, side="right")
    return n, np.concatenate([[0], np.cumsum(number[order])])[n]
