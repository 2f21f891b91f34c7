"""A native trace (native/include/tensor_trace_format.h) as tables.

`read_trace` takes the bytes of the segments and, where it is known, the model's
tables (readers/gguf.py); it returns all tables of tables.py and what the trace
says about itself. Nothing is dropped in silence: what does not fit is an error,
what was not recorded is null, what the tracer could not write is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import pandas as pd

from tracegen import tables as contract
from tracegen.errors import TraceFormatError
from tracegen.held_tokens import held_tokens
from tracegen.readers.native import events as ev
from tracegen.readers.native.clock import Clock, clock_of
from tracegen.readers.native.graph_tables import graph_tables
from tracegen.readers.native.named_weights import named_weights
from tracegen.readers.native.op_tables import op_table, span_table
from tracegen.readers.native.pass_kinds import kinds_of
from tracegen.readers.native.placement_table import placement_table
from tracegen.readers.native.recorded import BUFFER_USAGES, NONE, OUTSIDE, Buffer, Pass, Records
from tracegen.readers.native.records import read_records
from tracegen.readers.native.residency_table import residency_table
from tracegen.readers.native.segments import CLOCKS, WHY_DROPPED, Bytes, Segment, read_segments
from tracegen.readers.native.split_tables import split_tables
from tracegen.readers.native.touch_tables import touch_tables

VERSION = "native-2"
ATTACHED = "attached"  # what the tracer says of itself when it was preloaded, and llama.cpp not hooked


@dataclass(frozen=True)
class ModelTables:
    """What the reader needs of the models: their files and tensors, file 0 first.

    `loads` leads from the numbers of llama.cpp's loads to those of the models; one that it
    does not name is the load of the model with its own number.
    """

    files: pd.DataFrame
    tensors: pd.DataFrame
    loads: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NativeTrace:
    """A trace as tables, and the facts that checks and pages need beside them."""

    tables: dict[str, pd.DataFrame]
    facts: dict[str, object]


def read_trace(files: Mapping[str, Bytes], model: ModelTables | None = None) -> NativeTrace:
    """Read the segments of one run. Raises TraceFormatError saying file, byte and fault."""
    segments = read_segments(files)
    records = read_records(segments[0].name, segments[0].payload)
    _check_end(segments, records)
    ordered = _in_order(records)
    pass_ids = {p.number: pass_id for pass_id, p in enumerate(ordered) if not p.is_load}
    clock = clock_of(segments[0].clock, records.moments)
    events = ev.read_events(segments[1:], records.computes, pass_ids, clock)
    made = contract.empty()
    if model is not None:
        made["files"], made["tensors"] = model.files, model.tensors
        _name_models(records, model.loads)
        if ATTACHED in records.info:
            records.weights += named_weights(records, model.files, model.tensors)
    made["contexts"] = _contexts(records)
    made["passes"] = _passes(ordered, reads_counted=records.info.get("counters.read_bytes") != "no")
    made["tokens"] = _tokens(ordered, made["passes"])
    made |= graph_tables(records)
    made["buffers"] = _buffers(records)
    made["placements"] = placement_table(records, made["files"], made["tensors"])
    made |= split_tables(records, pass_ids)
    made |= touch_tables(events.indexes, made)
    made["spans"] = span_table(events.spans)
    made["ops"], accounting = op_table(records, events.spans, ordered, pass_ids)
    made["residency"] = residency_table(records, ordered, made["files"])
    facts = _facts(segments, records, events) | accounting | _of_clock(records, clock)
    facts |= _cost_of_passes(records, events, pass_ids, clock)
    return NativeTrace(made, facts)


def _check_end(segments: tuple[Segment, ...], records: Records) -> None:
    """What the last record counts must be there, unless the tracer says that it dropped something."""
    main = segments[0]
    if records.end_ns is None:
        return
    if records.end_segments != len(segments):
        raise TraceFormatError(f"{main.name}: the run has {records.end_segments} segments, {len(segments)} are here")
    expected = (records.end_passes or 0) - (records.end_skipped or 0)
    if expected != len(records.passes) and main.dropped_records == 0:
        raise TraceFormatError(f"{main.name}: the run has {expected} passes, {len(records.passes)} are here")


def loaded_models(files: Mapping[str, Bytes]) -> dict[int, str]:
    """The path that each load of the traced program named. Raises TraceFormatError as `read_trace`."""
    main = read_segments(files)[0]
    return {load.number: load.path for load in read_records(main.name, main.payload).loads}


def _name_models(records: Records, loads: Mapping[int, int]) -> None:
    """Let weights and contexts name models: a model that was loaded twice is one."""
    for weight in records.weights:
        weight.load = loads.get(weight.load, weight.load)
    records.contexts = [(context, loads.get(load, load), *rest) for context, load, *rest in records.contexts]


def _in_order(records: Records) -> list[Pass]:
    """Loads and passes in the order of their begin: their place is the pass_id."""
    return sorted([*records.loads, *records.passes.values()], key=lambda p: (p.begin_ns, not p.is_load, p.number))


def _contexts(records: Records) -> pd.DataFrame:
    rows = [
        dict(
            context=number, model=load, n_ctx=n_ctx, n_batch=n_batch, n_ubatch=n_ubatch, n_threads=n_threads,
            type_k=types[0] or None, type_v=types[1] or None,
        )
        for (number, load, n_ctx, n_batch, n_ubatch, n_threads), types in zip(
            records.contexts, records.context_types, strict=True
        )
    ]  # fmt: skip
    return contract.frame("contexts", rows)


def _passes(ordered: list[Pass], *, reads_counted: bool) -> pd.DataFrame:
    rows = []
    for pass_id, (p, (kind, basis, produced)) in enumerate(zip(ordered, kinds_of(ordered), strict=True)):
        row: dict[str, object] = dict(
            pass_id=pass_id, context=p.context, call=p.call, ubatch=p.ubatch, kind=kind, kind_basis=basis,
            produced_token=produced, graph=p.graph, placement=p.placement, begin_ns=p.begin_ns, end_ns=p.end_ns,
        )  # fmt: skip
        if not p.is_load and not p.flags & OUTSIDE:
            row |= dict(
                n_tokens=len(p.tokens), n_sequences=p.n_sequences or None, n_outputs=_outputs(p.tokens),
                position_begin=int(p.tokens["position"][0]) if (p.tokens["position"][:1] >= 0).any() else None,
            )  # fmt: skip
        if p.end_usage is not None:
            names = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "read_bytes")
            row |= {n: after - before for n, before, after in zip(names, p.usage, p.end_usage, strict=True)}
            if not reads_counted:
                del row["read_bytes"]
        row |= asdict(p.schedule)
        rows.append(row)
    return contract.frame("passes", rows)


def _outputs(tokens: np.ndarray) -> int | None:
    """For how many rows logits were asked; None where an attached tracer could not see it."""
    return None if (tokens["output"] == NONE).any() else int((tokens["output"] != 0).sum())


def _tokens(ordered: list[Pass], passes: pd.DataFrame) -> pd.DataFrame:
    with_tokens = [(i, p.tokens) for i, p in enumerate(ordered) if len(p.tokens)]
    if not with_tokens:
        return contract.frame("tokens")
    rows = np.concatenate([tokens for _, tokens in with_tokens])
    sizes = [len(tokens) for _, tokens in with_tokens]
    made = contract.frame(
        "tokens",
        {
            "pass_id": np.repeat([i for i, _ in with_tokens], sizes),
            "row": np.concatenate([np.arange(size) for size in sizes]),
            "token_id": _known(rows["token"]),
            "position": _known(rows["position"]),
            "sequence": _known(rows["sequence"]),
            "output": pd.arrays.BooleanArray(rows["output"] == 1, rows["output"] == NONE),
        },
    )
    return made.assign(generated_token=held_tokens(passes, made)["generated_token"])


def _buffers(records: Records) -> pd.DataFrame:
    rows = []
    for buffer in records.buffers.values():
        row = dict(
            event="alloc", time_ns=buffer.begin_ns, buffer_id=buffer.number, address=buffer.address or None,
            name=buffer.name or None, backend=buffer.backend or None, size_bytes=buffer.size_bytes,
            usage=_usage(buffer, records),
        )  # fmt: skip
        rows.append(row)
        if buffer.end_ns is not None:
            rows.append(row | dict(event="free", time_ns=buffer.end_ns))
    return contract.frame("buffers", sorted(rows, key=lambda row: int(row["time_ns"])))


def _usage(buffer: Buffer, records: Records) -> str | None:
    """What a buffer is for; one that only views a file mapping is `mapped`."""
    if any(m.address <= buffer.address < m.address + m.size_bytes for m in records.mappings if buffer.address):
        return "mapped"
    return BUFFER_USAGES[buffer.usage] if buffer.usage < len(BUFFER_USAGES) else None


def _known(values: np.ndarray) -> pd.arrays.IntegerArray:
    """int32; what is below 0 was not recorded."""
    return pd.arrays.IntegerArray(np.where(values >= 0, values, 0).astype(np.int32), values < 0)


def _nanoseconds(info: Mapping[str, str], key: str) -> float:
    text = info.get(key, "nan")
    try:
        return float(text)
    except ValueError as error:
        raise TraceFormatError(f"{key} is {text!r}, which is no number") from error


def _count(info: Mapping[str, str], key: str) -> int | None:
    text = info.get(key)
    if text is not None and not text.isdecimal():
        raise TraceFormatError(f"{key} is {text!r}, which is no number")
    return None if text is None else int(text)


def _of_clock(records: Records, clock: Clock) -> dict[str, float]:
    """What is noted in ticks: how uneven the clock was; what a pass cost beside its op events, usually and at most.

    The usual is the lower quartile of the passes that ran a known graph again: a new graph costs once, and what
    interrupts a pass while it is in our hooks is not ours. NaN where every pass ran a new graph.
    """
    seen: set[int] = set()
    again = []
    for number, one in records.passes.items():
        if one.graph is None:
            continue
        if one.graph in seen and number in records.hook_ticks:
            again.append(records.hook_ticks[number])
        seen.add(one.graph)
    return {
        "clock_uneven_ns": clock.uneven_ns,
        "pass_cost_ns": clock.length_ns(float(np.quantile(again, 0.25))) if again else float("nan"),
        "pass_cost_most_ns": clock.length_ns(max(records.hook_ticks.values(), default=float("nan"))),
    }


def _cost_of_passes(
    records: Records, events: ev.Events, pass_ids: Mapping[int, int], clock: Clock
) -> dict[str, object]:
    """By pass_id, ns: what a pass spent in our hooks, ops left out, and what copying rows, experts and masks took."""
    hooks = {pass_ids[number]: clock.length_ns(float(ticks)) for number, ticks in records.hook_ticks.items()}
    took = pd.Series(events.indexes.took).groupby(events.indexes.pass_id).sum()
    copies = {int(str(number)): clock.length_ns(float(ticks)) for number, ticks in took.items()}
    return {"hook_ns": hooks, "copy_ns": copies, "hooks_inside": records.hooks_inside}


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
        "dropped_bytes": sum(segment.dropped_bytes for segment in segments),
        "dropped_why": "; ".join(sorted({WHY_DROPPED[s.dropped_why] for s in segments if s.dropped_why})) or None,
        "skipped_passes": records.end_skipped,
        "residency_refused": info.get("residency.refused"),
        "attached": ATTACHED in info,
        "prefault_off": info.get("load.prefault") == "off",
        "ended": ended,
        "unsealed_chunks": sum(segment.n_unsealed for segment in segments),
        "open_computes": events.n_open,
        "not_monotone": events.not_monotone,
        "zero_records": events.zero_records,
        "n_barriers": int((events.spans.barrier_ns > 0).sum()),
        "processors_allowed": _count(info, "host.processors_allowed"),
        "event_cost_ns": _nanoseconds(info, "cost.event_ns"),
        "clock_read_ns": _nanoseconds(info, "cost.clock_ns"),
        "clock": CLOCKS[segments[0].clock],
        "clock_why": info.get("clock.why"),
        "clock_anchor": info.get("clock.anchor"),
        "sampled_tokens": list(records.sampled),
        "argv": [info[key] for key in sorted(info) if key.startswith("argv.")],
        "environment": {k.removeprefix("env."): v for k, v in sorted(info.items()) if k.startswith("env.")},
        "host": {k.removeprefix("host."): v for k, v in sorted(info.items()) if k.startswith("host.")},
        "build": {k: v for k, v in sorted(info.items()) if k.startswith(("build.", "ggml."))},
        "n_weights": len(records.weights),
        "n_weights_mapped": sum(weight.mapped for weight in records.weights),
        "mapped_files": sorted({m.path for m in records.mappings}),
    }
