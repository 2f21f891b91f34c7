"""The facts of a run for `run.json`, and its models for `raw/model.json`."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from tracegen.analysis.tracing_cost import between_share, overhead_share
from tracegen.contract import documents
from tracegen.contract.model import Repetition, Slot
from tracegen.measure.capture.machine import last_level_cache_bytes, machine_id
from tracegen.measure.capture.memory_rate import memory_rate
from tracegen.measure.runs.restored_text import Restored, restored
from tracegen.measure.trained import trained_with_hash
from tracegen.readers.gguf import vocabulary
from tracegen.readers.gguf.file import Model, join_models
from tracegen.readers.native.trace import NativeTrace
from tracegen.storing import store
from tracegen.storing.execute import output_of
from tracegen.storing.resources import package_version

DESCRIBED = ("architecture", "name", "n_layers", "n_experts", "n_experts_used", "random_weights", "metadata")
MODEL_FACTS = ("file", "sha256", "size_bytes", "n_files", "n_tensors", "origin", "licence", *DESCRIBED)


@dataclass(frozen=True)
class Captured:
    """What ran and how it ended.

    `models` are those that the program loaded; `loads` maps the number of a load to an index into `models`. `status`
    is the exit status, negative for a signal; `stopped`: tracegen ended the program, after its trace was closed.
    `conditions` is what `conditions_of` returned. `prompt` and `generated` are None when unknown; `counted`: the log
    holds llama.cpp's counters; `repetition`, `slot`: the place of this run in a series or in a matrix; `device`: what
    the device of the model can read, None if it was not measured; `control`: what is known of the same program
    untraced, None if it did not run.
    """

    settings: Mapping[str, Any]
    command: tuple[str, ...]
    status: int
    models: Sequence[Model]
    loads: Mapping[int, int]
    version: str
    conditions: Mapping[str, Any]
    stopped: bool = False
    prompt: str | None = None
    generated: str | None = None
    counted: bool = True
    repetition: Repetition | None = None
    slot: Slot | None = None
    device: Mapping[str, Any] | None = None
    control: Mapping[str, Any] | None = None


def model_document(models: Sequence[Model], loads: Mapping[int, int]) -> dict[str, Any]:
    """The content of `raw/model.json`: with it the trace can be read again without the model files."""
    files, tensors = join_models(models)
    return {
        "schema": store.SCHEMA,
        "models": [described(model) for model in models],
        "loads": {str(load): model for load, model in loads.items()},
        "data_begin": [begin for model in models for begin in model.data_begin],
        "alignment": [alignment for model in models for alignment in model.alignment],
        "files": documents.parse_json(files.to_json(orient="records"), "a table"),
        "tensors": documents.parse_json(tensors.to_json(orient="records"), "a table"),
    }


def described(model: Model) -> dict[str, Any]:
    """What a model's first file says of it."""
    return {name: getattr(model, name) for name in DESCRIBED}


def text_facts(captured: Captured, trace: NativeTrace) -> dict[str, Any]:
    """Prompt, text and tokens of a run; `restored` says whether prompt and text come from the recorded token ids.

    llama.cpp prints from a thread of its logger and may exit before that has written the last tokens: what was printed
    is completed from the recorded ones.
    """
    sampled = trace.facts["sampled_tokens"]
    assert isinstance(sampled, list)
    pieces = _pieces(captured, trace, sampled)
    shown = None if pieces is None else {str(token): vocabulary.shown(pieces[token]) for token in sorted(pieces)}
    text: dict[str, Any] = {
        "prompt": captured.prompt,
        "generated": captured.generated,
        "token_ids": sampled,
        "pieces": shown,
        "private": captured.settings["private"],
    }
    n, printed = len(captured.models), captured.generated
    if pieces is None:
        found = Restored(missing=f"{n} models" if n else "no model file is known")
    else:
        found = restored(trace.tables["passes"], trace.tables["tokens"], sampled, pieces)
    if captured.prompt is not None or printed is not None:
        whole = (found.generated or "").rstrip("\n")
        return {**text, "generated": whole if printed is not None and whole.startswith(printed) else printed}
    known = found.prompt is not None or found.generated is not None
    return {
        **text,
        "prompt": found.prompt,
        "generated": found.generated,
        "restored": known,
        "missing": found.missing or None,
    }


def _pieces(captured: Captured, trace: NativeTrace, sampled: Sequence[int]) -> dict[int, bytes] | None:
    """The bytes of each token that was evaluated or sampled; None if it is not known of which model it is."""
    if len(captured.models) != 1:
        return None
    ids = {int(token) for token in [*trace.tables["tokens"]["token_id"].dropna(), *sampled]}
    return vocabulary.pieces(captured.models[0].paths[0], ids)


