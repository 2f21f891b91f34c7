"""The JSON of the profiler that is proposed for ggml's scheduler (llama.cpp #21160, version 2).

`backends` lists them, `records` has an entry for each operation (type 0) and each copy (type 1): name, backend_id,
split_id, start_ns, duration_ns, bytes, dimensions of operands, and newer ones the name of the result (tensor_name).
On the CPU, thread 0 alone is timed, until all threads have passed the barrier behind the operation.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.faults import Figures
from tracegen.foreign.json_text import is_whole
from tracegen.foreign.profilers.profile import HOST, LATEST_NS, Copy, Profile

_OP, _COPY = 0, 1
_DIRECTIONS = ("copy_H2D", "copy_D2H", "copy_D2D")


def looks_like(document: object) -> bool:
    """Whether a JSON document is such a profile."""
    return isinstance(document, dict) and all(isinstance(document.get(key), list) for key in ("backends", "records"))


def read(name: str, document: Mapping[str, Any]) -> Profile:
    """The operations and copies of a profile. Raises TraceFormatError with the number of the entry that is broken."""
    devices = [_backend(name, number, each) for number, each in enumerate(document["backends"])]
    if not devices:
        raise TraceFormatError(f"{name}: lists no backend; the file was changed")
    ops: list[Mapping[str, Any]] = []
    copies = []
    for number, record in enumerate(document["records"]):
        where = f"{name}: record {number}"
        if not isinstance(record, dict) or record.get("type") not in (_OP, _COPY):
            raise TraceFormatError(f"{where}: expected an operation (type 0) or a copy (1); the file was changed")
        _checked(where, record, len(devices))
        if record["type"] == _OP:
            ops.append(record)
        else:
            copies.append(_copy(record, devices))
    device = [devices[record["backend_id"]] for record in ops]
    begin_ns = np.array([record["start_ns"] for record in ops], np.int64)
    length = np.array([record["duration_ns"] for record in ops], np.int64)
    names = [_tensor(record) for record in ops]
    keys = [
        (record["name"], name if name else tuple(_sizes(record, 0))) for record, name in zip(ops, names, strict=True)
    ]
    earliest = keys[int(begin_ns.argmin())] if ops else None
    figures: Figures = {
        "thread_0": device.count(HOST),
        "nameless": sum(not name for name in names),
        "fused": sum(bool(record.get("extra")) for record in ops),
        "passes_by": f"{earliest[0]} of the same {'name' if isinstance(earliest[1], str) else 'size'} comes again"
        if earliest
        else "",
    }
    return Profile(
        "profile of the scheduler",
        begin_ns,
        begin_ns + length,
        [record["name"] for record in ops],
        names,
        device,
        np.array([record["split_id"] for record in ops], np.int64),
        np.array([key == earliest for key in keys], bool),
        np.array([_tokens(record) for record in ops], np.int64),
        copies,
        figures,
        {"backends": devices},
    )


def _backend(name: str, number: int, backend: object) -> str:
    """The name of a backend."""
    known = backend.get("name") if isinstance(backend, dict) else None
    if not isinstance(known, str) or not known:
        raise TraceFormatError(f"{name}: backend {number}: expected an object with a name; the file was changed")
    return known


def _checked(where: str, record: Mapping[str, Any], n_backends: int) -> None:
    """Raise TraceFormatError where a record lacks what each has."""
    if not isinstance(record.get("name"), str):
        raise TraceFormatError(f"{where}: expected a name, found {str(record.get('name'))[:40]!r}")
    limits = {"backend_id": n_backends, "split_id": 1 << 31, "start_ns": LATEST_NS // 2, "duration_ns": LATEST_NS // 2}
    for key, limit in {**limits, "bytes": 1 << 62}.items():
        if not is_whole(record.get(key), limit):
            raise TraceFormatError(f"{where}: expected {key} below {limit:,}, found {str(record.get(key))[:40]!r}")


def _copy(record: Mapping[str, Any], devices: list[str]) -> Copy:
    """A copy; `backend_id` is the backend of the split that it is for, and its name says which side is the host.

    Its time is that of the call, which may return before the copy is made.
    """
    begin, split_on = record["start_ns"], devices[record["backend_id"]]
    direction = record["name"] if record["name"] in _DIRECTIONS else ""
    others = [device for device in devices if device not in (HOST, split_on)]
    source = HOST if direction == "copy_H2D" else others[0] if len(others) == 1 else "not recorded"
    end, tensor = begin + record["duration_ns"], _tensor(record)
    return Copy(begin, end, source, split_on, record["bytes"], tensor, record["split_id"], handed_over=True)


def _tensor(record: Mapping[str, Any]) -> str:
    known = record.get("tensor_name")
    return known if isinstance(known, str) else ""


def _sizes(record: Mapping[str, Any], operand: int) -> list[int]:
    """The dimensions of an operand; version 2 has a key for each, newer ones a list. Empty where there are none."""
    known = record.get(f"ne_src{operand}")
    if known is None and isinstance(record.get("ne_src"), list) and len(record["ne_src"]) > operand:
        known = record["ne_src"][operand]
    return known if isinstance(known, list) and all(is_whole(n, 1 << 62) for n in known) else []


def _tokens(record: Mapping[str, Any]) -> int:
    """How many tokens are looked up; -1: it is no lookup, or does not say."""
    rows = _sizes(record, 1)
    return rows[0] if record["name"] == "GET_ROWS" and rows and rows[0] < 1 << 31 else -1
