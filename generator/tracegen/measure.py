"""`tracegen run` as a whole: verify, capture, memory map, read, check, store. The first error stops it."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen import store
from tracegen.capture.execute import Completed, last_lines, output_of, run_program
from tracegen.capture.llama_cpp import cache_folder, has_load_mode, traced_program
from tracegen.capture.plan import command_for, environment_for, settings_of, timings_in
from tracegen.demo_models import KINDS, recipe_hash, write_demo_model
from tracegen.errors import EnvironmentFailure, SettingsError, StoreError, TracegenError
from tracegen.model import Experiment, Run
from tracegen.progress import Progress
from tracegen.readers.gguf import Model, read_model
from tracegen.readers.native import VERSION, ModelTables, NativeTrace, read_trace
from tracegen.readers.segments import NO_SPACE, WHY_DROPPED, segment_files
from tracegen.resources import package_version
from tracegen.tables import frame
from tracegen.verdict import Evidence, checks_of, overhead_share

RUNS, FAILED = "runs", "failed"


def measure(experiment: Experiment, folder: Path, progress: Progress, program: str | None = None) -> Run:
    """Run an experiment once and store it below `folder`; returns the stored run.

    Raises TracegenError at the first stage that fails; what was captured until then
    is kept in `folder/failed/TIME/` and the message names it.
    """
    stages: list[dict[str, object]] = []
    runs = folder / RUNS
    with store.part_folder(runs) as part:
        clock = _Stages(stages, progress)
        clock.begin("verify")
        path = model_path(experiment.model, progress)
        completion, version = traced_program(program, progress)
        model = read_model(path)
        raw = part / "raw"
        (raw / "trace").mkdir(parents=True)
        command = command_for(experiment, completion, path, has_load_mode=has_load_mode(completion))
        try:
            clock.begin("capture")
            ended = _capture(experiment, command, raw)
            clock.begin("memory map")
            model = read_model(path, hash_files=True, progress=lambda done, total: progress.update(done, total, "B"))
            store.write_text(raw / "model.json", json.dumps(model_document(model), indent=1) + "\n")
            clock.begin("read")
            trace = read_trace(segment_files(raw / "trace"), ModelTables(model.files, model.tensors))
            _refuse_a_full_disk(trace, raw)
            clock.begin("check")
            log = (raw / "stderr.txt").read_text(encoding="utf-8", errors="replace")
            timings = timings_in(log)
            checks = checks_of(
                _evidence(trace, timings, model_document(model), settings_of(experiment), ended.status == 0)
            )
            clock.begin("store")
            for segment in sorted((raw / "trace").glob("*.tt")):
                store.compress(segment)
            store.write_tables(part / "tables", trace.tables, VERSION)
            facts = _facts(experiment, command, ended, raw, trace, timings, model, version)
            clock.end()
            run = Run(experiment.name, 0, _now(), checks, {**facts, "stages": stages})
        except BaseException as error:
            kept = _keep_failed(part, folder / FAILED)
            if isinstance(error, TracegenError | KeyboardInterrupt) and kept:
                lead = f"{error}\n" if str(error) else ""
                raise type(error)(f"{lead}what was captured is kept in {kept}") from error
            raise
        target = store.place_numbered(
            part, runs, lambda number: store.write_run_file(part, replace(run, number=number))
        )
    return store.read_run(target)


class _Stages:
    """Times the stages and says which one runs."""

    def __init__(self, stages: list[dict[str, object]], progress: Progress) -> None:
        self._stages, self._progress = stages, progress
        self._name, self._begin = "", 0.0

    def begin(self, name: str) -> None:
        self.end()
        self._name, self._begin = name, time.monotonic()
        self._progress.step(name)

    def end(self) -> None:
        if self._name:
            self._stages.append({"name": self._name, "seconds": round(time.monotonic() - self._begin, 3)})
            self._progress.done()
        self._name = ""


def model_path(model: str, progress: Progress) -> Path:
    """The model's file: a path, or a built-in demo model, written when it is not in the cache."""
    if model not in KINDS:
        path = Path(model)
        if not path.exists():
            raise SettingsError(f"{path}: there is no such model file; built in are {', '.join(KINDS)}")
        return path.absolute()  # not resolved: a split model's files are found by the names of the links
    target = cache_folder() / "models" / recipe_hash() / f"{model}.gguf"
    if not target.exists():
        progress.step(f"write the demo model {model}")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_demo_model(model, target)
        progress.done()
    return target


