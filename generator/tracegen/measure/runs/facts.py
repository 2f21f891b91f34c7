"""The facts of a run for `run.json`, and its models for `raw/model.json`."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tracegen.analysis.tracing_cost import between_share, overhead_share
from tracegen.contract import documents, facts
from tracegen.contract.records import decode, names_of
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


@dataclass(frozen=True)
class Captured:
    """What ran and how it ended.

    `models` are those that the program loaded; `loads` maps the number of a load to an index into `models`. `status`
    is the exit status, negative for a signal; `stopped`: tracegen ended the program, after its trace was closed.
    `conditions` is what `conditions_of` returned. `prompt` and `generated` are None when unknown; `counted`: the log
    holds llama.cpp's counters; `repetition`, `slot`: the place of this run in a series or in a matrix; `device`: what
    the device of the model can read, None if it was not measured; `control`: what is known of the same program
    untraced, None if it did not run; `changed`: names of model files that changed while it ran;
    `failure`: why it ended with an error.
    """

    settings: Mapping[str, Any]
    command: tuple[str, ...]
    status: int
    models: Sequence[Model]
    loads: Mapping[int, int]
    version: str
    conditions: facts.Conditions
    stopped: bool = False
    prompt: str | None = None
    generated: str | None = None
    counted: bool = True
    repetition: facts.Repetition | None = None
    slot: facts.Slot | None = None
    device: facts.Device | None = None
    control: facts.Control | None = None
    changed: tuple[str, ...] = ()
    failure: facts.Failure | None = None


def model_document(models: Sequence[Model], loads: Mapping[int, int], changed: Sequence[str] = ()) -> dict[str, Any]:
    """The content of `raw/model.json`: with it the trace can be read again without the model files."""
    files, tensors = join_models(models)
    return {
        "schema": store.SCHEMA,
        "models": [described(model) for model in models],
        "loads": {str(load): model for load, model in loads.items()},
        "changed": list(changed),
        "data_begin": [begin for model in models for begin in model.data_begin],
        "alignment": [alignment for model in models for alignment in model.alignment],
        "files": documents.parse_json(files.to_json(orient="records"), "a table"),
        "tensors": documents.parse_json(tensors.to_json(orient="records"), "a table"),
    }


def described(model: Model) -> dict[str, Any]:
    """What a model's first file says of it."""
    return {name: getattr(model, name) for name in DESCRIBED}


def text_facts(captured: Captured, trace: NativeTrace) -> facts.Text:
    """Prompt, text and tokens of a run; `restored` says whether prompt and text come from the recorded token ids.

    llama.cpp prints from a thread of its logger and may exit before that has written the last tokens: what was printed
    is completed from the recorded ones.
    """
    sampled = trace.facts["sampled_tokens"]
    assert isinstance(sampled, list)
    pieces = _pieces(captured, trace, sampled)
    shown = None if pieces is None else {str(token): vocabulary.shown(pieces[token]) for token in sorted(pieces)}
    text = facts.Text(
        prompt=captured.prompt,
        generated=captured.generated,
        token_ids=tuple(sampled),
        pieces=shown,
        private=captured.settings["private"],
    )
    n, printed = len(captured.models), captured.generated
    if pieces is None:
        found = Restored(missing=f"{n} models" if n else "no model file is known")
    else:
        found = restored(trace.tables["passes"], trace.tables["tokens"], sampled, pieces)
    if captured.prompt is not None or printed is not None:
        whole = (found.generated or "").rstrip("\n")
        return replace(text, generated=whole if printed is not None and whole.startswith(printed) else printed)
    known = found.prompt is not None or found.generated is not None
    return replace(text, prompt=found.prompt, generated=found.generated, restored=known, missing=found.missing or None)


def _pieces(captured: Captured, trace: NativeTrace, sampled: Sequence[int]) -> dict[int, bytes] | None:
    """The bytes of each token that was evaluated or sampled; None if it is not known of which model it is."""
    if len(captured.models) != 1:
        return None
    ids = {int(token) for token in [*trace.tables["tokens"]["token_id"].dropna(), *sampled]}
    return vocabulary.pieces(captured.models[0].paths[0], ids)


