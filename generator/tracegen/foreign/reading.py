"""Reads the files of a source: the trace, and what lies beside it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign import buffer_log, dot, ggmlviz, memory_map, older_json
from tracegen.foreign.companions import Companions
from tracegen.foreign.folder import Found, whole
from tracegen.foreign.json_text import parse_json
from tracegen.foreign.ops import OpTrace
from tracegen.foreign.profilers import nsys, opencl, scheduler
from tracegen.foreign.profilers.profile import Profile, tables_of
from tracegen.foreign.restore import restore
from tracegen.foreign.selection import Import
from tracegen.foreign.source import opened
from tracegen.foreign.tensor_trace.ops import ops_of
from tracegen.foreign.tensor_trace.records import read_records
from tracegen.foreign.trace import ForeignTrace
from tracegen.storing.progress import BYTES, Progress

PARALLEL_FROM = 4 << 20  # bytes of JSON from which starting more processes pays


def read_trace(wanted: Import, paths: Mapping[Found, Path], progress: Progress) -> ForeignTrace:
    """The tables, checks and facts of a source; `paths`: where the bytes of each of its files are.

    Raises TraceFormatError.
    """
    name = wanted.trace[0].path.name
    if wanted.role in ("ggmlviz", *_PROFILES):
        if wanted.role == "ggmlviz":
            trace = ggmlviz.read(name, _bytes(paths[wanted.trace[0]]), op_table=wanted.op_table)
        else:
            trace = tables_of(name, _PROFILES[wanted.role](name, wanted, paths))
        unused = ["model: such a trace names no weights, so that no place of theirs is known"] if wanted.model else []
        return replace(trace, facts={**trace.facts, "left_out": [*wanted.ignored, *unused]})
    companions, broken = _companions(wanted, paths)
    if wanted.role == "trace_json":
        trace = restore(name, _json_trace(wanted, paths), companions)
    else:
        with opened(paths[wanted.trace[0]]) as file:
            records = read_records(file, lambda done, total: progress.update(done, total, BYTES))
        trace = restore(name, ops_of(name, records), companions, cut_at=records.cut_at, n_later=records.n_later)
    return replace(trace, facts={**trace.facts, "left_out": [*wanted.ignored, *broken]})


def _bytes(path: Path) -> bytes:
    with opened(path) as file:
        return whole(file)


def _opencl(name: str, wanted: Import, paths: Mapping[Found, Path]) -> Profile:
    events = [_bytes(paths[found]) for found in wanted.beside if found.role == "opencl_events"]
    return opencl.read(name, _bytes(paths[wanted.trace[0]]), events[0] if events else None)


def _scheduler(name: str, wanted: Import, paths: Mapping[Found, Path]) -> Profile:
    return scheduler.read(name, parse_json(name, _bytes(paths[wanted.trace[0]])))


def _nsys(name: str, wanted: Import, paths: Mapping[Found, Path]) -> Profile:
    return nsys.read(name, paths[wanted.trace[0]])


_PROFILES = {"opencl": _opencl, "scheduler": _scheduler, "nsys": _nsys}


def _json_trace(wanted: Import, paths: Mapping[Found, Path]) -> OpTrace:
    data = {}
    for found in wanted.trace:
        with opened(paths[found]) as file:
            data[found.path.name] = whole(file)
    if len(data) > 1 and sum(map(len, data.values())) >= PARALLEL_FROM:
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(min(len(data), os.cpu_count() or 1)) as executor:
            return older_json.read_traces(data, executor)
    return older_json.read_traces(data)


def _companions(wanted: Import, paths: Mapping[Found, Path]) -> tuple[Companions, list[str]]:
    """What lies beside the trace, and why some of it is not used: it is broken, and nobody named it."""
    companions, broken = Companions(model=wanted.model), []
    for found in sorted(wanted.beside, key=lambda found: str(found.path)):
        with opened(paths[found]) as file:
            data = whole(file)
        try:
            companions = _with(companions, found, data)
        except TraceFormatError as error:
            if found.named:
                raise
            broken.append(str(error))
    return companions, broken


def _with(companions: Companions, found: Found, data: bytes) -> Companions:
    """The companions, and what this file says."""
    name, dumps = found.path.name, companions.dumps
    key = name if name not in dumps else f"{len(dumps)}: {name}"  # several folders may have dumps of the same names
    match found.role:
        case "dot":
            return replace(companions, dumps={**dumps, key: dot.read_dot(name, data)})
        case "graph_json":
            return replace(companions, dumps={**dumps, key: older_json.read_graph(name, parse_json(name, data))})
        case "map_csv":
            return replace(companions, map=memory_map.read_csv(name, data))
        case "map_json":
            return replace(companions, map=memory_map.read_json_map(name, parse_json(name, data)))
        case "buffers":
            return replace(companions, buffers=buffer_log.read_buffers(name, data))
    return companions
