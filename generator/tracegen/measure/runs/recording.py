"""Turns what a traced program recorded into a stored run: read, check, store.

`tracegen run` and `tracegen exec` start different programs, and both use `record` for the rest.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tracegen.contract import shapes, withheld
from tracegen.contract.errors import EnvironmentFailure, SettingsError, StoreError, TraceFormatError, TracegenError
from tracegen.contract.facts import Control, Stage
from tracegen.contract.model import Run
from tracegen.contract.records import encode
from tracegen.contract.tables import frame
from tracegen.measure.capture.plan import timings_in
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of
from tracegen.measure.runs.facts import Captured, facts_of, model_document
from tracegen.measure.runs.placing import FAILED, KEPT, RUNS, keep_failed, now, place, update
from tracegen.readers.gguf.header import alignment_in
from tracegen.readers.native.segments import NO_SPACE, WHY_DROPPED, segment_files
from tracegen.readers.native.server_ops import server_ops
from tracegen.readers.native.trace import VERSION, ModelTables, NativeTrace, loaded_models, read_trace
from tracegen.readers.requests.table import read_requests
from tracegen.storing import store
from tracegen.storing.execute import Completed, last_lines
from tracegen.storing.progress import Progress

SERVERS = "servers"  # folder in raw/ with a folder of traces for each server
_LEAST_ROOM = 64 << 10  # bytes that the tracer's first files need; with less, the program's output is lost too
_MODELS: Mapping[str, Any] = {
    shapes.NEEDED: ("models", "loads", "data_begin", "alignment", "files", "tensors"),
    "models": [{"metadata": {}}],
    "loads": {shapes.ANY: int},
    "changed": [str],
    "data_begin": [int],
    "alignment": [object],
    "files": [{}],
    "tensors": [{}],
}


class Stages:
    """Measures how long each stage takes, and shows on `progress` which one runs."""

    def __init__(self, progress: Progress) -> None:
        """Show the stages on `progress`."""
        self.done: list[Stage] = []
        self.progress = progress
        self._name, self._begin = "", 0.0

    def begin(self, name: str) -> None:
        """Begin the stage `name`, and end the one before."""
        self.end()
        self._name, self._begin = name, time.monotonic()
        self.progress.step(name)

    def end(self) -> None:
        """End the current stage, if there is one."""
        if self._name:
            self.done.append(Stage(self._name, round(time.monotonic() - self._begin, 3)))
            self.progress.done()
        self._name = ""


def record(
    name: str, folder: Path, stages: Stages, capture: Callable[[Path], Captured], secrets: Sequence[str] = ()
) -> Run:
    """Let `capture` fill a new folder `raw/`, and store it as a run of the experiment `name` below `folder`.

    Raises TracegenError at the first stage that fails. What was captured until then is kept in `folder/failed/TIME/`,
    and the message names that folder. `secrets`: what the program was given and must not be stored.
    """
    runs, published = folder / RUNS, store.last_published_run(folder)
    with store.part_folder(runs) as part:
        raw = part / "raw"
        (raw / "trace").mkdir(parents=True)
        try:
            try:
                captured = capture(raw)
            finally:
                _withhold(raw, secrets)
            document = model_document(captured.models, captured.loads, captured.changed)
            store.write_text(raw / "model.json", json.dumps(document, indent=1) + "\n")
            stages.begin("read")
            trace = _read(raw, document)
            _refuse_full_disk(trace, raw)
            _refuse_prefault(captured, trace)
            _refuse_residency(captured, trace)
            _say_untimed(captured, trace, stages.progress)
            _say_uncounted(captured, trace, stages.progress)
            stages.begin("check")
            timings = {**_timings(raw, captured.counted), **trace.counters}
            checks = checks_of(
                _evidence(
                    trace, timings, document, captured.settings, captured.status, captured.stopped, captured.control
                )
            )
            stages.begin("store")
            for evidence in sorted([*raw.glob("*/*.tt"), *raw.glob("*/*/*.tt"), *(raw / "requests").glob("*.ring")]):
                store.compress(evidence)
            store.write_tables(part / "tables", trace.tables, VERSION)
            facts = withheld.facts(facts_of(captured, trace, timings), secrets)
            stages.end()
            return place(part, runs, Run(name, 0, now(), checks, replace(facts, stages=tuple(stages.done))), published)
        except BaseException as error:
            failed_folder = keep_failed(part, folder / FAILED)
            reported = _disk_failure(error, runs) if isinstance(error, OSError) else error
            if isinstance(reported, TracegenError | KeyboardInterrupt) and failed_folder:
                lead = f"{reported}\n" if str(reported) else ""
                raise type(reported)(f"{lead}{KEPT} {failed_folder}") from error
            if reported is not error:
                raise reported from error
            raise


def _withhold(raw: Path, secrets: Sequence[str]) -> None:
    """Withhold these secrets where the program's output repeats them."""
    for path in (raw / "stdout.txt", raw / "stderr.txt") if secrets else ():
        content = path.read_bytes() if path.exists() else b""
        kept = content
        for secret in secrets:
            kept = kept.replace(secret.encode(errors="surrogateescape"), withheld.WITHHELD.encode())
        if kept != content:
            path.write_bytes(kept)


