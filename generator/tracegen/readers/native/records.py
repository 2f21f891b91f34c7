"""Reads the main segment of a native trace, one record after another."""

import re
import struct
from collections.abc import Callable, Container, Sequence

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.contract.tables import FOOTPRINT_KINDS, PROOFS, READ_CALLS
from tracegen.readers.native import recorded
from tracegen.readers.native.recorded import NONE, Pass, Records, Usage

_RECORD = struct.Struct("<IIQ")
_Taker = Callable[..., None]
_TAKERS: dict[int, tuple[struct.Struct, _Taker]] = {}  # by type of record

# Limits: numbers of things, sizes and times, and ends of address ranges are below these.
NUMBER, SIZE, ADDRESS = 1 << 31, 1 << 62, 1 << 64
MILLISECONDS = 1 << 32  # a device's times are below: the kernel prints 32 bits of them
MILLISECOND_NS = 1_000_000
SECTOR = 512  # bytes: the kernel's unit, whatever the device's sectors
_STATES = ("noop or leaf", "op", "off")  # by `computes`


def read_records(name: str, content: np.ndarray) -> Records:
    """Read the payload of the main segment `name`. Raises TraceFormatError naming the byte of the fault."""
    data = memoryview(content)  # type: ignore[arg-type]
    records = Records()
    at = 0
    while at < len(data):
        if len(data) - at < _RECORD.size:
            raise TraceFormatError(
                f"{name}: record at byte {at}: cut after {len(data) - at} of {_RECORD.size} bytes; record the run again"
            )
        kind, length, time_ns = _RECORD.unpack_from(data, at)
        if length < _RECORD.size or length % 8 or length > len(data) - at:
            raise TraceFormatError(
                f"{name}: record at byte {at}: length {length}, {len(data) - at} bytes are left; the trace was changed"
            )
        if kind not in _TAKERS:
            raise TraceFormatError(f"{name}: record at byte {at}: type {kind} is unknown; the trace was changed")
        try:
            _below(SIZE, time_ns=time_ns)
            layout, take = _TAKERS[kind]
            payload = data[at + _RECORD.size : at + length]
            take(records, time_ns, payload[layout.size :], *layout.unpack_from(payload))
        except (struct.error, ValueError) as error:  # a payload that is too short, or a fault that `take` found
            raise TraceFormatError(
                f"{name}: record of type {kind} at byte {at} is broken: {error}; the trace was changed"
            ) from error
        at += length
        records.n_records += 1
    return records


def _below(limit: int, **values: int) -> None:
    for name, value in values.items():
        if value >= limit:
            raise ValueError(f"{name} is {value}, but must be below {limit}")


def _refuse_again(number: int, known: Container[int], what: str) -> None:
    _below(NUMBER, **{what: number})
    if number in known:
        raise ValueError(f"{what} {number} was written before")


def _require(number: int, known: Container[int], what: str) -> None:
    if number not in known:
        raise ValueError(f"{what} {number} was not written before")


def _takes(kind: int, layout: str) -> Callable[[_Taker], _Taker]:
    """Registers the function that takes records of a type: its time, what lies behind the layout, and its values."""

    def register(take: _Taker) -> _Taker:
        _TAKERS[kind] = struct.Struct(f"<{layout}"), take
        return take

    return register


@_takes(1, "II")
def _take_info(records: Records, time_ns: int, rest: memoryview, key: int, value: int) -> None:
    records.info[records.text(key)] = records.text(value)


@_takes(2, "II")
def _take_string(records: Records, time_ns: int, rest: memoryview, number: int, size: int) -> None:
    _refuse_again(number, records.strings, "string")
    if size > len(rest):
        raise ValueError(f"a string of {size} bytes, {len(rest)} bytes are left")
    records.strings[number] = bytes(rest[:size]).decode("utf-8", "replace")


