"""The JSON that the older tools export: `traces/token-00000.json` and `graphs/token-00000.json`.

The file of a trace lists operations with names, sizes and operands; that of 128-byte records lists single operands.
Numbers that JSON holds as text (`0x…`) are addresses. Nothing in it is believed before it was looked at.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.contract.ggml_types import BLOCKS
from tracegen.foreign.dot import DotGraph, DotNode, op_of
from tracegen.foreign.json_text import is_whole, parse_json
from tracegen.foreign.ops import PHASES, Described, Operand, OpTrace

MEMORY = {"DISK": "disk", "BUFFER": "buffer"}
NO_LAYER = 65535
_LARGEST = 1 << 64


def is_trace(document: object) -> bool:
    """Whether a JSON document is an exported trace."""
    return isinstance(document, dict) and isinstance(document.get("entries"), list) and "token_id" in document


def is_graph(document: object) -> bool:
    """Whether a JSON document is an exported graph."""
    return isinstance(document, dict) and all(isinstance(document.get(key), list) for key in ("nodes", "edges"))


Row = tuple[int, int, int, int, Described, tuple[int, ...]]  # time, token, phase, thread, operation, experts


def read_traces(files: Mapping[str, bytes], executor: Executor | None = None) -> OpTrace:
    """The operations of exported traces, in the order of their times. Raises TraceFormatError with file and entry."""
    read = executor.map if executor is not None else map
    rows = [row for part in read(_rows_of, files, files.values()) for row in part]
    rows.sort(key=lambda row: row[0])
    described: dict[Described, int] = {}
    which = np.array([described.setdefault(row[4], len(described)) for row in rows], np.int32)
    expert_at = np.array([i for i, row in enumerate(rows) if row[5]], np.int64)
    most = max((len(row[5]) for row in rows), default=0)
    experts = np.full((len(expert_at), most), -1, np.int32)
    for line, at in zip(experts, expert_at.tolist(), strict=True):
        line[: len(rows[at][5])] = rows[at][5]
    time_ns, token, phase, thread = (np.array([row[i] for row in rows], np.int64) for i in range(4))
    return OpTrace(
        "exported JSON",
        time_ns,
        token,
        phase,
        thread,
        which,
        tuple(described),
        expert_at,
        experts,
        np.array([len(rows[at][5]) for at in expert_at.tolist()], np.int64),
        most_operands=4,
        thread_bits=16,
    )


def _rows_of(name: str, data: bytes) -> list[Row]:
    """The operations of one file."""
    document = parse_json(name, data)
    if not is_trace(document):
        raise TraceFormatError(f"{name}: expected a trace with token_id and entries, found another JSON document")
    entries = document["entries"]
    where = [f"{name}: entry {i}" for i in range(len(entries))]
    if entries and isinstance(entries[0], dict) and "tensor_name" in entries[0]:
        return [_pair(where[i], entries[i], entries[i + 1]) for i in range(0, len(entries) - len(entries) % 2, 2)]
    return [_row(place, entry) for place, entry in zip(where, entries, strict=True)]


def _row(where: str, entry: object) -> Row:
    if not isinstance(entry, dict):
        raise TraceFormatError(f"{where}: expected an object, found {type(entry).__name__}")
    sources = entry.get("sources", [])
    if not isinstance(sources, list) or len(sources) > 10:
        raise TraceFormatError(f"{where}: expected a list of up to 10 sources")
    operands = tuple(_operand(where, source) for source in sources)
    described = Described(
        _text(where, entry, "operation_type"), _text(where, entry, "dst_name"), operands, _layer(where, entry)
    )
    ids = entry.get("expert_ids") or []
    if not isinstance(ids, list) or not all(is_whole(n, 1 << 31) for n in ids):
        raise TraceFormatError(f"{where}: expected a list of numbers of experts, found {str(ids)[:60]!r}")
    return *_head(where, entry), described, tuple(ids)


def _pair(where: str, weight: object, activation: object) -> Row:
    """An operation of two entries, each of which is an operand of it."""
    if not isinstance(weight, dict) or not isinstance(activation, dict):
        raise TraceFormatError(f"{where}: expected objects")
    operands = tuple(
        Operand(_text(where, e, "tensor_name"), _address(where, e), _whole(where, e, "size_bytes", 1 << 62), None, None)
        for e in (weight, activation)
    )
    described = Described(_text(where, weight, "operation_type"), "", operands, _layer(where, weight))
    return *_head(where, weight), described, ()


def _head(where: str, entry: Mapping[str, Any]) -> tuple[int, int, int, int]:
    phase = entry.get("phase")
    return (
        _whole(where, entry, "timestamp_ns", 1 << 62),
        _whole(where, entry, "token_id", 1 << 32),
        PHASES.index(phase) if phase in PHASES else -1,
        _whole(where, entry, "thread_id", 1 << 62),
    )


def _operand(where: str, source: object) -> Operand:
    if not isinstance(source, dict):
        raise TraceFormatError(f"{where}: expected a source as an object, found {type(source).__name__}")
    memory = MEMORY.get(str(source.get("memory_source")))
    key = "disk_offset" if memory == "disk" else "buffer_id"
    place = (
        _whole(where, source, key, _LARGEST if memory == "buffer" else 1 << 62) if memory and key in source else None
    )
    size = _whole(where, source, "size_bytes", 1 << 62)
    return Operand(_text(where, source, "name"), _address(where, source), size, memory, place)


def _address(where: str, entry: Mapping[str, Any]) -> int:
    text = entry.get("tensor_ptr")
    try:
        address = int(text, 16) if isinstance(text, str) else 0
    except ValueError:
        address = -1
    if not 0 <= address < _LARGEST:
        raise TraceFormatError(f"{where}: expected an address such as 0x7f00, found {str(text)[:40]!r}")
    return address


def _layer(where: str, entry: Mapping[str, Any]) -> int | None:
    layer = entry.get("layer_id")
    if layer is None or layer == NO_LAYER:
        return None
    return _whole(where, entry, "layer_id", NO_LAYER)


def _text(where: str, entry: Mapping[str, Any], key: str) -> str:
    text = entry.get(key)
    if not isinstance(text, str):
        raise TraceFormatError(f"{where}: expected {key} as text, found {str(text)[:40]!r}")
    return text.encode("utf-8", "replace").decode()  # JSON can hold half of a character, which no file can


def _whole(where: str, entry: Mapping[str, Any], key: str, limit: int) -> int:
    number = entry.get(key)
    if not is_whole(number, limit):
        raise TraceFormatError(f"{where}: expected {key} as a whole number below {limit:,}, found {str(number)[:40]!r}")
    return int(number)  # type: ignore[arg-type]


def read_graph(name: str, document: Mapping[str, Any]) -> DotGraph:
    """An exported graph as the dump that it was made from. Raises TraceFormatError.

    The exporter took the first group in parentheses for the type: the type of `Qcur-0 (view)` is then `view`.
    """
    rows = document["nodes"]
    number: dict[str, int] = {}
    nodes: list[DotNode] = []
    for i, row in enumerate(rows):
        where = f"{name}: node {i}"
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or row["id"] in number:
            raise TraceFormatError(f"{where}: expected an object with an id of its own")
        shape = row.get("shape")
        if not isinstance(shape, list) or not all(is_whole(n, 1 << 62) for n in shape) or len(shape) > 4:
            raise TraceFormatError(f"{where}: expected a shape of up to four whole numbers, found {str(shape)[:40]!r}")
        number[row["id"]] = i
        label, dtype = _text(where, row, "label"), _text(where, row, "dtype")
        known = dtype.upper() in BLOCKS
        nodes.append(
            DotNode(
                label if known or not dtype else f"{label} ({dtype})",
                dtype.upper() if known else "",
                tuple(shape),
                "NONE" if row.get("operation") in (None, "CONST") else op_of(str(row["operation"])),
            )
        )
    operands: list[dict[int, int]] = [{} for _ in nodes]
    for i, edge in enumerate(document["edges"]):
        ends = [number.get(str(edge.get(key))) if isinstance(edge, dict) else None for key in ("source", "target")]
        slot = str(edge.get("label", "")).removeprefix("src ") if isinstance(edge, dict) else ""
        if None in ends or not (slot.isdecimal() and slot.isascii() and int(slot) < 10):
            raise TraceFormatError(f"{name}: edge {i}: expected two nodes of the file and a slot such as src 0")
        operands[ends[1]][int(slot)] = ends[0]  # type: ignore[index, assignment]
    return _leaves_last(nodes, operands)


def _leaves_last(nodes: Sequence[DotNode], operands: Sequence[Mapping[int, int]]) -> DotGraph:
    order = [i for i, node in enumerate(nodes) if node.op != "NONE"]
    n_nodes = len(order)
    order += [i for i, node in enumerate(nodes) if node.op == "NONE"]
    place = {old: new for new, old in enumerate(order)}
    moved = tuple({slot: place[source] for slot, source in operands[i].items()} for i in order)
    return DotGraph(tuple(nodes[i] for i in order), n_nodes, moved)
