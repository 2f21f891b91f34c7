"""Reads a native trace (native/include/tensor_trace_format.h) into tables.

`read_trace` takes the bytes of the segments and, if the model is known, its tables (readers/gguf). It returns all
tables of tables.py, and facts about the trace. Nothing is dropped silently: inconsistent data raises an error, what
was not recorded is null, and what the tracer could not write is counted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.contract.errors import TraceFormatError
from tracegen.contract.held_tokens import held_tokens
from tracegen.readers.native import events as ev
from tracegen.readers.native.clock import Clock, clock_of
from tracegen.readers.native.computes import Computes
from tracegen.readers.native.device_op_table import device_op_table
from tracegen.readers.native.fault_records import read_fault_records
from tracegen.readers.native.fault_table import barrier_table, place_faults
from tracegen.readers.native.graph_tables import graph_tables
from tracegen.readers.native.off_cpu_table import place_off_cpu
from tracegen.readers.native.op_tables import op_table, span_table
from tracegen.readers.native.pass_kinds import kinds_of
from tracegen.readers.native.placement_table import named_weights, placement_table
from tracegen.readers.native.read_table import read_table
from tracegen.readers.native.recorded import BUFFER_USAGES, NONE, OUTSIDE, Buffer, Pass, Records
from tracegen.readers.native.records import read_records
from tracegen.readers.native.segments import CLOCKS, FAULTS, THREAD, WHY_DROPPED, Bytes, Segment, read_segments
from tracegen.readers.native.split_tables import split_tables
from tracegen.readers.native.storage_tables import (
    allocation_table,
    cache_table,
    device_table,
    footprint_table,
    memory_table,
    node_table,
    residency_table,
)
from tracegen.readers.native.touch_tables import touch_tables, with_chosen

VERSION = "native-2"
_MEMORY = "device_memory."  # key of the info records that say how much memory a device has
ATTACHED = "attached"  # key of the info record that a preloaded tracer writes, when llama.cpp has no hooks


@dataclass(frozen=True)
class ModelTables:
    """The tables `files` and `tensors` of all models of a run.

    `loads` maps the number of a load to the number of its model. A load that it does not list belongs to the model
    of the same number.
    """

    files: pd.DataFrame
    tensors: pd.DataFrame
    loads: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NativeTrace:
    """A trace as tables, and further facts (by name) that checks and pages need.

    `counters` are llama.cpp's own of prompt tokens and runs, by their names in facts; empty where they are not in it.
    """

    tables: dict[str, pd.DataFrame]
    facts: dict[str, object]
    counters: dict[str, int] = field(default_factory=dict)


@contract.small_tables
def read_trace(files: Mapping[str, Bytes], model: ModelTables | None = None) -> NativeTrace:
    """Read the segments of one run. Raises TraceFormatError saying file, byte and fault."""
    segments = read_segments(files)
    records = read_records(segments[0].name, segments[0].payload)
    _check_end(segments, records)
    ordered = _in_order(records)
    clock = clock_of(segments[0].clock, records.moments)
    threads = [segment for segment in segments if segment.kind == THREAD]
    computes = Computes(records)
    events = ev.read_events(threads, computes, clock)
    tables = contract.empty()
    if model is not None:
        tables["files"], tables["tensors"] = model.files, model.tensors
        _name_models(records, model.loads)
        if ATTACHED in records.info:
            records.weights += named_weights(records, model.files, model.tensors)
    tables["contexts"] = contract.frame("contexts", records.contexts)
    watched = "faults.ring_bytes" in records.info
    switches_watched = watched and records.info.get("faults.off_cpu") == "1"
    fault_records = read_fault_records([segment for segment in segments if segment.kind == FAULTS])
    faults = place_faults(fault_records, records, ordered, computes, events.spans, tables["files"])
    tables["passes"] = _passes(ordered, reads_counted=records.info.get("counters.read_bytes") != "no")
    if watched:
        counted = {name: nullable(values, np.int64) for name, values in faults.of_passes.items()}
        tables["passes"] = tables["passes"].assign(**counted)
    tables["tokens"] = _tokens(ordered, tables["passes"])
    tables |= graph_tables(records)
    tables["buffers"] = _buffers(records)
    tables["placements"] = placement_table(records, tables["files"], tables["tensors"])
    tables |= split_tables(records)
    tables["device_ops"] = device_op_table(records)
    tables |= touch_tables(with_chosen(events.indexes, records, tables), tables)
    tables["faults"] = faults.table
    tables["barriers"] = barrier_table(fault_records.waits, computes, clock)
    off_cpu = place_off_cpu(fault_records.off_cpu, computes, events.spans, faults, tables["barriers"])
    tables["off_cpu"] = off_cpu.table
    tables["spans"] = span_table(
        events.spans, faults.span_ns if watched else None, off_cpu.span_ns if switches_watched else None
    )
    tables["ops"], n_short = op_table(records, events.spans, ordered)
    tables["residency"] = residency_table(records, tables["files"])
    tables["device"] = device_table(records)
    tables["cache"] = cache_table(records, tables["files"])
    tables["memory"] = memory_table(records)
    tables["reads"] = read_table(records, ordered, events, tables["files"], tables["tensors"])
    tables["footprint"] = footprint_table(records)
    tables["allocations"] = allocation_table(records)
    tables["nodes"] = node_table(records, tables["files"])
    tables["saved_states"] = contract.frame("saved_states", [of for _, of in sorted(records.saved.items())])
    facts = _facts(segments, records, events) | _clock_facts(records, clock) | {"n_ops_short_of_threads": n_short}
    facts |= _cost_of_passes(records, events, clock) | _numa(records.info)
    facts |= {"faults_recorded": watched, "faults_refused": records.info.get("faults.refused")} | faults.facts
    facts |= {
        "off_cpu_recorded": switches_watched,
        "delay_threads": {p.pass_id: p.schedule_threads for p in ordered if p.schedule_threads is not None},
    }
    return NativeTrace(tables, facts, _counters(records))


def _check_end(segments: tuple[Segment, ...], records: Records) -> None:
    """Raises TraceFormatError when segments or passes that the last record counts are missing.

    Passes may be missing when the tracer dropped records. A trace that did not end has no last record.
    """
    main = segments[0]
    if records.end_ns is None:
        return
    if records.end_segments != len(segments):
        raise TraceFormatError(
            f"{main.name}: the run has {records.end_segments} segments, but {len(segments)} are here; "
            "put the missing files beside it"
        )
    expected = (records.end_passes or 0) - (records.end_skipped or 0)
    if expected != len(records.passes) and main.dropped_records == 0:
        raise TraceFormatError(
            f"{main.name}: the run has {expected} passes, but {len(records.passes)} are here; the trace was changed"
        )


def loaded_models(files: Mapping[str, Bytes]) -> dict[int, str]:
    """Load number -> path of the model file that the traced program loaded. Raises TraceFormatError."""
    main = read_segments(files)[0]
    return {load.number: load.path for load in read_records(main.name, main.payload).loads}


def _name_models(records: Records, loads: Mapping[int, int]) -> None:
    """Replace load numbers in weights and contexts by model numbers: two loads of one model share its number."""
    for weight in records.weights:
        weight.load = loads.get(weight.load, weight.load)
    for row in records.contexts:
        row["model"] = loads.get(row["model"], row["model"])


def _in_order(records: Records) -> list[Pass]:
    """Loads and passes by their begin; their place in this list becomes their pass_id."""
    ordered = sorted([*records.loads, *records.passes.values()], key=lambda p: (p.begin_ns, not p.is_load, p.number))
    for pass_id, p in enumerate(ordered):
        p.pass_id = pass_id
    return ordered


def _passes(ordered: list[Pass], *, reads_counted: bool) -> pd.DataFrame:
    rows = []
    for pass_id, (p, (kind, basis, produced)) in enumerate(zip(ordered, kinds_of(ordered), strict=True)):
        row: dict[str, object] = dict(
            pass_id=pass_id,
            context=p.context,
            call=p.call,
            ubatch=p.ubatch,
            kind=kind,
            kind_basis=basis,
            produced_token=produced,
            graph=p.graph,
            placement=p.placement,
            begin_ns=p.begin_ns,
            end_ns=p.end_ns,
        )
        if not p.is_load and not p.flags & OUTSIDE:
            row |= dict(
                n_tokens=len(p.tokens),
                n_sequences=p.n_sequences or None,
                n_outputs=_outputs(p.tokens),
                position_begin=int(p.tokens["position"][0]) if (p.tokens["position"][:1] >= 0).any() else None,
            )
        if p.end_usage is not None:
            names = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "read_bytes")
            row |= {n: after - before for n, before, after in zip(names, p.usage, p.end_usage, strict=True)}
            if not reads_counted:
                del row["read_bytes"]
        row |= p.schedule
        rows.append(row)
    return contract.frame("passes", rows)


def _outputs(tokens: np.ndarray) -> int | None:
    """How many tokens request logits; None when an attached tracer could not see it."""
    return None if (tokens["output"] == NONE).any() else int((tokens["output"] != 0).sum())


def _tokens(ordered: list[Pass], passes: pd.DataFrame) -> pd.DataFrame:
    with_tokens = [(i, p.tokens) for i, p in enumerate(ordered) if len(p.tokens)]
    if not with_tokens:
        return contract.frame("tokens")
    rows = np.concatenate([tokens for _, tokens in with_tokens])
    sizes = [len(tokens) for _, tokens in with_tokens]
    table = contract.frame(
        "tokens",
        {
            "pass_id": np.repeat([i for i, _ in with_tokens], sizes),
            "row": np.concatenate([np.arange(size) for size in sizes]),
            "token_id": nullable(rows["token"]),
            "position": nullable(rows["position"]),
            "sequence": nullable(rows["sequence"]),
            "output": pd.arrays.BooleanArray(rows["output"] == 1, rows["output"] == NONE),
        },
    )
    return table.assign(generated_token=held_tokens(passes, table)["generated_token"])


def _buffers(records: Records) -> pd.DataFrame:
    rows = []
    for buffer in records.buffers.values():
        if not buffer.size_bytes:
            continue  # to see what a backend supports, llama.cpp makes one of no size for each tensor
        row = dict(
            event="alloc",
            time_ns=buffer.begin_ns,
            buffer_id=buffer.number,
            address=buffer.address or None,
            name=buffer.name or None,
            backend=buffer.backend or None,
            size_bytes=buffer.size_bytes,
            usage=_usage(buffer, records),
        )
        rows.append(row)
        if buffer.end_ns is not None:
            rows.append(row | dict(event="free", time_ns=buffer.end_ns))
    return contract.frame("buffers", sorted(rows, key=lambda row: int(row["time_ns"])))


def _usage(buffer: Buffer, records: Records) -> str | None:
    """The usage of a buffer; `mapped` when it only views a file mapping, None when not recorded.

    Where a part of a file was mapped before, a driver may put memory of a device.
    """
    if buffer.address and any(
        m.begin_ns <= buffer.begin_ns < (m.end_ns or buffer.begin_ns + 1)
        and m.address <= buffer.address < m.address + m.size_bytes
        for m in records.mappings
    ):
        return "mapped"
    return BUFFER_USAGES[buffer.usage] if buffer.usage < len(BUFFER_USAGES) else None


def _nanoseconds(info: Mapping[str, str], key: str) -> float:
    text = info.get(key, "nan")
    try:
        return float(text)
    except ValueError as error:
        raise TraceFormatError(f"the trace says that {key} is {text!r}, not a number; the trace was changed") from error


def _counters(records: Records) -> dict[str, int]:
    """llama.cpp's own counters; empty unless they are of the only context."""
    counted = records.info.get("llama.counters", "").split()
    known = len(counted) == 2 and all(map(str.isdecimal, counted)) and len(records.contexts) == 1
    return dict(zip(("prompt_tokens", "eval_runs"), map(int, counted), strict=True)) if known else {}