def _disk_failure(error: OSError, runs: Path) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"{error.filename or runs}: {error.strerror or error}; free space, or repair the disk, and run again"
    )


def refuse_nothing(program: str, raw: Path, *, attached: bool | None = None) -> None:
    """Raise EnvironmentFailure when the program recorded nothing, with the reason that the tracer printed, if any.

    attached: whether the tracer was preloaded; None where it cannot be.
    """
    if any((raw / "trace").iterdir()):
        return
    reasons = [line for line in last_lines(raw / "stderr.txt", 1000).splitlines() if line.startswith(_NOTHING)]
    if reasons:
        raise EnvironmentFailure(f"{program}: {reasons[0].removeprefix('tensor_trace: ')}; fix that and run again")
    if shutil.disk_usage(raw).free < _LEAST_ROOM:
        raise EnvironmentFailure(
            f"{raw}: the disk is full, and {program} could record nothing; free space and run again"
        )
    if attached:
        raise EnvironmentFailure(
            f"{program}: ran but recorded nothing: it called no llama.cpp in shared libraries; if llama.cpp is linked "
            "into the program, build it with the hooks, as attaching is not possible"
        )
    instead = "add --attach, which needs none, or build it again" if attached is not None else "build it again"
    raise EnvironmentFailure(
        f"{program}: ran but recorded nothing: no llama.cpp with the hooks (GGML_TENSOR_TRACE=ON) ran; {instead}"
    )


def refuse_unloaded(program: str, raw: Path, ended: Completed, why: str = "") -> None:
    """Raise with the program's last lines when it failed before it loaded a model, or one of its models is missing.

    Else its run is stored. `why`: how it ended, where more is known than `ended` says.
    """
    if ended.status == 0 and not ended.timed_out:
        return
    trace = raw / "trace"
    loaded = loaded_models(segment_files(trace)).values() if any(trace.iterdir()) else ()
    if not loaded or not all(Path(path).is_file() for path in loaded):
        failure = SettingsError if ended.status > 0 and not ended.timed_out else EnvironmentFailure
        raise failure(f"{program}: {why or ended.ending}; its last lines:\n{last_lines(raw / 'stderr.txt')}")


def refuse_several(program: str, raw: Path) -> None:
    """Raise SettingsError when more than one process recorded a trace: a run holds one trace."""
    traces = sorted((raw / "trace").glob("*.main.tt"))
    if len(traces) > 1:
        raise SettingsError(
            f"{program}: {len(traces)} of its processes ran llama.cpp, and each recorded a trace, but a run holds one; "
            "start one of them alone"
        )


_NOTHING = "tensor_trace: nothing is recorded"


def _refuse_full_disk(trace: NativeTrace, raw: Path) -> None:
    """Raise EnvironmentFailure when a full disk cut the trace at a random place: no page could show such a run."""
    if trace.facts["dropped"] and WHY_DROPPED[NO_SPACE] in str(trace.facts["dropped_why"]):
        raise EnvironmentFailure(
            f"{raw / 'trace'}: the disk became full while llama.cpp was traced, {trace.facts['dropped']} records were "
            "dropped; free space and run again"
        )


def _refuse_prefault(captured: Captured, trace: NativeTrace) -> None:
    """Raise EnvironmentFailure when `prefault = false` had no effect, as older hooks ignore it."""
    if captured.settings.get("prefault") is False and captured.settings.get("mmap") and not trace.facts["prefault_off"]:
        raise EnvironmentFailure(
            f"{Path(captured.command[0]).name}: read the whole model at load although `prefault` is false, as its "
            "hooks are older than that setting; hook and build it again"
        )


def _refuse_residency(captured: Captured, trace: NativeTrace) -> None:
    """Raise EnvironmentFailure when `residency = true`, but the kernel did not say which pages were in memory."""
    refused = trace.facts["residency_refused"]
    if captured.settings.get("residency") and refused:
        raise EnvironmentFailure(
            f"{refused}: you may not write it, so the kernel does not say which of its pages are in memory; make a "
            "copy of your own, or remove `residency`"
        )


def _say_untimed(captured: Captured, trace: NativeTrace, progress: Progress) -> None:
    """Say why no operation of a device has a time, or how many have none, where times of each were asked for."""
    if captured.settings.get("device_times") != "ops" and not trace.facts["device_ops_refused"]:
        return
    lost = trace.facts["device_ops_lost"]
    if len(trace.tables["device_ops"]) == 0:
        why = trace.facts["device_ops_refused"] or (
            "no backend labelled any, as the Vulkan backend of llama.cpp does since September 2026 (#28101), and no "
            "kernel of a CUDA device was recorded (for which CUPTI has to be installed)"
        )
        progress.say(f"operations of a device have no times: {why}")
    elif lost:
        progress.say(
            f"{lost} operations of a device have no times: the device did not write them, or too many were under way"
        )