def _capture(experiment: Experiment, command: tuple[str, ...], raw: Path) -> Completed:
    """Run llama.cpp with the tracer on. Raises with its last lines when it fails.

    An exit status is llama.cpp's refusal of model or settings; a signal or the time limit is not its choice.
    """
    out, err = raw / "stdout.txt", raw / "stderr.txt"
    ended = run_program(
        command, stdout=out, stderr=err, environment=environment_for(experiment, (raw / "trace").resolve()),
        timeout_s=experiment.timeout_s,
    )  # fmt: skip
    name = Path(command[0]).name
    if ended.status != 0 or ended.timed_out:
        failure = EnvironmentFailure if ended.status < 0 or ended.timed_out else SettingsError
        raise failure(f"{name}: {ended.ending}; its last lines:\n{last_lines(err)}")
    if not any((raw / "trace").iterdir()):
        told = [line for line in last_lines(err, 1000).splitlines() if line.startswith("tensor_trace: nothing")]
        if told:
            raise EnvironmentFailure(f"{name}: {told[0].removeprefix('tensor_trace: ')}; mend that and run again")
        raise EnvironmentFailure(
            f"{name}: ran but recorded nothing; it was not built with the hooks (GGML_TENSOR_TRACE=ON)"
        )
    return ended


def _refuse_a_full_disk(trace: NativeTrace, raw: Path) -> None:
    """What was recorded is then cut at random: nothing that a page could show."""
    if trace.facts["dropped"] and WHY_DROPPED[NO_SPACE] in str(trace.facts["dropped_why"]):
        raise EnvironmentFailure(
            f"{raw / 'trace'}: the disk became full while llama.cpp was traced, {trace.facts['dropped']} records were "
            "dropped; make room and run again"
        )


def _keep_failed(part: Path, failed: Path) -> Path | None:
    """Move what a failed run left beside the runs, so that its log can be read."""
    if not any(part.rglob("*.txt")):
        return None
    target = failed / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    try:
        failed.mkdir(parents=True, exist_ok=True)
        os.rename(part, target)
    except OSError:
        return None
    return target


def _evidence(
    trace: NativeTrace,
    timings: dict[str, float | int | None],
    model: dict[str, Any],
    settings: Mapping[str, Any],
    ended: bool,
) -> Evidence:
    return Evidence(
        tables=trace.tables,
        trace=trace.facts,
        timings=timings,
        n_layers=model["n_layers"],
        n_experts=model["n_experts"],
        data_begin=tuple(model["data_begin"]),
        tokens_asked=int(settings["tokens"]),
        warmup=bool(settings["warmup"]),
        program_ended=ended,
    )


def model_document(model: Model) -> dict[str, Any]:
    """The memory map as it is kept with the evidence: enough to read the trace without the model."""
    return {
        "schema": store.SCHEMA,
        "architecture": model.architecture,
        "name": model.name,
        "n_layers": model.n_layers,
        "n_experts": model.n_experts,
        "n_experts_used": model.n_experts_used,
        "random_weights": model.random_weights,
        "data_begin": list(model.data_begin),
        "metadata": model.metadata,
        "files": json.loads(model.files.to_json(orient="records")),
        "tensors": json.loads(model.tensors.to_json(orient="records")),
    }


