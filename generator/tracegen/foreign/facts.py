"""The facts of an imported run for `run.json`, and its model for `raw/import.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.contract import documents, facts
from tracegen.contract.facts import Facts
from tracegen.contract.records import decode, encode
from tracegen.contract.tables import frame
from tracegen.foreign.trace import ForeignTrace
from tracegen.measure.runs.facts import DESCRIBED, described, versions
from tracegen.readers.gguf.file import Model

VERSION = "foreign-1"


def model_document(model: Model | None) -> dict[str, Any] | None:
    """What is kept of a model, so that its file is not needed again; None without one."""
    if model is None:
        return None
    return {
        "file": str(model.paths[0]),
        **described(model),
        "data_begin": list(model.data_begin),
        "alignment": list(model.alignment),
        "files": documents.parse_json(model.files.to_json(orient="records"), "a table"),
        "tensors": documents.parse_json(model.tensors.to_json(orient="records"), "a table"),
    }


def model_of(document: Mapping[str, Any] | None) -> Model | None:
    """The model as it was described when the run was imported."""
    if document is None:
        return None
    return Model(
        paths=(Path(document["file"]),),
        files=frame("files", document["files"]),
        tensors=frame("tensors", document["tensors"]),
        data_begin=tuple(document["data_begin"]),
        alignment=tuple(document["alignment"]),
        **{name: document[name] for name in DESCRIBED},
    )


def experts_of(trace: ForeignTrace) -> int | None:
    """The number of experts of a layer that the list of tensors gives."""
    n = trace.tables["tensors"]["n_experts"].max()
    return None if pd.isna(n) else int(n)


def facts_of(trace: ForeignTrace, model: Model | None, document: Mapping[str, Any], hashes: Sequence[str]) -> Facts:
    """The facts of an imported run; what such a trace does not hold is null, or is left out with its group."""
    known = {
        "imported": {
            "format": trace.format,
            "identity": document["identity"],
            "op_table": document["op_table"],
            "files": document["files"],
            "left_out": [],
            **trace.facts,
            "routing": bool(len(trace.tables["routing"])),
            "spans": bool(len(trace.tables["device_ops"])),
        },
        "settings": {},
        "command": [],
        "text": {"prompt": None, "generated": None, "token_ids": None, "pieces": None, "private": False},
        "llama_cpp": {},
        "conditions": {},
        "model": encode(_model_facts(trace, model, hashes)),
        "more_models": [],
        "host": {},
        "trace": {"reader": VERSION, "bytes": sum(entry["kept_bytes"] for entry in document["files"])},
        "versions": versions(),
        "source": {},
        "stages": [],
    }
    return decode(Facts, known)


def _model_facts(trace: ForeignTrace, model: Model | None, hashes: Sequence[str]) -> facts.Model:
    """What is known of the model: by its file, if there is one, else by the trace's list of tensors."""
    files, known = trace.tables["files"], facts.Model()
    if model is not None:
        sha256 = hashes[0] if hashes else None
        known = facts.Model(file=str(model.paths[0]), sha256=sha256, n_files=len(model.files), **described(model))
    if not len(files):
        return known
    return replace(
        known,
        size_bytes=int(files["size_bytes"].sum()),
        n_tensors=len(trace.tables["tensors"]),
        file=known.file or str(files["path"].iloc[0]),
        n_experts=known.n_experts or experts_of(trace),
    )
