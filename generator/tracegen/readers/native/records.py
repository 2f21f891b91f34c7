"""The main segment of a native trace: its records read one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Sequence

import numpy as np

from tracegen.errors import TraceFormatError
from tracegen.readers.native.recorded import (
    NODE,
    NONE,
    PLACE,
    TOKEN,
    UNKNOWN,
    WARMUP,
    Buffer,
    Compute,
    Copy,
    Mapping,
    Pass,
    Records,
    Residency,
    Schedule,
    Split,
    Usage,
    Weight,
)

_RECORD = struct.Struct("<IIQ")
_PAIR = struct.Struct("<II")
_FILE_MAP = struct.Struct("<QQQII")
_LOAD = struct.Struct("<QQQQQII")
_WEIGHT = struct.Struct("<IIIIQQQ")
_CONTEXT = struct.Struct("<IIIIIIII")
_BUFFER = struct.Struct("<IIQQII")
_GRAPH = struct.Struct("<QIIII")
_PLACEMENT = struct.Struct("<QIIII")
_PASS = struct.Struct("<QQQQQIIIIIiII")
_COMPUTE = struct.Struct("<QIIIIII")
_SAMPLED = struct.Struct("<Ii")
_RESIDENCY = struct.Struct("<QQIIII")
_END = struct.Struct("<QQQQ")
_SPLIT = struct.Struct("<QIIIIIIII")
_COPY = struct.Struct("<QQIIIIII")
_HOOKS = struct.Struct("<QII")
_SCHEDULE = struct.Struct("<QQQQII")
_TICKS = struct.Struct("<Q")

NUMBER, SIZE, ADDRESS = 1 << 31, 1 << 62, 1 << 64  # numbers of things, bytes and times, ends of ranges: below these
_STATES = ("noop or leaf", "op", "off")  # by `computes`


def read_records(name: str, payload: np.ndarray) -> Records:
    """Read the payload of a main segment. Raises TraceFormatError with the byte of the fault."""
    data = memoryview(payload)  # type: ignore[arg-type]
    made = Records()
    at = 0
    while at < len(data):
        if len(data) - at < _RECORD.size:
            raise TraceFormatError(f"{name}: record at byte {at}: cut after {len(data) - at} of {_RECORD.size} bytes")
        kind, length, time_ns = _RECORD.unpack_from(data, at)
        if length < _RECORD.size or length % 8 or length > len(data) - at:
            raise TraceFormatError(f"{name}: record at byte {at}: length {length}, {len(data) - at} bytes are left")
        take = _TAKERS.get(kind)
        if take is None:
            raise TraceFormatError(f"{name}: record at byte {at}: type {kind} is unknown")
        try:
            _below(SIZE, time_ns=time_ns)
            take(made, data[at + _RECORD.size : at + length], time_ns)
        except (struct.error, ValueError) as error:  # a payload too short, or what the takers object to
            raise TraceFormatError(f"{name}: record of type {kind} at byte {at} is broken: {error}") from error
        at += length
        made.n_records += 1
    return made


def _below(limit: int, **values: int) -> None:
    for name, value in values.items():
        if value >= limit:
            raise ValueError(f"{name} is {value}, which cannot be")


def _fresh(number: int, known: Container[int], what: str) -> None:
    _below(NUMBER, **{what: number})
    if number in known:
        raise ValueError(f"{what} {number} is there already")


def _known(number: int, known: Container[int], what: str) -> None:
    if number not in known:
        raise ValueError(f"{what} {number} was not written before")


def _take_info(made: Records, data: memoryview, time_ns: int) -> None:
    key, value = _PAIR.unpack_from(data)
    made.info[made.text(key)] = made.text(value)


def _take_string(made: Records, data: memoryview, time_ns: int) -> None:
    number, size = _PAIR.unpack_from(data)
    _fresh(number, made.strings, "string")
    if size > len(data) - 8:
        raise ValueError(f"string of {size} bytes, {len(data) - 8} are left")
    made.strings[number] = bytes(data[8 : 8 + size]).decode("utf-8", "replace")


def _take_file_map(made: Records, data: memoryview, time_ns: int) -> None:
    address, size, inode, path, _ = _FILE_MAP.unpack_from(data)
    _below(SIZE, size_bytes=size)
    _below(ADDRESS, end=address + size)
    made.mappings.append(Mapping(address, size, 0, made.text(path), inode, time_ns))


def _take_file_unmap(made: Records, data: memoryview, time_ns: int) -> None:
    """Cut the unmapped part out of the mapping it lies in: what is left lives on."""
    address, size, _, _, _ = _FILE_MAP.unpack_from(data)
    for part in [m for m in made.mappings if m.end_ns is None]:
        begin, end = part.address, part.address + part.size_bytes
        if address >= end or address + size <= begin:
            continue
        part.end_ns = time_ns
        for b, e in ((begin, address), (address + size, end)):
            if e > b:
                offset = part.file_offset + b - begin
                made.mappings.append(Mapping(b, e - b, offset, part.path, part.inode, time_ns))


def _take_load_begin(made: Records, data: memoryview, time_ns: int) -> None:
    *usage, number, path = _LOAD.unpack_from(data)
    _fresh(number, {load.number for load in made.loads}, "load")
    made.loads.append(Pass(number, time_ns, _usage(usage), is_load=True, path=made.text(path)))


def _take_load_end(made: Records, data: memoryview, time_ns: int) -> None:
    *usage, number, _ = _LOAD.unpack_from(data)
    _known(number, {load.number for load in made.loads}, "load")
    for load in made.loads:
        if load.number == number:
            load.end_ns, load.end_usage = time_ns, _usage(usage)


def _usage(counts: Sequence[int]) -> Usage:
    _below(SIZE, usage=max(counts))
    minor, major, voluntary, involuntary, read = counts
    return minor, major, voluntary, involuntary, read


def _take_weight(made: Records, data: memoryview, time_ns: int) -> None:
    load, name, split, mapped, offset, size, address = _WEIGHT.unpack_from(data)
    _below(SIZE, file_offset=offset, size_bytes=size)
    _below(ADDRESS, end=address + size)
    made.weights.append(Weight(load, made.text(name), split, bool(mapped), offset, size, address))


def _take_context(made: Records, data: memoryview, time_ns: int) -> None:
    context, load, n_ctx, n_batch, n_ubatch, n_threads, type_k, type_v = _CONTEXT.unpack_from(data)
    _fresh(context, {known[0] for known in made.contexts}, "context")
    _below(NUMBER, load=load, n_threads=n_threads)
    made.contexts.append((context, load, n_ctx, n_batch, n_ubatch, n_threads))
    made.context_types.append((made.text(type_k), made.text(type_v)))


def _take_buffer(made: Records, data: memoryview, time_ns: int) -> None:
    number, usage, address, size, name, backend = _BUFFER.unpack_from(data)
    _fresh(number, made.buffers, "buffer")
    _below(SIZE, size_bytes=size)
    made.buffers[number] = Buffer(number, time_ns, size, address, usage, made.text(name), made.text(backend))


def _take_buffer_is(made: Records, data: memoryview, time_ns: int) -> None:
    number, usage, address, _, name, backend = _BUFFER.unpack_from(data)
    _known(number, made.buffers, "buffer")
    buffer = made.buffers[number]
    buffer.usage = usage
    buffer.address = address or buffer.address
    buffer.name = made.text(name) or buffer.name
    buffer.backend = made.text(backend) or buffer.backend


def _take_buffer_end(made: Records, data: memoryview, time_ns: int) -> None:
    _take_buffer_is(made, data, time_ns)
    made.buffers[_BUFFER.unpack_from(data)[0]].end_ns = time_ns


def _take_graph(made: Records, data: memoryview, time_ns: int) -> None:
    _, number, n_nodes, n_leafs, _ = _GRAPH.unpack_from(data)
    _fresh(number, made.graphs, "graph")
    n = n_nodes + n_leafs
    if len(data) - _GRAPH.size < n * NODE.itemsize:
        raise ValueError(f"graph of {n} nodes and leaves, {len(data) - _GRAPH.size} bytes are left")
    nodes = np.frombuffer(data, NODE, n, _GRAPH.size)
    for column in ("src", "view_of"):
        if ((nodes[column] >= n) & (nodes[column] != NONE)).any():
            raise ValueError(f"{column} names a node beyond {n}")
    for column in ("op", "name", "dtype"):
        missing = set(np.unique(nodes[column]).tolist()) - made.strings.keys()
        if missing:
            raise ValueError(f"{column} names string {min(missing)}, which was not written")
    for column in ("view_offset", "size_bytes", "ne", "nb"):
        _below(SIZE, **{column: int(nodes[column].max(initial=0))})
    _below(len(_STATES), computes=int(nodes["computes"].max(initial=0)))
    made.graphs[number] = (n_nodes, nodes)


def _take_placement(made: Records, data: memoryview, time_ns: int) -> None:
    _, number, graph, n, _ = _PLACEMENT.unpack_from(data)
    _fresh(number, made.placements, "placement")
    _known(graph, made.graphs, "graph")
    if len(data) - _PLACEMENT.size < n * PLACE.itemsize or n != len(made.graphs[graph][1]):
        raise ValueError(f"placement of {n} tensors does not fit graph {graph}")
    places = np.frombuffer(data, PLACE, n, _PLACEMENT.size)
    for buffer in set(places["buffer"].tolist()) - {NONE}:
        _known(buffer, made.buffers, "buffer")
    made.placements[number] = (graph, places, time_ns)


def _take_call(made: Records, data: memoryview, time_ns: int) -> None:
    context = _PAIR.unpack_from(data)[0]
    made.n_calls[context] = made.n_calls.get(context, 0) + 1
    made.last_call[context] = []


def _take_pass_begin(made: Records, data: memoryview, time_ns: int) -> None:
    values = _PASS.unpack_from(data)
    usage, (number, context, graph, placement, flags, _, n_tokens, n_sequences) = values[:5], values[5:]
    _fresh(number, made.passes, "pass")
    _below(NUMBER, n_sequences=n_sequences)
    if context != NONE:
        _below(NUMBER, context=context)
    if graph != NONE:
        _known(graph, made.graphs, "graph")
    if placement != NONE:
        _known(placement, made.placements, "placement")
        if made.placements[placement][0] != graph:
            raise ValueError(f"placement {placement} is not of graph {graph}")
    if len(data) - _PASS.size < n_tokens * TOKEN.itemsize:
        raise ValueError(f"{n_tokens} token rows, {len(data) - _PASS.size} bytes are left")
    begun = Pass(
        number,
        time_ns,
        _usage(usage),
        flags,
        context=None if context == NONE else context,
        graph=None if graph == NONE else graph,
        placement=None if placement == NONE else placement,
        n_sequences=n_sequences,
        tokens=np.frombuffer(data, TOKEN, n_tokens, _PASS.size),
    )
    if begun.context is not None and context in made.n_calls:
        begun.call = made.n_calls[context] - 1
        begun.ubatch = len(made.last_call[context])
        made.last_call[context].append(begun)
    made.passes[number] = begun


def _take_pass_end(made: Records, data: memoryview, time_ns: int) -> None:
    values = _PASS.unpack_from(data)
    number, status = values[5], values[10]
    _known(number, made.passes, "pass")
    ended = made.passes[number]
    ended.end_ns, ended.end_usage, ended.status = time_ns, _usage(values[:5]), status


def _take_compute(made: Records, data: memoryview, time_ns: int) -> None:
    number, pass_number, split, backend, n_nodes, first, n_map = _COMPUTE.unpack_from(data)
    _known(pass_number, made.passes, "pass")
    _below(NUMBER, split=split)
    graph = made.passes[pass_number].graph
    if number in made.computes or graph is None:
        raise ValueError(f"compute {number} is there already, or has no graph")
    nodes = _nodes_of_part(made.graphs[graph][0], n_nodes, first, n_map, data[_COMPUTE.size :])
    made.computes[number] = Compute(number, pass_number, split, made.text(backend), nodes)


def _nodes_of_part(limit: int, n_nodes: int, first: int, n_map: int, rest: memoryview) -> np.ndarray:
    """The nodes of the whole graph (`limit` of them) that a part of it holds, int32; -1 is none of them."""
    if first != NONE:
        if n_map or first + n_nodes > limit:
            raise ValueError(f"a part of {n_nodes} nodes from {first} on reaches beyond the {limit} of its graph")
        return np.arange(first, first + n_nodes, dtype=np.int32)
    if n_map != n_nodes or len(rest) < 4 * n_map:
        raise ValueError(f"map of {n_map} nodes, {len(rest)} bytes are left")
    named = np.frombuffer(rest, "<u4", n_map)
    if ((named >= limit) & (named != NONE)).any():
        raise ValueError(f"a part maps to a node beyond the {limit} of its graph")
    return named.astype(np.int32)  # NONE, all bits set, becomes -1


def _take_split(made: Records, data: memoryview, time_ns: int) -> None:
    begin_ns, number, split, backend, n_nodes, first, n_map, by_op, _ = _SPLIT.unpack_from(data)
    _known(number, made.passes, "pass")
    _below(NUMBER, split=split)
    _below(time_ns + 1, begin_ns=begin_ns)
    graph = made.passes[number].graph
    if (number, split) in made.splits or graph is None:
        raise ValueError(f"split {split} of pass {number} is there already, or has no graph")
    nodes = _nodes_of_part(made.graphs[graph][0], n_nodes, first, n_map, data[_SPLIT.size :])
    made.splits[number, split] = Split(number, split, made.text(backend), begin_ns, time_ns, bool(by_op), nodes)


def _take_copy(made: Records, data: memoryview, time_ns: int) -> None:
    begin_ns, size, number, split, tensor, source, target, _ = _COPY.unpack_from(data)
    _known(number, made.passes, "pass")
    _below(NUMBER, split=split)
    _below(SIZE, size_bytes=size)
    _below(time_ns + 1, begin_ns=begin_ns)
    names = (made.text(tensor), made.text(source), made.text(target))
    made.copies.append(Copy(number, split, *names, size, begin_ns, time_ns))


def _take_logits(made: Records, data: memoryview, time_ns: int) -> None:
    """The caller reads logits: the last pass of the last call gave them."""
    call = made.last_call.get(_PAIR.unpack_from(data)[0])
    if call:
        call[-1].logits_read = True


def _take_sampled(made: Records, data: memoryview, time_ns: int) -> None:
    made.sampled.append(_SAMPLED.unpack_from(data)[1])


def _take_end(made: Records, data: memoryview, time_ns: int) -> None:
    made.end_ns = time_ns
    made.end_wall_ns, made.end_passes, made.end_segments, made.end_skipped = _END.unpack_from(data)


def _take_residency(made: Records, data: memoryview, time_ns: int) -> None:
    address, size, number, load, page, n = _RESIDENCY.unpack_from(data)
    _below(SIZE, size_bytes=size)
    _below(ADDRESS, end=address + size)
    if page < 512 or page & (page - 1) or size == 0:
        raise ValueError(f"{size} bytes in pages of {page}")
    if number != NONE:
        _known(number, made.passes, "pass")
    else:
        _known(load, {one.number for one in made.loads}, "load")
    if n == NONE:
        if (address, size) not in made.last_runs:
            raise ValueError("the pages of this mapping were not told before")
    else:
        if len(data) - _RESIDENCY.size < 8 * n:
            raise ValueError(f"{n} runs of pages, {len(data) - _RESIDENCY.size} bytes are left")
        runs = np.frombuffer(data, "<u4", 2 * n, _RESIDENCY.size).astype(np.int64).reshape(n, 2)
        ends = runs.sum(axis=1)
        if (runs[:, 1] == 0).any() or (runs[1:, 0] < ends[:-1]).any() or (n and ends[-1] > -(-size // page)):
            raise ValueError("runs of pages are empty, overlap, or reach beyond the mapping")
        made.last_runs[address, size] = runs
    at_pass, at_load = (number, None) if number != NONE else (None, load)
    made.residency.append(Residency(at_pass, at_load, address, page, made.last_runs[address, size], time_ns))


def _take_warmup(made: Records, data: memoryview, time_ns: int) -> None:
    """What a context did so far is known to be a warm-up only now."""
    context = _PAIR.unpack_from(data)[0]
    for one in made.passes.values():
        if one.context == context:
            one.flags |= WARMUP


def _take_clock(made: Records, data: memoryview, time_ns: int) -> None:
    (ticks,) = _TICKS.unpack_from(data)
    _below(SIZE, ticks=ticks)
    made.moments.append((ticks, time_ns))


def _take_hooks(made: Records, data: memoryview, time_ns: int) -> None:
    ticks, number, inside = _HOOKS.unpack_from(data)
    _known(number, made.passes, "pass")
    _below(SIZE, ticks=ticks)
    made.hook_ticks[number] = ticks
    made.hooks_inside = made.hooks_inside and bool(inside)


def _take_schedule(made: Records, data: memoryview, time_ns: int) -> None:
    *times, number, _ = _SCHEDULE.unpack_from(data)
    _known(number, made.passes, "pass")
    _below(SIZE, time=max((ns for ns in times if ns != UNKNOWN), default=0))
    made.passes[number].schedule = Schedule(*(None if ns == UNKNOWN else ns for ns in times))


_TAKERS: dict[int, Callable[[Records, memoryview, int], None]] = {
    1: _take_info,
    2: _take_string,
    3: _take_file_map,
    4: _take_file_unmap,
    5: _take_load_begin,
    6: _take_load_end,
    7: _take_weight,
    8: _take_context,
    9: _take_buffer,
    10: _take_buffer_is,
    11: _take_buffer_end,
    12: _take_graph,
    13: _take_placement,
    14: _take_call,
    15: _take_pass_begin,
    16: _take_pass_end,
    17: _take_compute,
    18: _take_logits,
    19: _take_sampled,
    20: _take_end,
    21: _take_clock,
    22: _take_residency,
    23: _take_warmup,
    24: _take_split,
    25: _take_copy,
    26: _take_hooks,
    27: _take_schedule,
}
