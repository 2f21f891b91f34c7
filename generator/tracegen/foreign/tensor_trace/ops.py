"""Turns the records of a tensor_trace.bin into a trace of operations."""

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.ops import Described, Operand, OpTrace
from tracegen.foreign.tensor_trace.layouts import MEMORY, NO_LAYER, OPS
from tracegen.foreign.tensor_trace.records import Records


def ops_of(name: str, records: Records) -> OpTrace:
    """The operations of the records. Raises TraceFormatError where operands of 64 or 128 bytes do not come in pairs."""
    title = f"tensor_trace.bin, {records.layout.key}"
    if not records.layout.has_operations:
        return _of_pairs(name, records, title)
    newer = "b" if len(records.expert_at) else "a"
    if "experts" in (records.layout.record.names or ()):
        title = title.replace("v4", f"v4{newer}")

    return OpTrace(
        title,
        records.time_ns,
        records.token.astype(np.int64),
        records.phase.astype(np.int64),
        records.thread.astype(np.int64),
        records.which,
        [_described(record) for record in records.distinct],
        records.expert_at,
        records.experts,
        np.minimum(records.n_experts, 16).astype(np.int64),
        records.layout.room,
        4,
        16,
        32,
    )


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
    names = "name" in (records.layout.record.names or ())
    operands = [
        Operand(_text(row["name"]) if names else "", int(row["address"]), int(row["size"]), None, None)
        for row in records.distinct
    ]
    described = [
        Described("MUL_MAT", "", (operands[weight], operands[other]), _layer(records.distinct["layer"][weight]))
        for weight, other in (divmod(int(pair), len(operands)) for pair in pairs)
    ]
    first = slice(0, 2 * n, 2)
    return OpTrace(
        title,
        records.time_ns[first],
        records.token[first].astype(np.int64),
        records.phase[first].astype(np.int64),
        records.thread[first].astype(np.int64),
        which.astype(np.int32),
        described,
        room=records.layout.room,
        most_operands=2,
        thread_bits=16,
        size_bits=32,
    )


def _text(name: bytes) -> str:
    return name.partition(b"\0")[0].decode("utf-8", "replace")


def _layer(number: int) -> int | None:
    return None if number == NO_LAYER else int(number)