@_takes(3, "QQQII")
def _take_file_map(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    address, size, _, path, _ = values
    _below(SIZE, size_bytes=size)
    _below(ADDRESS, end=address + size)
    records.mappings.append(recorded.Mapping(address, size, 0, records.text(path), time_ns))


@_takes(4, "QQQII")
def _take_file_unmap(records: Records, time_ns: int, rest: memoryview, address: int, size: int, *_: int) -> None:
    """End each mapping that the unmapped range touches; the parts of it outside the range become new mappings."""
    for part in [m for m in records.mappings if m.end_ns is None]:
        begin, end = part.address, part.address + part.size_bytes
        if address >= end or address + size <= begin:
            continue
        part.end_ns = time_ns
        for b, e in ((begin, address), (address + size, end)):
            if e > b:
                offset = part.file_offset + b - begin
                records.mappings.append(recorded.Mapping(b, e - b, offset, part.path, time_ns))


@_takes(5, "5QII")
def _take_load_begin(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    *usage, number, path = values
    _refuse_again(number, {load.number for load in records.loads}, "load")
    records.loads.append(Pass(number, time_ns, _usage(usage), is_load=True, path=records.text(path)))


@_takes(6, "5QII")
def _take_load_end(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    *usage, number, _ = values
    _require(number, {load.number for load in records.loads}, "load")
    for load in records.loads:
        if load.number == number:
            load.end_ns, load.end_usage = time_ns, _usage(usage)


def _usage(counts: Sequence[int]) -> Usage:
    _below(SIZE, usage=max(counts))
    minor, major, voluntary, involuntary, read = counts
    return minor, major, voluntary, involuntary, read


@_takes(7, "IIIIQQQII")
def _take_weight(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    load, name, split, mapped, offset, size, address, buffer, _ = values
    _below(SIZE, file_offset=offset, size_bytes=size)
    _below(ADDRESS, end=address + size)
    records.weights.append(
        recorded.Weight(load, records.text(name), split, bool(mapped), offset, size, address, buffer)
    )


@_takes(8, "8I")
def _take_context(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    context, load, n_ctx, n_batch, n_ubatch, n_threads, type_k, type_v = values
    _refuse_again(context, {row["context"] for row in records.contexts}, "context")
    _below(NUMBER, load=load, n_threads=n_threads)
    records.contexts.append(
        dict(
            context=context,
            model=load,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_ubatch=n_ubatch,
            n_threads=n_threads,
            type_k=records.text(type_k) or None,
            type_v=records.text(type_v) or None,
        )
    )


@_takes(9, "IIQQII")
def _take_buffer(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    number, usage, address, size, name, backend = values
    _refuse_again(number, records.buffers, "buffer")
    _below(SIZE, size_bytes=size)
    names = (records.text(name), records.text(backend))
    records.buffers[number] = recorded.Buffer(number, time_ns, size, address, usage, *names)


@_takes(10, "IIQQII")
def _take_buffer_is(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    number, usage, address, _, name, backend = values
    _require(number, records.buffers, "buffer")
    buffer = records.buffers[number]
    buffer.usage = usage
    buffer.address = address or buffer.address
    buffer.name = records.text(name) or buffer.name
    buffer.backend = records.text(backend) or buffer.backend


@_takes(11, "IIQQII")
def _take_buffer_end(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    _take_buffer_is(records, time_ns, rest, *values)
    records.buffers[values[0]].end_ns = time_ns


@_takes(12, "QIIII")
def _take_graph(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    _, number, n_nodes, n_leafs, _ = values
    _refuse_again(number, records.graphs, "graph")
    n = n_nodes + n_leafs
    if len(rest) < n * recorded.NODE.itemsize:
        raise ValueError(f"a graph of {n} nodes and leaves, {len(rest)} bytes are left")
    nodes = np.frombuffer(rest, recorded.NODE, n)
    for column in ("src", "view_of"):
        if ((nodes[column] >= n) & (nodes[column] != NONE)).any():
            raise ValueError(f"{column} names a node that is not below {n}")
    for column in ("op", "name", "dtype"):
        missing = set(np.unique(nodes[column]).tolist()) - records.strings.keys()
        if missing:
            raise ValueError(f"{column} names string {min(missing)}, which was not written before")
    for column in ("view_offset", "size_bytes", "ne", "nb"):
        _below(SIZE, **{column: int(nodes[column].max(initial=0))})
    _below(len(_STATES), computes=int(nodes["computes"].max(initial=0)))
    records.graphs[number] = (n_nodes, nodes)


@_takes(13, "QIIII")
def _take_placement(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    _, number, graph, n, _ = values
    _refuse_again(number, records.placements, "placement")
    _require(graph, records.graphs, "graph")
    if len(rest) < n * recorded.PLACE.itemsize or n != len(records.graphs[graph][1]):
        raise ValueError(f"a placement of {n} tensors does not fit graph {graph}")
    places = np.frombuffer(rest, recorded.PLACE, n)
    for buffer in set(places["buffer"].tolist()) - {NONE}:
        _require(buffer, records.buffers, "buffer")
    records.placements[number] = (graph, places, time_ns)


@_takes(14, "II")
def _take_call(records: Records, time_ns: int, rest: memoryview, context: int, _: int) -> None:
    records.n_calls[context] = records.n_calls.get(context, 0) + 1
    records.last_call[context] = []


@_takes(15, "5Q5IiII")
def _take_pass_begin(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    usage, (number, context, graph, placement, flags, _, n_tokens, n_sequences) = values[:5], values[5:]
    _refuse_again(number, records.passes, "pass")
    _below(NUMBER, n_sequences=n_sequences)
    if context != NONE:
        _below(NUMBER, context=context)
    if graph != NONE:
        _require(graph, records.graphs, "graph")
    if placement != NONE:
        _require(placement, records.placements, "placement")
        if records.placements[placement][0] != graph:
            raise ValueError(f"placement {placement} does not belong to graph {graph}")
    if len(rest) < n_tokens * recorded.TOKEN.itemsize:
        raise ValueError(f"{n_tokens} tokens, {len(rest)} bytes are left")
    new = Pass(
        number,
        time_ns,
        _usage(usage),
        flags,
        context=None if context == NONE else context,
        graph=None if graph == NONE else graph,
        placement=None if placement == NONE else placement,
        n_sequences=n_sequences,
        tokens=np.frombuffer(rest, recorded.TOKEN, n_tokens),
    )
    if new.context is not None and context in records.n_calls:
        new.call = records.n_calls[context] - 1
        new.ubatch = len(records.last_call[context])
        records.last_call[context].append(new)
    records.passes[number] = new


@_takes(16, "5Q5IiII")
def _take_pass_end(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    number = values[5]
    _require(number, records.passes, "pass")
    ended = records.passes[number]
    ended.end_ns, ended.end_usage = time_ns, _usage(values[:5])


@_takes(17, "Q6I")
def _take_compute(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    number, pass_number, split, backend, n_nodes, first, n_map = values
    _require(pass_number, records.passes, "pass")
    _below(NUMBER, split=split)
    graph = records.passes[pass_number].graph
    if number in records.computes or graph is None:
        raise ValueError(f"compute {number} was written before, or its pass has no graph")
    nodes = _nodes_of_part(records.graphs[graph][0], n_nodes, first, n_map, rest)
    records.computes[number] = recorded.Compute(number, pass_number, split, records.text(backend), nodes)


def _nodes_of_part(limit: int, n_nodes: int, first: int, n_map: int, rest: memoryview) -> np.ndarray:
    """The nodes of a part of a graph, as nodes of the whole graph (`limit` of them), int32.

    -1 stands for a node that is not in the whole graph. Raises ValueError for a part that does not fit.
    """
    if first != NONE:
        if n_map or first + n_nodes > limit:
            raise ValueError(f"a part of {n_nodes} nodes from {first} on ends beyond the {limit} nodes of its graph")
        return np.arange(first, first + n_nodes, dtype=np.int32)
    if n_map != n_nodes or len(rest) < 4 * n_map:
        raise ValueError(f"a map of {n_map} nodes for a part of {n_nodes}, {len(rest)} bytes are left")
    named = np.frombuffer(rest, "<u4", n_map)
    if ((named >= limit) & (named != NONE)).any():
        raise ValueError(f"a part maps to a node beyond the {limit} nodes of its graph")
    return named.astype(np.int32)  # NONE, all bits set, becomes -1


def _proof(number: int) -> str | None:
    """What stands in the column `proof` for enum tt_proof. Raises ValueError for a number that it does not have."""
    _below(len(PROOFS) + 1, proof=number)
    return PROOFS[number - 1] if number else None  # 0: a trace of before it was recorded


@_takes(24, "Q8IQ")
def _take_split(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    begin_ns, number, split, backend, n_nodes, first, n_map, by_op, proof, submitted_ns = values
    _require(number, records.passes, "pass")
    _below(NUMBER, split=split)
    _below(time_ns + 1, begin_ns=begin_ns)
    graph = records.passes[number].graph
    if (number, split) in records.splits or graph is None:
        raise ValueError(f"split {split} of pass {number} was written before, or the pass has no graph")
    _below(time_ns + 1, submitted_ns=submitted_ns)
    _below(submitted_ns + 1, begin_ns=begin_ns)
    nodes = _nodes_of_part(records.graphs[graph][0], n_nodes, first, n_map, rest)
    how = _proof(proof)
    waiting_ns = {"synchronise": submitted_ns, "reply": submitted_ns, "blocking": begin_ns}.get(how or "")
    by = (records.text(backend), begin_ns, submitted_ns, waiting_ns, time_ns, bool(by_op), how)
    records.splits[number, split] = recorded.Split(number, split, *by, nodes)


@_takes(32, "QII")
def _take_done(records: Records, time_ns: int, rest: memoryview, begin_ns: int, proof: int, n_splits: int) -> None:
    """llama.cpp waited, which proves that splits that were handed over before are done."""
    _below(time_ns + 1, begin_ns=begin_ns)
    if len(rest) < 8 * n_splits:
        raise ValueError(f"{n_splits} splits that are done, {len(rest)} bytes are left")
    how = _proof(proof)
    if how not in ("synchronise", "reply"):
        raise ValueError(f"proof is {proof}, which does not prove that a split is done")
    for number, split in np.frombuffer(rest, "<u4", 2 * n_splits).reshape(-1, 2).tolist():
        done = records.splits.get((number, split))
        if done is None or done.proof != "none":
            raise ValueError(
                f"split {split} of pass {number} is done, but was not handed over before, or was done then"
            )
        done.waiting_ns, done.end_ns, done.proof = max(begin_ns, done.submitted_ns), time_ns, how


@_takes(25, "QQ6I")
def _take_copy(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    begin_ns, size, number, split, tensor, source, target, proof = values
    _require(number, records.passes, "pass")
    _below(NUMBER, split=split)
    _below(SIZE, size_bytes=size)
    _below(time_ns + 1, begin_ns=begin_ns)
    row = dict(
        split=split,
        tensor=records.text(tensor),
        source=records.text(source),
        target=records.text(target),
        size_bytes=size,
        begin_ns=begin_ns,
        end_ns=time_ns,
        proof=_proof(proof),
    )
    records.copies.append((number, row))


@_takes(31, "QQ6I")
def _take_device_op(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    begin_ns, end_ns, number, split, label, order, exact, _ = values
    _require(number, records.passes, "pass")
    _below(NUMBER, split=split, order=order)
    _below(2, exact=exact)
    _below(time_ns + 1, end_ns=end_ns)
    _below(end_ns + 1, begin_ns=begin_ns)
    text = records.text(label)
    records.device_ops.append(recorded.DeviceOp(number, split, order, text, begin_ns, end_ns, bool(exact)))


@_takes(33, "4I")
def _take_chosen(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    number, tensor, n_rows, n_chosen = values
    _require(number, records.passes, "pass")
    n = n_rows * n_chosen
    if len(rest) < 4 * n or not n:
        raise ValueError(f"{n} experts were chosen, {len(rest)} bytes are left")
    name = records.text(tensor)
    layer = re.search(r"-([0-9]{1,9})(?: |$)", name)
    if layer is None:
        raise ValueError(f"experts were chosen in {name!r}, which names no layer")
    experts = np.frombuffer(rest, "<i4", n)
    if (experts < 0).any():
        raise ValueError(f"expert {experts.min()} was chosen in {name!r}; numbers count from 0")
    records.chosen.append(recorded.Chosen(number, int(layer[1]), experts))


@_takes(18, "II")
def _take_logits(records: Records, time_ns: int, rest: memoryview, context: int, _: int) -> None:
    """The program reads logits, which the last pass of the context's last call computed."""
    call = records.last_call.get(context)
    if call:
        call[-1].logits_read = True


@_takes(19, "Ii")
def _take_sampled(records: Records, time_ns: int, rest: memoryview, _: int, token: int) -> None:
    records.sampled.append(token)


@_takes(20, "QQQQ")
def _take_end(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    records.end_ns = time_ns
    _, records.end_passes, records.end_segments, records.end_skipped = values


def _pass_or_load(records: Records, number: int, load: int) -> Pass:
    """The pass, or where `number` is NONE the load. Raises ValueError when it has not begun."""
    if number != NONE:
        _require(number, records.passes, "pass")
        return records.passes[number]
    loads = {one.number: one for one in records.loads}
    _require(load, loads, "load")
    return loads[load]


@_takes(22, "QQIIII")
def _take_residency(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    address, size, number, load, page, n = values
    _below(SIZE, size_bytes=size)
    _below(ADDRESS, end=address + size)
    if page < 512 or page & (page - 1) or size == 0:
        raise ValueError(f"a mapping of {size} bytes in pages of {page} bytes")
    of = _pass_or_load(records, number, load)
    if n == NONE:
        if (address, size) not in records.last_runs:
            raise ValueError("the pages of this mapping are marked as unchanged, but were not written before")
    else:
        if len(rest) < 8 * n:
            raise ValueError(f"{n} runs of pages, {len(rest)} bytes are left")
        runs = np.frombuffer(rest, "<u4", 2 * n).astype(np.int64).reshape(n, 2)
        ends = runs.sum(axis=1)
        if (runs[:, 1] == 0).any() or (runs[1:, 0] < ends[:-1]).any() or (n and ends[-1] > -(-size // page)):
            raise ValueError("runs of pages are empty, overlap, or end beyond the mapping")
        records.last_runs[address, size] = runs
    last = records.last_runs[address, size]
    records.residency.append(recorded.Residency(of, address, page, last, time_ns))


@_takes(23, "II")
def _take_warmup(records: Records, time_ns: int, rest: memoryview, context: int, _: int) -> None:
    """Mark all passes of a context so far as warm-up: this record follows them."""
    for p in records.passes.values():
        if p.context == context:
            p.flags |= recorded.WARMUP


@_takes(21, "Q")
def _take_clock(records: Records, time_ns: int, rest: memoryview, ticks: int) -> None:
    _below(SIZE, ticks=ticks)
    records.moments.append((ticks, time_ns))


@_takes(26, "QIIQ")
def _take_hooks(
    records: Records, time_ns: int, rest: memoryview, ticks: int, number: int, inside: int, between: int
) -> None:
    _require(number, records.passes, "pass")
    _below(SIZE, ticks=ticks, between=between)
    if inside != 1:
        raise ValueError(f"inside is {inside}, not 1")
    records.hook_ticks[number] = ticks
    records.between_ticks[number] = between


@_takes(27, "QQQQII")
def _take_schedule(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    *times, number, n_threads = values
    _require(number, records.passes, "pass")
    _below(SIZE, time=max((ns for ns in times if ns != recorded.UNKNOWN), default=0))
    known = (None if ns == recorded.UNKNOWN else ns for ns in times)
    records.passes[number].schedule = dict(zip(recorded.SCHEDULE, known, strict=True))
    records.passes[number].schedule_threads = n_threads


@_takes(28, "7Q7QQIIII")
def _take_device(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    *counts, begin_ns, name, number, load, _ = values
    _below(SIZE, count=max(counts))
    _below(time_ns + 1, begin_ns=begin_ns)
    begin, end = (dict(zip(recorded.DEVICE_COUNTS, part, strict=True)) for part in (counts[:7], counts[7:]))
    for moment in (begin, end):
        _below(MILLISECONDS, read_ms=moment["read_ms"], busy_ms=moment["busy_ms"])
        _below(SIZE // SECTOR, read_sectors=moment["read_sectors"], written_sectors=moment["written_sectors"])
    for count in ("n_reads", "read_sectors", "n_writes", "written_sectors"):
        if end[count] < begin[count]:
            raise ValueError(f"{count} went from {begin[count]} back to {end[count]}")
    key = (_pass_or_load(records, number, load), records.text(name))
    if not key[1] or key in records.devices:
        raise ValueError(f"device {key[1]!r} has no name, or its counters are there already")
    grown = {name: end[name] - begin[name] for name in recorded.DEVICE_COUNTS}
    records.devices[key] = dict(
        n_reads=grown["n_reads"],
        read_bytes=grown["read_sectors"] * SECTOR,
        read_ns=grown["read_ms"] % MILLISECONDS * MILLISECOND_NS,
        n_writes=grown["n_writes"],
        written_bytes=grown["written_sectors"] * SECTOR,
        busy_ns=grown["busy_ms"] % MILLISECONDS * MILLISECOND_NS,
        in_flight=end["in_flight"],
        counted_ns=time_ns - begin_ns,
    )


@_takes(29, "5Q4I")
def _take_cache(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    cached, dirty, writeback, evicted, recently, path, number, load, page = values
    if page < 512 or page & (page - 1):
        raise ValueError(f"pages of {page} bytes")
    _below(SIZE // page, pages=max(cached, dirty, writeback, evicted, recently))
    text = records.text(path)
    if not any(mapping.path == text for mapping in records.mappings):
        raise ValueError(f"file {text!r} was not mapped before")
    row = dict(cached_pages=cached, dirty_pages=dirty, evicted_pages=evicted, recently_evicted_pages=recently)
    records.caches.append((_pass_or_load(records, number, load), text, row))


@_takes(30, "2Q2I")
def _take_memory(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    anon, group, number, load = values
    held = {kind: size for kind, size in (("anon", anon), ("group", group)) if size != recorded.UNKNOWN}
    _below(SIZE, **held)
    of = _pass_or_load(records, number, load)
    for kind, size in held.items():
        if (of, kind) in records.memory:
            raise ValueError(f"{kind} memory of this pass or load was written before")
        records.memory[of, kind] = size


_OCCASIONS = ("load", "pass", "saved", "end")  # of enum tt_occasion
_PART = struct.Struct("<QII")


@_takes(34, "QQ4I")
def _take_footprint(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    begin_ns, resident, number, load, occasion, n = values
    _below(time_ns + 1, begin_ns=begin_ns)
    _below(len(_OCCASIONS), occasion=occasion)
    if len(rest) < n * _PART.size:
        raise ValueError(f"a sample of {n} parts, {len(rest)} bytes are left")
    parts = [] if resident == recorded.UNKNOWN else [("process", 0, resident)]
    for size, kind, of in _PART.iter_unpack(rest[: n * _PART.size]):
        _below(len(FOOTPRINT_KINDS) - 1, kind=kind)
        parts.append((FOOTPRINT_KINDS[kind], of, size))
        if FOOTPRINT_KINDS[kind] == "buffer":
            _require(of, records.buffers, "buffer")
        elif FOOTPRINT_KINDS[kind] == "saved":
            _require(of, records.saved, "saved state")
    _below(SIZE, resident_bytes=max((size for *_, size in parts), default=0))
    of_pass = None if number == load == NONE else _pass_or_load(records, number, load)
    sample = recorded.Footprint(of_pass, _OCCASIONS[occasion], begin_ns, time_ns, tuple(parts))
    records.footprints.append(sample)


@_takes(35, "QQQIIiIII")
def _take_saved(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    begin_ns, address, size, context, number, sequence, flags, restored, _ = values
    _refuse_again(number, records.saved, "saved state")
    _below(time_ns + 1, begin_ns=begin_ns)
    _below(SIZE, size_bytes=size)
    _below(ADDRESS, end=address + size)
    _below(2, restored=restored)
    if context != NONE:
        _below(NUMBER, context=context)
    records.saved[number] = dict(
        saved=number,
        begin_ns=begin_ns,
        end_ns=time_ns,
        context=None if context == NONE else context,
        sequence=sequence,
        event="restored" if restored else "saved",
        partial=bool(flags & 1),
        on_device=bool(flags & 2),
        size_bytes=size,
    )


_CLASS, _SITE = struct.Struct("<QQII"), struct.Struct("<QQQII")
_SIZES = 64  # classes, by powers of two


@_takes(38, "QII")
def _take_allocated(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    lost, n_classes, n_sites = values
    end = n_classes * _CLASS.size
    if len(rest) < end + n_sites * _SITE.size:
        raise ValueError(f"{n_classes} classes and {n_sites} sites, {len(rest)} bytes are left")
    sample = len(records.footprints) - 1
    if sample < 0 or (records.allocated and records.allocated[-1].sample == sample):
        raise ValueError("allocations belong to no sample of memory")
    classes = tuple((of, n, size) for n, size, of, _ in _CLASS.iter_unpack(rest[:end]))
    _below(_SIZES, size_class=max((of for of, *_ in classes), default=0))
    found = _SITE.iter_unpack(rest[end : end + n_sites * _SITE.size])
    sites = tuple((records.text(stack), n, size, n_all) for n, size, n_all, stack, _ in found)
    counts = [*(count for _, *of in classes for count in of), *(count for _, *of in sites for count in of), lost]
    _below(SIZE, count=max(counts))
    records.allocated.append(recorded.Allocated(sample, classes, sites))
    records.allocations_lost = lost


_MOST_NODES = 64


@_takes(37, "3Q6I")
def _take_nodes(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    address, size, granule, buffer, number, load, page, n_nodes, n = values
    _below(SIZE, size_bytes=size)
    _below(ADDRESS, end=address + size)
    if page < 512 or page & (page - 1) or granule < page or granule % page or granule > SIZE or not size:
        raise ValueError(f"{size} bytes in granules of {granule} bytes and pages of {page} bytes")
    _below(_MOST_NODES + 1, n_nodes=n_nodes)
    width = n_nodes + 1
    if len(rest) < 4 * n * width:
        raise ValueError(f"{n} runs of {n_nodes} nodes, {len(rest)} bytes are left")
    runs = np.frombuffer(rest, "<u4", n * width).astype(np.int64).reshape(n, width)
    if (runs[:, 0] == 0).any() or runs[:, 0].sum() != -(-size // granule):
        raise ValueError("runs of granules are empty, or do not cover the memory")
    if (runs[:, 1:].sum(axis=1) > granule // page).any():
        raise ValueError("more pages lie on nodes than a granule has")
    if buffer != NONE:
        _require(buffer, records.buffers, "buffer")
    of = _pass_or_load(records, number, load)
    held = None if buffer == NONE else buffer
    records.nodes.append(recorded.Nodes(of, time_ns, address, held, page, granule, size, runs))


@_takes(36, "5Q6I")
def _take_read(records: Records, time_ns: int, rest: memoryview, *values: int) -> None:
    begin_ns, offset, size, got, _, path, thread, call, direct, n_calls, _ = values
    _below(time_ns + 1, begin_ns=begin_ns)
    _below(SIZE, offset=offset, size_bytes=size, end=offset + size)
    _below(size + 1, got_bytes=got)
    _below(NUMBER, thread=thread, n_calls=n_calls)
    _below(len(READ_CALLS), call=call)
    _below(2, direct=direct)
    read = (records.text(path), offset, size, got, thread, begin_ns, time_ns, READ_CALLS[call], bool(direct), n_calls)
    records.reads.append(recorded.Read(*read))