def read_again(folder: Path) -> Run:
    """Make the tables and checks of a stored run anew from its evidence. Raises StoreError."""
    run = store.read_run(folder)
    document = store.read_json(folder / "raw" / "model.json", store.SCHEMA)
    raw = folder / "raw"
    _verify_evidence(folder)
    model = ModelTables(frame("files", document["files"]), frame("tensors", document["tensors"]))
    trace = read_trace(segment_files(raw / "trace"), model)
    log = (raw / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    settings, ended = run.facts["settings"], run.facts["exit_status"] == 0
    checks = checks_of(_evidence(trace, timings_in(log), document, settings, ended))
    with store.part_folder(folder.parent) as part:
        store.write_tables(part / "tables", trace.tables, VERSION)
        for path in sorted((part / "tables").iterdir()):
            os.replace(path, folder / "tables" / path.name)
    made = replace(run, checks=checks)
    store.write_run_file(folder, made)
    return made


def _verify_evidence(folder: Path) -> None:
    document = store.read_json(folder / store.RUN_FILE, store.SCHEMA)
    evidence = {name: entry for name, entry in document["manifest"].items() if name.startswith("raw/")}
    if not evidence:
        raise StoreError(f"{folder}: its manifest lists no evidence; nothing can be read anew")
    store.verify_manifest(folder / "raw", {n.removeprefix("raw/"): e for n, e in evidence.items()}, leave_out=())


def _facts(
    experiment: Experiment,
    command: tuple[str, ...],
    ended: Completed,
    raw: Path,
    trace: NativeTrace,
    timings: dict[str, float | int | None],
    model: Model,
    version: str,
) -> dict[str, Any]:
    """Everything `run.json` says beside the checks and the manifest."""
    facts = trace.facts
    host = facts["host"]
    assert isinstance(host, dict)
    generated = (raw / "stdout.txt").read_bytes().decode("utf-8", "replace").rstrip("\n")
    share = overhead_share(trace.tables, facts)
    return {
        "settings": dict(settings_of(experiment)),
        "command": list(command),
        "exit_status": ended.status,
        "text": {
            "prompt": experiment.prompt,
            "generated": generated,
            "token_ids": facts["sampled_tokens"],
            "private": experiment.private,
        },
        "llama_cpp": {
            "version": version,
            "build": facts["build"],
            "timings": timings,
            "graphs_reused": timings["graphs_reused"],
        },
        "model": {
            "file": str(model.paths[0]),
            "sha256": _text_or_none(model.files["sha256"].iloc[0]),
            "architecture": model.architecture,
            "name": model.name,
            "size_bytes": int(model.files["size_bytes"].sum()),
            "n_files": len(model.files),
            "n_tensors": len(model.tensors),
            "n_layers": model.n_layers,
            "n_experts": model.n_experts,
            "n_experts_used": model.n_experts_used,
            "random_weights": model.random_weights,
            "metadata": model.metadata,
        },
        "host": {
            "name": host.get("name"),
            "cpu": host.get("cpu"),
            "cores": int(host["processors"]) if "processors" in host else None,
            "memory_bytes": int(host["memory_bytes"]) if "memory_bytes" in host else None,
            "kernel": f"{host.get('system', '')} {host.get('kernel', '')}".strip() or None,
            "machine": host.get("machine"),
        },
        "trace": {
            **{
                name: facts[name]
                for name in (
                    "reader", "run_id", "n_segments", "bytes", "events", "records", "dropped", "dropped_why",
                    "unsealed_chunks", "environment", "clock", "clock_why", "clock_anchor", "mapped_files", "n_weights",
                    "n_weights_mapped",
                )
            },
            "event_cost_ns": _finite(facts["event_cost_ns"]),
            "clock_read_ns": _finite(facts["clock_read_ns"]),
            "overhead_share": share,
        },
        "versions": {
            "tracegen": package_version(),
            "python": platform.python_version(),
            "pandas": pd.__version__,
        },
        "source": _source(),
    }  # fmt: skip


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, float) and math.isfinite(value) else None


def _text_or_none(value: object) -> str | None:
    return None if pd.isna(value) else str(value)  # type: ignore[call-overload]


def _source() -> dict[str, object]:
    """Git state of the folder the command runs in; null outside a checkout."""
    commit = output_of(["git", "rev-parse", "HEAD"])
    changes = output_of(["git", "status", "--porcelain"])
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
