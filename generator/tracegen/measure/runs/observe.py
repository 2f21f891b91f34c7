"""The work of `tracegen exec`: runs any program that uses llama.cpp, and stores what was recorded."""

import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tracegen.contract import withheld
from tracegen.contract.errors import EnvironmentFailure, ModelFormatError, SettingsError, TracegenError
from tracegen.contract.experiment import SETTINGS, Experiment
from tracegen.contract.facts import Locked
from tracegen.contract.model import Run
from tracegen.measure.capture.attach import (
    device_times,
    ensure_allocations,
    ensure_attach,
    preload,
    refuse_hooked,
)
from tracegen.measure.capture.conditions import conditions_of
from tracegen.measure.capture.execution import Meter
from tracegen.measure.capture.hashing import changed_since, known_hashes
from tracegen.measure.capture.limited import refuse_limit
from tracegen.measure.capture.llama_cpp import lacks_hooks, pinned_build
from tracegen.measure.capture.locked import locked_memory, refuse_lock
from tracegen.measure.capture.page_cache import drop, fetch_code
from tracegen.measure.capture.plan import tracer_environment
from tracegen.measure.capture.pressure import Pressure, under_pressure
from tracegen.measure.capture.requests import Requests, recorded_requests, say_if_refused
from tracegen.measure.capture.trace_pages import trace_pages
from tracegen.measure.runs.control import Control
from tracegen.measure.runs.facts import Captured
from tracegen.measure.runs.failure import failure_in
from tracegen.measure.runs.recording import SERVERS, Stages, record, refuse_nothing, refuse_several, refuse_unloaded
from tracegen.readers.gguf.file import Model, read_model
from tracegen.readers.native.recorded import Records
from tracegen.readers.native.records import read_records
from tracegen.readers.native.segments import read_segment, segment_files
from tracegen.readers.native.trace import loaded_models
from tracegen.storing.execute import Beside, Completed, run_program
from tracegen.storing.progress import Progress
from tracegen.storing.signals import Interrupts, noticed_interrupts

PATIENCE_S = 10.0  # how long closing the trace may take, and then the end of the program
_NO_SETTINGS = ("name", "command", "interactive", "cold", "controls", "servers")  # of an observation


@dataclass(frozen=True)
class Observation:
    """The arguments of `tracegen exec`: the program with its arguments, and which of its passes to record.

    Recording begins `after_s` seconds after the tracer starts and lasts `for_s` seconds; `passes` is a number, or
    `FIRST-LAST`. `attach`: preload the tracer, for a llama.cpp without hooks. `mlock_gb`: GiB of memory to lock.
    `faults`: record page faults on model files; `disk`: record reads of the devices that hold them. `cold`: files to
    drop from the page cache first; `memory_limit_gb`: the most memory of the program, in GiB; `controls`: how often it
    runs again, untraced, under the same conditions. `device_times`: what is timed on a device: `splits`, for which the
    tracer waits; only when llama.cpp itself waited (`passive`); or so, and each operation (`ops`, with `attach`).
    `allocations`: count what the program allocates. `servers`: folders in which servers that the program uses over RPC
    write their traces.
    """

    name: str
    command: tuple[str, ...]
    question: str
    after_s: float | None = None
    for_s: float | None = None
    passes: str | None = None
    max_trace_bytes: int = Experiment.max_trace_bytes
    private: bool = False
    interactive: bool = False
    attach: bool = False
    faults: bool = False
    disk: bool = False
    mlock_gb: float | None = None
    memory_limit_gb: float | None = None
    cold: tuple[Path, ...] = ()
    controls: int = 0
    device_times: str = "splits"
    allocations: bool = False
    servers: tuple[Path, ...] = ()


