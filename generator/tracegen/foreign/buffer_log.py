"""Logs of runtime buffers: buffer_stats.jsonl, its older variant as one object, and buffer-timeline.json."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.contract.model import Check
from tracegen.foreign.faults import checks_of
from tracegen.foreign.json_text import parse_json

USAGES = ("any", "weights", "compute")
_LINE = re.compile(
    r'\{"timestamp_ms":(?P<time>[0-9]{1,15}(?:\.[0-9]{1,9})?),"event":"(?P<event>alloc|dealloc)"(?P<rest>.*)\}'
)
_NUMBER = re.compile(r'"(buffer_id|buffer_ptr|size|usage|layer)":([0-9]{1,20})(?=[,}]|$)')
_TEXT = re.compile(r'"(name|backend)":"(.*?)"(?=,"|$)')


@dataclass(frozen=True)
class BufferLog:
    """The log: the table `buffers`, its checks, and the address of each buffer that the trace calls by its number."""

    table: pd.DataFrame
    checks: tuple[Check, ...]
    numbers: dict[int, int]  # the log's number (an address) -> buffer_id of its last allocation
    begins: dict[int, int]  # the log's number -> virtual address of the first byte


def read_buffers(name: str, data: bytes) -> BufferLog:
    """Read a log of any variant. Raises TraceFormatError with file and line."""
    if data.lstrip().startswith(b'{"timestamp_ms"'):
        events = [
            _of_line(name, i, line) for i, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1) if line
        ]
    else:
        document = parse_json(name, data)
        rows = document.get("timeline") if isinstance(document, dict) else None
        if not isinstance(rows, list):
            raise TraceFormatError(f"{name}: expected a list `timeline`, found {type(rows).__name__}")
        about = document.get("buffers")
        named = {row.get("id"): row for row in about if isinstance(row, dict)} if isinstance(about, list) else {}
        events = [_of_object(name, i, row, named) for i, row in enumerate(rows)]
    return _buffers(events)


def _of_line(name: str, line: int, text: str) -> dict[str, Any]:
    """An event of a line. Its writer escapes no text, so that the line need not be JSON."""
    match = _LINE.fullmatch(text.strip())
    if match is None:
        raise TraceFormatError(f"{name}: line {line}: expected an event of a buffer, found {text[:60]!r}")
    numbers = {key: int(value) for key, value in _NUMBER.findall(match["rest"])}
    texts = dict(_TEXT.findall(match["rest"]))
    return _event(f"{name}: line {line}", match["time"], match["event"], numbers, texts)


def _of_object(name: str, number: int, row: object, named: dict[Any, Any]) -> dict[str, Any]:
    where = f"{name}: event {number}"
    if not isinstance(row, dict):
        raise TraceFormatError(f"{where}: expected an object, found {type(row).__name__}")
    key = row.get("buffer_id", row.get("id"))
    about = {**named.get(key, {}), **row, "buffer_id": key} if isinstance(key, int) else row
    numbers = {k: v for k in ("buffer_id", "size", "usage", "layer") if isinstance(v := about.get(k), int)}
    texts = {"name": about.get("buffer_name", about.get("name")), "backend": about.get("backend")}
    time = about.get("timestamp_ms")
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise TraceFormatError(f"{where}: expected a time in milliseconds, found {time!r}")
    return _event(where, f"{time:.3f}", str(about.get("event")), numbers, {k: v for k, v in texts.items() if v})


def _event(where: str, time: str, event: str, numbers: dict[str, int], texts: dict[str, Any]) -> dict[str, Any]:
    if (
        "buffer_id" not in numbers
        or event not in ("alloc", "dealloc", "free")
        or (event == "alloc" and "size" not in numbers)
    ):
        raise TraceFormatError(f"{where}: expected alloc or dealloc with the number of a buffer, and its size")
    whole_numbers = time.replace(".", "").isdecimal() and all(0 <= value < 1 << 64 for value in numbers.values())
    if not whole_numbers or numbers.get("size", 0) >= 1 << 63 or float(time) >= 2**63 / 1e6:
        raise TraceFormatError(f"{where}: a number is out of range")
    whole, _, part = time.partition(".")
    return {
        **numbers,
        **texts,
        "event": "alloc" if event == "alloc" else "free",
        "time_ns": int(whole) * 1_000_000 + int((part + "000000")[:6]),
    }


def _buffers(events: Iterable[dict[str, Any]]) -> BufferLog:
    live: dict[int, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    numbers: dict[int, int] = {}
    begins: dict[int, int] = {}
    n_unknown = n_alloc = n_replaced = 0
    for event in sorted(events, key=lambda e: int(e["time_ns"])):
        key = event["buffer_id"]
        if event["event"] == "alloc":
            if key in live:  # allocated again: the end of the former buffer was not written
                rows.append(live.pop(key) | dict(event="free", time_ns=event["time_ns"]))
                n_replaced += 1
            numbers[key] = n_alloc
            if event.get("buffer_ptr"):
                begins[key] = event["buffer_ptr"]
            live[key] = _row(event, n_alloc)
            rows.append(live[key])
            n_alloc += 1
        elif key in live:
            rows.append(live.pop(key) | dict(event="free", time_ns=event["time_ns"]))
        else:
            n_unknown += 1
    table = contract.frame("buffers", sorted(rows, key=lambda row: int(row["time_ns"])))
    names = {str(row["name"]) for row in rows}
    only_cache = bool(rows) and all("KVCache" in name for name in names)
    n_free = sum(row["event"] == "free" for row in rows)
    balance = {
        "allocated": n_alloc,
        "freed": n_free,
        "uneven": n_free != n_alloc,
        "unknown_frees": n_unknown,
        "replaced": n_replaced,
        "never_freed": len(live),
    }
    whole = {"tensors_too": 0, "partial": only_cache or not n_free, "only_cache": only_cache, "is_log": 1}
    return BufferLog(table, checks_of("buffers", balance | whole), numbers, begins)


def _row(event: dict[str, Any], number: int) -> dict[str, Any]:
    usage, layer = event.get("usage"), event.get("layer")
    return dict(
        event="alloc",
        time_ns=event["time_ns"],
        buffer_id=number,
        address=event.get("buffer_ptr"),
        name=event.get("name"),
        backend=event.get("backend"),
        size_bytes=event["size"],
        usage=USAGES[usage] if isinstance(usage, int) and usage < len(USAGES) else None,
        layer=layer if isinstance(layer, int) and layer < 65535 else None,
    )