def facts_of(captured: Captured, trace: NativeTrace, timings: Mapping[str, float | int | None]) -> facts.Facts:
    """The facts in `run.json`: everything except the checks and the manifest."""
    host, build, reused = trace.facts["host"], trace.facts["build"], timings["graphs_reused"]
    assert isinstance(host, dict) and isinstance(build, dict)
    models = tuple(map(_model_facts, captured.models)) or (facts.Model(),)
    return facts.Facts(
        settings=decode(facts.Settings, dict(captured.settings)),
        repetition=captured.repetition,
        slot=captured.slot,
        command=captured.command,
        exit_status=captured.status,
        failure=captured.failure,
        stopped=captured.stopped,
        counted=captured.counted,
        text=text_facts(captured, trace),
        llama_cpp=facts.LlamaCpp(
            version=captured.version,
            build=build,
            timings=timings,
            graphs_reused=None if reused is None else int(reused),
        ),
        conditions=captured.conditions,
        device=captured.device,
        control=captured.control,
        model=models[0],
        more_models=models[1:],
        host=_host_facts(host),
        trace=_trace_facts(trace),
        versions=versions(),
        source=_source(),
    )


def _host_facts(host: Mapping[str, str]) -> facts.Host:
    """The machine, as the trace (`host`) and the system describe it."""
    rate = memory_rate()
    return facts.Host(
        name=host.get("name"),
        id=machine_id(),
        cpu=host.get("cpu"),
        cores=int(host["processors"]) if "processors" in host else None,
        memory_bytes=int(host["memory_bytes"]) if "memory_bytes" in host else None,
        page_bytes=int(host["page_bytes"]) if "page_bytes" in host else None,
        kernel=f"{host.get('system', '')} {host.get('kernel', '')}".strip() or None,
        machine=host.get("machine"),
        memory_rate=None if rate is None else decode(facts.MemoryRate, rate),
        last_level_cache_bytes=last_level_cache_bytes(),
    )


def _trace_facts(trace: NativeTrace) -> facts.Trace:
    """What the reader says of the trace, by the names that run.json has for it, and what tracing cost."""
    known = trace.facts
    shares = {
        "overhead_share": overhead_share(trace.tables, known),
        "between_passes_share": between_share(trace.tables, known),
    }
    read = {name: known[name] for name in names_of(facts.Trace) if name not in shares}
    costs = {name: _finite(value) for name, value in read.items() if name.endswith("_ns")}
    return decode(facts.Trace, read | costs | shares)


def versions() -> dict[str, str]:
    """What made a run's tables."""
    return {"tracegen": package_version(), "python": platform.python_version(), "pandas": pd.__version__}


def _model_facts(model: Model) -> facts.Model:
    """The facts of a model; name, origin and licence are those of a trained model of tracegen, or as its file says."""
    sha256 = _text_or_none(model.files["sha256"].iloc[0])
    stated = model.metadata.get("general.organization"), model.metadata.get("general.license")
    origin, licence = (text if isinstance(text, str) else None for text in stated)
    known = facts.Model(
        file=str(model.paths[0]),
        sha256=sha256,
        size_bytes=int(model.files["size_bytes"].sum()),
        n_files=len(model.files),
        n_tensors=len(model.tensors),
        origin=origin,
        licence=licence,
        **described(model),
    )
    trained = trained_with_hash(sha256)
    if trained is None:
        return known
    known = replace(known, name=trained.name, origin=trained.origin, licence=trained.licence)
    return replace(known, random_weights=False)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, float) and math.isfinite(value) else None


def _text_or_none(value: object) -> str | None:
    return None if pd.isna(value) else str(value)  # type: ignore[call-overload]


def _source() -> facts.Source:
    """The git commit of the current folder, and whether files differ from it; null outside a checkout."""
    commit = output_of(["git", "rev-parse", "HEAD"])
    changes = output_of(["git", "status", "--porcelain"])
    return facts.Source(commit, None if changes is None else bool(changes))