def observe(observation: Observation, folder: Path, progress: Progress, programs: str | None = None) -> Run:
    """Run the program to its end, or until Ctrl-C, and store what was recorded as a run below `folder`.

    `programs` is a folder in which to look for the program. Raises SettingsError when the program is missing, lacks
    the hooks, or has them although `attach` is set; EnvironmentFailure when the library to attach cannot be made; and
    TracegenError as `record` does.
    """
    stages = Stages(progress)
    stages.begin("verify")
    program = _program(observation.command[0], programs, attach=observation.attach)
    progress.done()
    if observation.disk:
        say_if_refused(progress)
    device_ops = observation.device_times == "ops"
    libraries = (ensure_attach(progress, device_ops=device_ops),) if observation.attach else ()
    counting = (ensure_allocations(progress),) if observation.allocations else ()
    attached = preload(*libraries, *counting)
    if device_ops:
        attached |= device_times(*libraries)
    command = (str(program), *observation.command[1:])
    code = (program, *libraries)
    pinned = pinned_build()
    if observation.mlock_gb is not None:
        refuse_lock(observation.mlock_gb)
    if observation.memory_limit_gb is not None:
        refuse_limit(observation.memory_limit_gb)

    def capture(raw: Path) -> Captured:
        since_ns = time.time_ns()
        if observation.mlock_gb is not None:
            stages.begin("lock memory")
        with locked_memory(observation.mlock_gb) as locked:
            control = Control(
                conditions=lambda lifted: _conditions(observation, code, locked, lifted=lifted),
                run=lambda pressure, log: _untraced(command, pressure, log),
                paths=observation.cold,
                folder=raw,
                stages=stages,
            )
            stages.begin("capture")
            progress.done()  # end the line, as the program now prints its own output
            with (
                _conditions(observation, code, locked) as pressure,
                trace_pages(raw, observation.max_trace_bytes) as pages,
                recorded_requests(raw, observation.disk) as requests,
            ):
                meter = Meter.start(observation.cold)
                environment = _environment(observation, (raw / "trace").resolve(), {**pages, **pressure.tracer})
                ended, stopped = _run(
                    observation, command, {**environment, **attached}, raw, progress, pressure, requests
                )
                log = (raw / "stderr.txt").read_text(encoding="utf-8", errors="replace")
                control.traced = meter.stop(ended, log, pressure.limit.read if pressure.limit else None)
                pressed = pressure.conditions()
            if not stopped and ended.status == 0:
                control.repeat(observation.controls)
                control.lift_limit()
        if not stopped:
            refuse_unloaded(Path(command[0]).name, raw, ended)
        refuse_nothing(Path(command[0]).name, raw, attached=observation.attach)
        refuse_several(Path(command[0]).name, raw)
        for i, server in enumerate(observation.servers):
            _copy_segments(server, raw / SERVERS / str(i), progress)
        stages.begin("hash model")
        models, loads, changed = _models(raw / "trace", since_ns, ended, progress)
        files = [path for model in models for path in model.paths]
        if requests:
            requests.locate(files)
        conditions = conditions_of(files, None, pressed)
        hashes = iter(known_hashes(files, changed, progress))
        return Captured(
            settings=_settings(observation),
            command=command,
            status=ended.status,
            models=[model.with_hashes([next(hashes) for _ in model.paths]) for model in models],
            loads=loads,
            version=pinned.version if program.parent == pinned.programs.absolute() else "given",
            conditions=conditions,
            stopped=stopped,
            counted=False,
            control=control.result(),
            changed=changed,
            failure=None if stopped else failure_in(log, ended.status),
        )

    return record(observation.name, folder, stages, capture, withheld.secret_values(command, os.environ))


def _copy_segments(source: Path, target: Path, progress: Progress) -> None:
    """Copy the trace of a server; what cannot be read is said, and left out."""
    target.mkdir(parents=True)
    for path in sorted(path for path in source.glob("*.tt") if path.is_file()):
        try:
            shutil.copyfile(path, target / path.name)
        except OSError as error:
            (target / path.name).unlink(missing_ok=True)
            progress.say(f"{path}: {error.strerror}; what this server computed has no times")


def _program(name: str, programs: str | None, *, attach: bool) -> Path:
    """The path of the program `name`: in the folder `programs`, or else as a path, in the pinned build, on the PATH.

    With `attach` the pinned build is not searched, as it has hooks. Raises SettingsError when there is no such program,
    it cannot be run, or its hooks do not fit `attach`.
    """
    if programs is not None:
        candidates = [Path(programs) / name]
    elif os.sep in name:
        candidates = [Path(name)]
    else:
        on_path = shutil.which(name)
        candidates = [pinned_build().programs / name] if not attach else []
        candidates += [Path(on_path)] if on_path else []
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            if attach:
                refuse_hooked(path)
            elif lacks_hooks(path):
                raise SettingsError(
                    f"{path}: was not built with the hooks (GGML_TENSOR_TRACE=ON); `tracegen llama-cpp hook` inserts "
                    "them into a source tree; --attach traces a llama.cpp in shared libraries without them"
                )
            return path.absolute()
    there = next((path for path in candidates if path.exists()), None)
    if there is not None:
        raise SettingsError(f"{there}: cannot be run; name a program, or make it executable with chmod +x")
    if attach:
        raise SettingsError(f"{name}: there is no such program; name its path, or one on the PATH")
    raise SettingsError(
        f"{name}: there is no such program; `tracegen llama-cpp build --target {Path(name).name}` builds llama.cpp's"
    )


def _run(
    observation: Observation,
    command: Sequence[str],
    environment: Mapping[str, str],
    raw: Path,
    progress: Progress,
    pressure: Pressure,
    requests: Requests | None,
) -> tuple[Completed, bool]:
    """Run the program; return how it ended, and whether tracegen ended it.

    Ctrl-C (or SIGTERM) closes the trace and then ends the program; a second one does not wait for the trace.
    """
    trace = raw / "trace"
    with noticed_interrupts(ctrl_c_is_the_programs=observation.interactive) as interrupts:
        child = Beside(
            command,
            stdout=raw / "stdout.txt",
            stderr=raw / "stderr.txt",
            environment=environment,
            interactive=observation.interactive,
            before=pressure.before,
        )
        try:
            while (ended := child.wait(0.1)) is None:
                if requests:
                    requests.drain()
                if interrupts.count:
                    progress.say("close the trace and end the program …")
                    _close_trace(child, trace, interrupts)
                    return child.interrupt(PATIENCE_S), True
            return ended, False
        finally:
            child.close()


