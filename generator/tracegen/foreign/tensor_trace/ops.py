"""Turns the records of a tensor_trace.bin into a trace of operations."""

from typing import Any

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.ops import Described, Operand, OpTrace
from tracegen.foreign.tensor_trace.layouts import MEMORY, N_IDS, NO_LAYER, OPS
from tracegen.foreign.tensor_trace.records import Records


def ops_of(name: str, records: Records) -> OpTrace:
    """The operations of the records. Raises TraceFormatError where operands of 64 or 128 bytes do not come in pairs."""
    title = f"tensor_trace.bin, {records.layout.key}"
    if not records.layout.has("operands"):
        return _of_pairs(name, records, title)
    if records.layout.has("experts"):
        title = title.replace("v4", "v4b" if len(records.expert_at) else "v4a")
    return _trace(
        records,
        title,
        slice(None),
        records.which,
        list(map(_described, records.distinct)),
        expert_at=records.expert_at,
        experts=records.experts,
        n_experts=np.minimum(records.n_experts, N_IDS).astype(np.int64),
        most_operands=4,
    )


def _trace(
    records: Records, title: str, rows: slice, which: np.ndarray, described: list[Described], **more: Any
) -> OpTrace:
    """The trace in which each of these `rows` of the records begins an operation; `more`: its other fields."""
    time_ns, token, phase, thread = (
        column[rows].astype(np.int64, copy=False)
        for column in (records.time_ns, records.token, records.phase, records.thread)
    )
    more |= dict(room=records.layout.room, thread_bits=16, size_bits=32)
    return OpTrace(title, time_ns, token, phase, thread, which, described, **more)


def _described(record: np.void) -> Described:
    operands = tuple(
        Operand(
            _text(each["name"]), int(each["address"]), int(each["size"]), MEMORY[each["memory"]], int(each["place"])
        )
        for each in record["operands"][: min(int(record["n"]), 4)]
    )
    return Described(OPS[record["op"]], _text(record["name"]), operands, _layer(record["layer"]))


def _of_pairs(name: str, records: Records, title: str) -> OpTrace:
    """A MUL_MAT from each pair of operands: first the weight, then the activation; its result has no name."""
    n = len(records.time_ns) // 2
    if not n:
        raise TraceFormatError(f"{name}: holds one record, but an operation is two: a weight and an activation")
    both = records.which[: 2 * n].reshape(-1, 2).astype(np.int64)
    pairs, which = np.unique(both[:, 0] * len(records.distinct) + both[:, 1], return_inverse=True)
    named = records.layout.has("name")
    operands = [
        Operand(_text(row["name"]) if named else "", int(row["address"]), int(row["size"]), None, None)
        for row in records.distinct
    ]
    described = [
        Described("MUL_MAT", "", (operands[weight], operands[other]), _layer(records.distinct["layer"][weight]))
        for weight, other in (divmod(int(pair), len(operands)) for pair in pairs)
    ]
    return _trace(records, title, slice(0, 2 * n, 2), which.astype(np.int32), described, most_operands=2)


def _text(name: bytes) -> str:
    return name.partition(b"\0")[0].decode("utf-8", "replace")


def _layer(number: int) -> int | None:
    return None if number == NO_LAYER else int(number)
