"""The work of `tracegen import`: finds what the files of a foreign trace are, restores its tables, stores a run.

    raw/source/NAME.zst     each file as it was; of a tensor_trace.bin the part that holds data
    raw/import.json         what each file is, its size and its hash, and the model

The hash of all files identifies a source: the same source again gives the run that was made of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen import store
from tracegen.address import name_problem
from tracegen.checks.evidence import Evidence
from tracegen.checks.foreign import checks_of_import
from tracegen.errors import SettingsError, TraceFormatError
from tracegen.model import Run
from tracegen.progress import BYTES, Progress
from tracegen.readers.foreign import buffer_log, dot, ggmlviz, memory_map, older_json
from tracegen.readers.foreign.companions import Companions
from tracegen.readers.foreign.folder import ROLES, TRACES, Found, files_of, role_of, whole
from tracegen.readers.foreign.ops import OpTrace
from tracegen.readers.foreign.restore import restore
from tracegen.readers.foreign.source import opened
from tracegen.readers.foreign.tensor_trace.ops import ops_of
from tracegen.readers.foreign.tensor_trace.records import read_records
from tracegen.readers.foreign.trace import ForeignTrace
from tracegen.readers.gguf.file import Model, read_model
from tracegen.runs.imported_facts import VERSION, experts_of, facts_of, model_document, model_of
from tracegen.runs.kept_source import keep_all, names_of, unpacked

IMPORT_FILE = "import.json"
PARALLEL_FROM = 4 << 20  # bytes of JSON from which starting more processes pays


@dataclass(frozen=True)
class Import:
    """What is imported: one trace (its file, or the files of an exported one) and what lies beside it.

    `ignored` are files of known formats that are not used, each with the reason; `op_table` names the table of
    operation numbers, None: it is inferred.
    """

    role: str
    trace: tuple[Found, ...]
    beside: tuple[Found, ...]
    ignored: tuple[str, ...]
    model: Model | None = None
    op_table: str | None = None

    @property
    def files(self) -> tuple[Found, ...]:
        """All files that are kept."""
        return (*self.trace, *self.beside)


def found_in(sources: Sequence[Path], model: Path | None, role: str | None, op_table: str | None) -> Import:
    """What to import of the files and folders. `role`: the only format of a trace that counts, None: any.

    Raises SettingsError when they hold no trace, or several.
    """
    known, unread = files_of(sources)
    traces = {key: [found for found in known if found.role == key] for key in TRACES}
    wanted = [key for key in TRACES if traces[key] and role in (None, key)]
    ignored = unread
    if "tensor_trace" in wanted and "trace_json" in wanted:  # the JSON was made from the records
        wanted.remove("trace_json")
        ignored.append(
            f"{len(traces['trace_json'])} exported traces: made from tensor_trace.bin, which lies beside them"
        )
    if not wanted:
        what = f"no {ROLES[role]}" if role else "no trace"
        there = ", ".join(f"{f.path.name} ({ROLES[f.role]})" for f in known[:6]) or "nothing that is known"
        raise SettingsError(
            f"{sources[0]}: {what} was found; found: {there}; name the trace itself, or the folder that holds it"
        )
    single = [key for key in wanted if key != "trace_json"]
    several = sum(len(traces[key]) for key in single)
    if len(wanted) > 1 or several > 1:
        every = [str(f.path) for key in wanted for f in traces[key]]
        names = ", ".join(every[:8]) + (f" and {len(every) - 8} more" if len(every) > 8 else "")
        raise SettingsError(f"{sources[0]}: holds several traces ({names}); a run has one: name one of them")
    beside = [found for found in known if found.role not in TRACES]
    models = [found.path for found in beside if found.role == "gguf"]
    if model is None and len(models) > 1:
        names = ", ".join(path.name for path in models[:4])
        ignored.append(f"models {names}: nothing says which of them ran; name it with --model")
    chosen = model or (models[0] if len(models) == 1 else None)
    kept, left = _one_each([found for found in beside if found.role != "gguf"])
    return Import(
        wanted[0], tuple(traces[wanted[0]]), tuple(kept), (*ignored, *left),
        read_model(chosen) if chosen is not None else None, op_table,
    )  # fmt: skip


def _one_each(beside: Sequence[Found]) -> tuple[list[Found], list[str]]:
    """One log of buffers, one list of tensors; all dumps of graphs. What is left out is said."""
    kept, left = [], []
    of: dict[str, Found] = {}
    for found in beside:
        group = {"map_json": "map", "map_csv": "map", "buffers": "buffers"}.get(found.role)
        if found.role == "settings":
            left.append(f"{found.path.name}: settings of an experiment; `temp_files` and paths of it mean nothing here")
        if group is None or group not in of:
            kept.append(found)
            of |= {group: found} if group else {}
        else:
            left.append(f"{found.path.name}: {ROLES[found.role]}, as {of[group].path.name}, which is used")
    if any(found.role == "dot" for found in kept):
        graphs = [found for found in kept if found.role == "graph_json"]
        if graphs:
            kept = [found for found in kept if found.role != "graph_json"]
            left.append(f"{len(graphs)} exported graphs: made from the dumps, which lie beside them")
    return kept, left


def settings_in(sources: Sequence[Path]) -> Path | None:
    """The settings.json that alone is named; None for anything else."""
    if len(sources) != 1 or sources[0].is_dir():
        return None
    with opened(sources[0]) as file:
        return sources[0] if role_of(file) == "settings" else None


def default_name(sources: Sequence[Path]) -> str:
    """The name of the experiment, from that of the folder or file. Raises SettingsError when it gives none."""
    place = sources[0].absolute()
    stem = place.name if place.is_dir() else place.stem
    if not place.is_dir() and stem in ("tensor_trace", "trace", "token-00000"):
        stem = place.parent.name
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64]
    if name_problem(name):
        raise SettingsError(f"{sources[0]}: gives no name for an experiment; name it with --as")
    return name


def import_run(
    name: str, folder: Path, wanted: Import, progress: Progress, hashes: Sequence[str] = ()
) -> tuple[Run, bool]:
    """Import a trace as a run of the experiment `name` below `folder`; the run, and whether it was there before.

    `hashes` are those of the model's files. Nothing is left where this fails.
    """
    if wanted.model is not None and hashes:
        wanted = replace(wanted, model=wanted.model.with_hashes(list(hashes)))
    try:
        return _import_run(name, folder, wanted, progress, hashes)
    except BaseException:
        for empty in (folder / "runs", folder):  # made for this run; what holds anything stays
            with suppress(OSError):
                empty.rmdir()
        raise


def _import_run(name: str, folder: Path, wanted: Import, progress: Progress, hashes: Sequence[str]) -> tuple[Run, bool]:
    runs, published = folder / "runs", store.last_published_run(folder)
    with store.part_folder(runs) as part, ThreadPoolExecutor(2) as beside:
        source = part / "raw" / "source"
        source.mkdir(parents=True)
        progress.step("read")
        names = names_of(wanted.files)
        kept = keep_all(wanted.files, names, source, beside)
        trace = _read(wanted, {found: found.path for found in wanted.files}, progress)
        entries = kept()
        identity = _identity(entries, wanted)
        known = _known(runs, identity)
        if known is not None:
            progress.done()
            return known, True
        progress.step("check and store")
        document = {
            "schema": store.SCHEMA, "identity": identity, "role": wanted.role, "op_table": wanted.op_table,
            "files": entries, "model": model_document(wanted.model),
        }  # fmt: skip
        store.write_text(part / "raw" / IMPORT_FILE, json.dumps(document, indent=1) + "\n")
        store.write_tables(part / "tables", trace.tables, VERSION)
        checks = checks_of_import(_evidence(trace, wanted.model), trace.checks)
        run = Run(name, 0, _now(), checks, facts_of(trace, wanted.model, document, hashes))
        target = store.place_numbered(
            part, runs, lambda number: store.write_run_file(part, replace(run, number=number)), after=published
        )
        progress.done()
    return store.read_run(target), False


def read_again(folder: Path, run: Run) -> Run:
    """Make tables and checks of an imported run anew from what it keeps. Raises StoreError when that is not whole."""
    document = store.read_json(folder / "raw" / IMPORT_FILE, store.SCHEMA)
    with unpacked(folder / "raw" / "source", document["files"]) as paths:
        files = {Found(path, entry["role"]): path for entry, path in paths}
        trace_files = tuple(found for found in files if found.role in TRACES)
        beside = tuple(found for found in files if found.role not in TRACES)
        model = model_of(document["model"])
        wanted = Import(document["role"], trace_files, beside, (), model, document["op_table"])
        progress = Progress()
        progress.step("read")
        trace = _read(wanted, files, progress)
        progress.done()
    checks = checks_of_import(_evidence(trace, model), trace.checks)
    with store.part_folder(folder.parent) as part:
        store.write_tables(part / "tables", trace.tables, VERSION)
        for path in sorted((part / "tables").iterdir()):
            os.replace(path, folder / "tables" / path.name)
    updated = replace(run, checks=checks)
    store.write_run_file(folder, updated)
    return updated


def as_run(wanted: Import, progress: Progress) -> tuple[Run, Mapping[str, pd.DataFrame]]:
    """A trace as a run that is not stored, with its tables. Raises TraceFormatError."""
    progress.step("read")
    trace = _read(wanted, {found: found.path for found in wanted.files}, progress)
    progress.done()
    checks = checks_of_import(_evidence(trace, wanted.model), trace.checks)
    sizes = [(found, found.path.stat().st_size) for found in wanted.files]
    entries = [
        {"name": found.path.name, "role": found.role, "sha256": None, "kept_bytes": size, "size_bytes": size}
        for found, size in sizes
    ]
    document = {"identity": None, "op_table": wanted.op_table, "files": entries, "model": model_document(wanted.model)}
    name = default_name([wanted.trace[0].path])
    return Run(name, 0, _now(), checks, facts_of(trace, wanted.model, document, ())), trace.tables


def _read(wanted: Import, paths: Mapping[Found, Path], progress: Progress) -> ForeignTrace:
    name = wanted.trace[0].path.name
    if wanted.role == "ggmlviz":
        with opened(paths[wanted.trace[0]]) as file:
            trace = ggmlviz.read(name, whole(file), op_table=wanted.op_table)
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
            return replace(
                companions, dumps={**dumps, key: older_json.read_graph(name, memory_map.parse_json(name, data))}
            )
        case "map_csv":
            return replace(companions, map=memory_map.read_csv(name, data))
        case "map_json":
            return replace(companions, map=memory_map.read_json_map(name, memory_map.parse_json(name, data)))
        case "buffers":
            return replace(companions, buffers=buffer_log.read_buffers(name, data))
    return companions


def _identity(entries: Sequence[Mapping[str, Any]], wanted: Import) -> str:
    """The hash of what was imported, and of how: another model or table of operations gives another run."""
    parts = sorted(f"{entry['role']} {entry['sha256']}" for entry in entries)
    model = wanted.model
    parts += [
        f"op table {wanted.op_table}",
        "model " + (f"{len(model.tensors)} {model.paths[0].name}" if model else ""),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _known(runs: Path, identity: str) -> Run | None:
    """The run that was made of the same source before."""
    for folder in store.run_folders_in(runs):
        run = store.read_run(folder)
        if (run.facts.get("imported") or {}).get("identity") == identity:
            return run
    return None


def _evidence(trace: ForeignTrace, model: Model | None) -> Evidence:
    return Evidence(
        tables=trace.tables, trace={}, timings={}, n_layers=model.n_layers if model else None,
        n_experts=model.n_experts if model else experts_of(trace) or _seen_experts(trace),
    )  # fmt: skip


def _seen_experts(trace: ForeignTrace) -> int | None:
    """1 where a graph chooses experts, though nobody says of how many; None where none does."""
    return 1 if (trace.tables["graph_nodes"]["op"] == "MUL_MAT_ID").any() else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