@contextmanager
def _conditions(
    observation: Observation, code: tuple[Path, ...], locked: Locked | None, *, lifted: bool = False
) -> Iterator[Pressure]:
    """During the block, the limit and the page cache that were asked for; `lifted`: without the limit of memory.

    `code`: the program and what is preloaded into it.
    """
    with under_pressure(locked, observation.memory_limit_gb, lifted=lifted) as pressure:
        fetch_code(code[0], code[1:])
        drop(observation.cold)
        yield pressure


def _untraced(command: Sequence[str], pressure: Pressure, log: Path) -> Completed:
    """Run the program without the tracer; what it prints goes into `log`."""
    return run_program(command, stdout=log, stderr=log, environment={"TENSOR_TRACE_DIR": ""}, before=pressure.before)


def _environment(observation: Observation, trace: Path, more: Mapping[str, object]) -> dict[str, str]:
    window = {"AFTER": observation.after_s, "FOR": observation.for_s, "PASSES": observation.passes}
    texts = {name: "" if value is None else value for name, value in window.items()}
    return tracer_environment(
        trace,
        observation.max_trace_bytes,
        observation.faults,
        SIGNAL="USR2",
        DEVICES="splits" if observation.device_times == "splits" else "passive",
        **texts,
        **more,
    )


def _settings(observation: Observation) -> Mapping[str, object]:
    """The settings as used in the run, for run.json."""
    given = {name: value for name, value in asdict(observation).items() if name not in _NO_SETTINGS}
    settings = {name: SETTINGS[name].fact(value) if name in SETTINGS else value for name, value in given.items()}
    return {**settings, "page_cache": "cold" if observation.cold else "as is"}


def _close_trace(child: Beside, folder: Path, interrupts: Interrupts) -> None:
    """Tell the traced process to close its trace, and wait until it has, at most PATIENCE_S.

    Raises KeyboardInterrupt when the user asks again meanwhile.
    """
    patience = time.monotonic() + PATIENCE_S
    pid = None
    with suppress(ProcessLookupError, PermissionError):
        while any(folder.glob("*.main.tt")) and child.wait(0.05) is None and time.monotonic() < patience:
            if interrupts.count > 1:
                raise KeyboardInterrupt
            records, sealed = _main_records(folder)
            if pid is None and (pid := _traced_process(records)) is not None:
                os.kill(pid, signal.SIGUSR2)
            if pid is not None:
                os.kill(pid, 0)  # raises when it has ended
            if sealed and records is not None and records.end_ns is not None:
                return


def _main_records(folder: Path) -> tuple[Records | None, bool]:
    """The records of the main segment so far, and whether its chunks are sealed.

    None without the segment, or while a part of it is being written. It is read, not mapped, as it may be cut
    meanwhile.
    """
    for path in folder.glob("*.main.tt"):
        with suppress(TracegenError, OSError):
            main = read_segment(path.name, np.frombuffer(path.read_bytes(), np.uint8))
            return read_records(main.name, main.payload), main.n_unsealed == 0
    return None, False


def _traced_process(records: Records | None) -> int | None:
    """The id of the process that writes the trace; None until the trace states it."""
    pid = records.info.get("process.id") if records else None
    return int(pid) if pid and pid.isdigit() else None


def _models(
    trace: Path, since_ns: int, ended: Completed, progress: Progress
) -> tuple[list[Model], dict[int, int], tuple[str, ...]]:
    """The models that the program loaded, each once, by first load; the number of a load -> index of its model; and the
    names of the files that changed since then: such a file may be cut.

    Raises EnvironmentFailure when a model file is gone, or was replaced by one that is no model.
    """
    paths = loaded_models(segment_files(trace))
    numbers: dict[str, int] = {}
    loads = {load: numbers.setdefault(path, len(numbers)) for load, path in sorted(paths.items())}
    models = []
    for path in numbers:
        if not Path(path).is_file():
            raise EnvironmentFailure(f"{path}: the program loaded this model, but it is missing now; put it back")
        try:
            models.append(read_model(Path(path), progress.update, whole=not changed_since([Path(path)], since_ns)))
        except ModelFormatError as error:
            if not changed_since([Path(path)], since_ns):
                raise
            raise EnvironmentFailure(f"{error}\n{path}: was changed while the program ran ({ended.ending})") from error
    return models, loads, changed_since([path for model in models for path in model.paths], since_ns)