def _say_uncounted(captured: Captured, trace: NativeTrace, progress: Progress) -> None:
    """Say that allocations were not counted, though that was asked for."""
    if captured.settings.get("allocations") and trace.tables["allocations"].empty:
        progress.say(
            "allocations were not counted: the program is linked statically, brings a malloc of its own, or its memory "
            "was not sampled (TENSOR_TRACE_FOOTPRINT)"
        )


def _timings(raw: Path, counted: bool) -> dict[str, float | int | None]:
    """llama.cpp's counters in its log; all None unless `counted`, as a log may hold those of several contexts."""
    log = (raw / "stderr.txt").read_text(encoding="utf-8", errors="replace") if counted else ""
    return timings_in(log)


def _evidence(
    trace: NativeTrace,
    timings: dict[str, float | int | None],
    document: Mapping[str, Any],
    settings: Mapping[str, Any],
    status: int,
    stopped: bool,
    control: Control | None,
) -> Evidence:
    models = document["models"]
    n_layers, n_layers_ahead = max(map(_layers, models), default=(None, 0), key=lambda layers: layers[0] or 0)
    return Evidence(
        tables=trace.tables,
        trace=trace.facts,
        timings=timings,
        n_layers=n_layers,
        n_layers_ahead=n_layers_ahead,
        n_experts=max((m["n_experts"] for m in models if m["n_experts"] is not None), default=None),
        data_begin=tuple(document["data_begin"]),
        alignment=_alignment(document),
        tokens_asked=settings.get("tokens"),
        warmup=settings.get("warmup"),
        exit_status=status,
        stopped=stopped,
        control=control,
        changed=tuple(document.get("changed", ())),
    )


def _layers(model: Mapping[str, Any]) -> tuple[int | None, int]:
    """How many layers a model has, and how many of them predict further tokens (multi-token prediction)."""
    ahead = model.get("metadata", {}).get(f"{model['architecture']}.nextn_predict_layers")
    return model["n_layers"], ahead if isinstance(ahead, int) else 0


def _alignment(document: Mapping[str, Any]) -> tuple[int, ...]:
    """The alignment of the tensors in each file, in bytes. Raises StoreError when it is not a power of two."""
    try:
        return tuple(alignment_in({"general.alignment": value}) for value in document["alignment"])
    except ValueError as error:
        raise StoreError(f"raw/model.json: {error}; restore it from a copy") from error


def _read(raw: Path, document: Mapping[str, Any]) -> NativeTrace:
    """The trace in `raw`, with the requests of devices, and what servers computed, where they were recorded."""
    trace = _with_servers(read_trace(segment_files(raw / "trace"), _model_tables(document)), raw / SERVERS)
    requests, facts = read_requests(raw / "requests", trace.tables["passes"], trace.tables["files"])
    return replace(trace, tables={**trace.tables, "requests": requests}, facts={**trace.facts, **facts})


def _with_servers(trace: NativeTrace, folder: Path) -> NativeTrace:
    """The trace with the operations that servers recorded, whose traces are in folders of `folder`; none: as it is."""
    servers = sorted(folder.iterdir()) if folder.is_dir() else []
    if not servers:
        return trace
    traces, why = list[NativeTrace](), "was it another server, or another machine?"
    for server in servers:
        try:
            traces += [read_trace(segment_files(server))] if any(server.iterdir()) else []
        except (TraceFormatError, EnvironmentFailure) as error:
            why = f"{error}"
    ops, lost = server_ops(trace.tables, [of.tables for of in traces])
    facts = {**trace.facts, "device_ops_lost": cast(int, trace.facts["device_ops_lost"] or 0) + lost}
    if len(ops) == len(trace.tables["device_ops"]):
        facts["device_ops_refused"] = f"no graph of the server's trace lies within a split of this run: {why}"
        if not any(any(server.iterdir()) for server in servers):
            facts["device_ops_refused"] = (
                "the server wrote no trace: start one that computes on its CPU and is built with the hooks, with "
                "TENSOR_TRACE_DIR set"
            )
    return replace(trace, tables={**trace.tables, "device_ops": ops}, facts=facts)


def _model_tables(document: Mapping[str, Any]) -> ModelTables:
    loads = {int(load): model for load, model in document["loads"].items()}
    return ModelTables(frame("files", document["files"]), frame("tensors", document["tensors"]), loads)


def read_again(folder: Path) -> Run:
    """Make the tables and checks of a stored run again from its evidence. Raises StoreError when it is not whole."""
    run = store.verified_evidence(folder)
    document = store.read_json(folder / "raw" / "model.json", store.SCHEMA, _MODELS)
    facts = run.facts
    settings = encode(facts).get("settings")
    if facts.exit_status is None or settings is None:
        raise StoreError(f"{folder / store.RUN_FILE}: lacks settings or exit_status; restore it from a copy")
    raw = folder / "raw"
    trace = _read(raw, document)
    timings = _timings(raw, facts.counted is not False)
    stopped = facts.stopped is True
    checks = checks_of(_evidence(trace, timings, document, settings, facts.exit_status, stopped, facts.control))
    return update(run, trace.tables, VERSION, checks)