def _device_memory(info: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """What devices had free, and in all, by their names; without those whose driver says nothing of the kind."""
    found = {}
    for key in sorted(info):
        if key.startswith(_MEMORY):
            free, _, total = info[key].partition(" ")
            counted = free.isdecimal() and total.isdecimal() and len(free) < 20 and len(total) < 20
            if counted and 0 < int(total) < 1 << 63 and int(free) <= int(total):
                found[key.removeprefix(_MEMORY)] = {"free_bytes": int(free), "total_bytes": int(total)}
    return found


def _numa(info: Mapping[str, str]) -> dict[str, object]:
    """How many NUMA nodes have memory; and where there are several, the processors of each that the program may use.

    Raises TraceFormatError where the kernel's list of nodes is none.
    """
    text = info.get("nodes.memory")
    counts = info.get("nodes.processors", "").split()
    if text is None:
        return {"numa_nodes": None, "numa_processors": None}
    ranges = re.findall(r"(\d{1,3})(?:-(\d{1,3}))?(?:,|$)", text)
    if not re.fullmatch(r"[\d,-]{1,200}", text) or not ranges or not all(count.isdecimal() for count in counts):
        raise TraceFormatError(f"the trace says that {text!r} are the NUMA nodes with memory; the trace was changed")
    return {
        "numa_nodes": sum(int(last or first) - int(first) + 1 for first, last in ranges),
        "numa_processors": [int(count) for count in counts] or None,
    }


def _count(info: Mapping[str, str], key: str) -> int | None:
    text = info.get(key)
    if text is not None and not text.isdecimal():
        raise TraceFormatError(f"the trace says that {key} is {text!r}, not a count; the trace was changed")
    return None if text is None else int(text)


def _lost(info: Mapping[str, str]) -> int | None:
    """How many operations of devices have no times."""
    counts = [n for n in (_count(info, "vulkan.lost"), _count(info, "cuda.lost")) if n is not None]
    return sum(counts) if counts else None


def _not_hooked(text: str) -> list[str]:
    """Details (contract/details.py) whose hooks do not fit, of a text like `hooks = 3f…, without = copies reads`."""
    pairs = (part.partition(" = ") for part in text.split(", "))
    return [word for key, _, words in pairs if key == "without" for word in words.split()]


def _clock_facts(records: Records, clock: Clock) -> dict[str, float]:
    """How uneven the clock was, and the usual and the highest cost of a pass apart from its op events; all in ns.

    The usual cost is the lower quartile over passes that ran a graph which had run before: a new graph costs more,
    but only once, and an interruption inside a hook is not the tracer's cost. NaN when every pass ran a new graph.
    """
    met_graphs: set[int] = set()
    again = []
    for number, p in records.passes.items():
        if p.graph is None:
            continue
        if p.graph in met_graphs and number in records.hook_ticks:
            again.append(records.hook_ticks[number])
        met_graphs.add(p.graph)
    return {
        "clock_uneven_ns": clock.uneven_ns,
        "pass_cost_ns": clock.length_ns(float(np.quantile(again, 0.25))) if again else float("nan"),
        "pass_cost_most_ns": clock.length_ns(max(records.hook_ticks.values(), default=float("nan"))),
    }


def _cost_of_passes(records: Records, events: ev.Events, clock: Clock) -> dict[str, object]:
    """By pass_id, in ns: the time in the tracer's hooks without op events, and the time to copy rows, experts, masks.

    between_ns: the time in the tracer between a pass and the one before, which is part of no pass.
    """
    hooks, between = (
        {records.passes[number].pass_id: clock.length_ns(float(took)) for number, took in ticks.items()}
        for ticks in (records.hook_ticks, records.between_ticks)
    )
    took = pd.Series(events.indexes.took).groupby(events.indexes.pass_id).sum()
    copies = {int(str(number)): clock.length_ns(float(ticks)) for number, ticks in took.items()}
    return {"hook_ns": hooks, "copy_ns": copies, "between_ns": between}


def _facts(segments: tuple[Segment, ...], records: Records, events: ev.Events) -> dict[str, object]:
    info = records.info
    ended = records.end_ns is not None
    return {
        "reader": VERSION,
        "run_id": segments[0].run_id,
        "n_segments": len(segments),
        "n_misnamed": sum(not segment.name.startswith(f"{segment.run_id}.") for segment in segments),
        "bytes": sum(segment.size_bytes for segment in segments),
        "events": events.n_events,
        "records": records.n_records,
        "dropped": sum(segment.dropped_records for segment in segments),
        "dropped_why": "; ".join(sorted({WHY_DROPPED[s.dropped_why] for s in segments if s.dropped_why})) or None,
        "skipped_passes": records.end_skipped,
        "residency_refused": info.get("residency.refused"),
        "device_refused": info.get("device.refused"),
        "device_ops_refused": "; ".join(filter(None, map(info.get, ("vulkan.refused", "cuda.refused")))) or None,
        "device_ops_lost": _lost(info),
        "device_memory": _device_memory(info),
        "cache_refused": info.get("cache.refused"),
        "footprint_refused": info.get("footprint.refused"),
        "io_uring": info.get("reads.io_uring") == "yes",
        "allocations_lost": records.allocations_lost if records.allocated else None,
        "nodes_refused": info.get("nodes.refused"),
        "attached": ATTACHED in info,
        "not_hooked": _not_hooked(info.get("build.hooked", "")),
        "prefault_off": info.get("load.prefault") == "off",
        "ended": ended,
        "unsealed_chunks": sum(segment.n_unsealed for segment in segments),
        "open_computes": events.n_open,
        "not_monotone": events.not_monotone,
        "zero_records": events.zero_records,
        "processors_allowed": _count(info, "host.processors_allowed"),
        "event_cost_ns": _nanoseconds(info, "cost.event_ns"),
        "clock_read_ns": _nanoseconds(info, "cost.clock_ns"),
        "begin_cost_ns": _nanoseconds(info, "cost.begin_ns"),
        "own_page_bytes": _count(info, "pages.own_bytes"),
        "clock": CLOCKS[segments[0].clock],
        "clock_why": info.get("clock.why"),
        "clock_anchor": info.get("clock.anchor"),
        "sampled_tokens": list(records.sampled),
        "argv": [info[key] for key in sorted(info) if key.startswith("argv.")],
        "environment": {k.removeprefix("env."): v for k, v in sorted(info.items()) if k.startswith("env.")},
        "environment_unnamed": _count(info, "environment.unnamed"),
        "host": {k.removeprefix("host."): v for k, v in sorted(info.items()) if k.startswith("host.")},
        "build": {k: v for k, v in sorted(info.items()) if k.startswith(("build.", "ggml."))},
        "n_weights": len(records.weights),
        "n_weights_mapped": sum(weight.mapped for weight in records.weights),
        "mapped_files": sorted({m.path for m in records.mappings}),
    }