def facts_of(captured: Captured, trace: NativeTrace, timings: Mapping[str, float | int | None]) -> dict[str, Any]:
    """The facts in `run.json`: everything except the checks and the manifest."""
    facts = trace.facts
    host = facts["host"]
    assert isinstance(host, dict)
    models = [_model_facts(model) for model in captured.models] or [dict.fromkeys(MODEL_FACTS)]
    return {
        "settings": dict(captured.settings),
        **({"repetition": asdict(captured.repetition)} if captured.repetition else {}),
        **({"slot": asdict(captured.slot)} if captured.slot else {}),
        "command": list(captured.command),
        "exit_status": captured.status,
        "stopped": captured.stopped,
        "counted": captured.counted,
        "text": text_facts(captured, trace),
        "llama_cpp": {
            "version": captured.version,
            "build": facts["build"],
            "timings": dict(timings),
            "graphs_reused": timings["graphs_reused"],
        },
        "conditions": dict(captured.conditions),
        **({"device": dict(captured.device)} if captured.device else {}),
        **({"control": dict(captured.control)} if captured.control else {}),
        "model": models[0],
        "more_models": models[1:],
        "host": {
            "name": host.get("name"),
            "id": machine_id(),
            "cpu": host.get("cpu"),
            "cores": int(host["processors"]) if "processors" in host else None,
            "memory_bytes": int(host["memory_bytes"]) if "memory_bytes" in host else None,
            "page_bytes": int(host["page_bytes"]) if "page_bytes" in host else None,
            "kernel": f"{host.get('system', '')} {host.get('kernel', '')}".strip() or None,
            "machine": host.get("machine"),
            "memory_rate": memory_rate(),
            "last_level_cache_bytes": last_level_cache_bytes(),
        },
        "trace": {
            **{
                name: facts[name]
                for name in (
                    "reader",
                    "run_id",
                    "n_segments",
                    "bytes",
                    "events",
                    "records",
                    "dropped",
                    "dropped_why",
                    "unsealed_chunks",
                    "skipped_passes",
                    "environment",
                    "environment_unnamed",
                    "clock",
                    "clock_why",
                    "clock_anchor",
                    "mapped_files",
                    "n_weights",
                    "n_weights_mapped",
                    "attached",
                    "faults_recorded",
                    "faults_refused",
                    "device_refused",
                    "cache_refused",
                    "own_page_bytes",
                    "requests_recorded",
                    "requests_refused",
                    "requests_lost",
                    "requests_unplaced",
                    "requests_elsewhere",
                    "requests_elsewhere_bytes",
                )
            },
            **{
                name: _finite(facts[name])
                for name in ("event_cost_ns", "clock_read_ns", "pass_cost_ns", "pass_cost_most_ns", "begin_cost_ns")
            },
            "overhead_share": overhead_share(trace.tables, facts),
            "between_passes_share": between_share(trace.tables, facts),
        },
        "versions": versions(),
        "source": _source(),
    }


def versions() -> dict[str, str]:
    """What made a run's tables."""
    return {"tracegen": package_version(), "python": platform.python_version(), "pandas": pd.__version__}


def _model_facts(model: Model) -> dict[str, Any]:
    """The facts of a model; name, origin and licence are those of a trained model of tracegen, or as its file says."""
    sha256 = _text_or_none(model.files["sha256"].iloc[0])
    stated = model.metadata.get("general.organization"), model.metadata.get("general.license")
    origin, licence = (text if isinstance(text, str) else None for text in stated)
    trained = trained_with_hash(sha256)
    named = {"name": trained.name, "origin": trained.origin, "licence": trained.licence} if trained else {}
    known = {
        "file": str(model.paths[0]),
        "sha256": sha256,
        "size_bytes": int(model.files["size_bytes"].sum()),
        "n_files": len(model.files),
        "n_tensors": len(model.tensors),
        "origin": origin,
        "licence": licence,
        **described(model),
        **named,
    }
    return {name: known[name] for name in MODEL_FACTS}


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, float) and math.isfinite(value) else None


def _text_or_none(value: object) -> str | None:
    return None if pd.isna(value) else str(value)  # type: ignore[call-overload]


def _source() -> dict[str, object]:
    """The git commit of the current folder, and whether files differ from it; null outside a checkout."""
    commit = output_of(["git", "rev-parse", "HEAD"])
    changes = output_of(["git", "status", "--porcelain"])
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}
