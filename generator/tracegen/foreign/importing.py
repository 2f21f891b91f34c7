"""The work of `tracegen import`: finds what the files of a foreign trace are, restores its tables, stores a run.

    raw/source/NAME.zst     each file as it was; of a tensor_trace.bin the part that holds data
    raw/import.json         what each file is, its size and its hash, and the model

The hash of all files identifies a source: the same source again gives the run that was made of it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.contract import shapes
from tracegen.contract.model import Check, Run
from tracegen.foreign.facts import VERSION, experts_of, facts_of, model_document, model_of
from tracegen.foreign.folder import TRACES, Found
from tracegen.foreign.kept import keep_all, names_of, unpacked
from tracegen.foreign.reading import read_trace
from tracegen.foreign.selection import Import, default_name
from tracegen.foreign.trace import ForeignTrace
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of_import
from tracegen.measure.runs.placing import RUNS, now, place, update
from tracegen.readers.gguf.file import Model
from tracegen.storing import locks, store
from tracegen.storing.progress import Progress

IMPORT_FILE = "import.json"


def _needed(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shape of a document that lacks none of these keys."""
    return {shapes.NEEDED: tuple(shape), **shape}


_MODEL = _needed(
    {
        "file": str,
        "files": [{}],
        "tensors": [{}],
        "metadata": {},
        "data_begin": [int],
        "alignment": [int],
        "architecture": shapes.TEXT,
        "name": shapes.TEXT,
        "n_layers": shapes.COUNT,
        "n_experts": shapes.COUNT,
        "n_experts_used": shapes.COUNT,
        "random_weights": shapes.FLAG,
    }
)
_KEPT = _needed(
    {"files": [_needed({"name": str, "role": str})], "model": (_MODEL,), "role": str, "op_table": shapes.TEXT}
)


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
        for empty in (folder / RUNS, folder):  # made for this run; what holds anything stays
            with suppress(OSError):
                empty.rmdir()
        raise


def _import_run(name: str, folder: Path, wanted: Import, progress: Progress, hashes: Sequence[str]) -> tuple[Run, bool]:
    runs, published = folder / RUNS, store.last_published_run(folder)
    with store.part_folder(runs) as part, ThreadPoolExecutor(2) as beside:
        source = part / "raw" / "source"
        source.mkdir(parents=True)
        progress.step("read")
        names = names_of(wanted.files)
        kept = keep_all(wanted.files, names, source, beside)
        trace = read_trace(wanted, {found: found.path for found in wanted.files}, progress)
        entries = kept()
        identity = _identity(entries, wanted)
        with locks.alone(folder):  # from the look to the place: the same source at the same time is one run
            before = _run_of(runs, identity)
            if before is not None:
                progress.done()
                return before, True
            progress.step("check and store")
            document = {
                "schema": store.SCHEMA,
                "identity": identity,
                "role": wanted.role,
                "op_table": wanted.op_table,
                "files": entries,
                "model": model_document(wanted.model),
            }
            store.write_text(part / "raw" / IMPORT_FILE, json.dumps(document, indent=1) + "\n")
            store.write_tables(part / "tables", trace.tables, VERSION)
            checks = _checks(trace, wanted.model)
            run = Run(name, 0, now(), checks, facts_of(trace, wanted.model, document, hashes))
            placed = place(part, runs, run, published)
        progress.done()
    return placed, False


def read_again(folder: Path) -> Run:
    """Make tables and checks of an imported run again from what it keeps. Raises StoreError when that is not whole."""
    run = store.verified_evidence(folder)
    document = store.read_json(folder / "raw" / IMPORT_FILE, store.SCHEMA, _KEPT)
    with unpacked(folder / "raw" / "source", document["files"], folder.parent) as paths:
        files = {Found(path, entry["role"]): path for entry, path in paths}
        trace_files = tuple(found for found in files if found.role in TRACES)
        beside = tuple(found for found in files if found.role not in TRACES)
        model = model_of(document["model"])
        wanted = Import(document["role"], trace_files, beside, (), model, document["op_table"])
        progress = Progress()
        progress.step("read")
        trace = read_trace(wanted, files, progress)
        progress.done()
    checks = _checks(trace, model)
    return update(run, trace.tables, VERSION, checks)


def as_run(wanted: Import, progress: Progress) -> tuple[Run, Mapping[str, pd.DataFrame]]:
    """A trace as a run that is not stored, with its tables. Raises TraceFormatError."""
    progress.step("read")
    trace = read_trace(wanted, {found: found.path for found in wanted.files}, progress)
    progress.done()
    checks = _checks(trace, wanted.model)
    sizes = [(found, found.path.stat().st_size) for found in wanted.files]
    entries = [
        {"name": found.path.name, "role": found.role, "sha256": None, "kept_bytes": size, "size_bytes": size}
        for found, size in sizes
    ]
    document = {"identity": None, "op_table": wanted.op_table, "files": entries, "model": model_document(wanted.model)}
    name = default_name([wanted.trace[0].path])
    return Run(name, 0, now(), checks, facts_of(trace, wanted.model, document, ())), trace.tables


def _identity(entries: Sequence[Mapping[str, Any]], wanted: Import) -> str:
    """The hash of what was imported, and of how: another model or table of operations gives another run."""
    parts = sorted(f"{entry['role']} {entry['sha256']}" for entry in entries)
    model = wanted.model
    parts += [
        f"op table {wanted.op_table}",
        "model " + (f"{len(model.tensors)} {model.paths[0].name}" if model else ""),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _run_of(runs: Path, identity: str) -> Run | None:
    """The run that was made of the same source before."""
    for folder in store.run_folders_in(runs):
        run = store.read_run(folder)
        if run.facts.imported and run.facts.imported.identity == identity:
            return run
    return None


def _checks(trace: ForeignTrace, model: Model | None) -> tuple[Check, ...]:
    evidence = Evidence(
        tables=trace.tables,
        trace={},
        timings={},
        n_layers=model.n_layers if model else None,
        n_experts=model.n_experts if model else experts_of(trace) or _seen_experts(trace),
    )
    return checks_of_import(evidence, trace.checks)


def _seen_experts(trace: ForeignTrace) -> int | None:
    """1 where a graph chooses experts, though nobody says of how many; None where none does."""
    return 1 if (trace.tables["graph_nodes"]["op"] == "MUL_MAT_ID").any() else None
