"""The work of `tracegen run`: runs llama-completion with an experiment's settings, and stores what was recorded."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tracegen.contract import withheld
from tracegen.contract.errors import SettingsError, TracegenError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Conditions, Device, Locked, Repetition, Slot
from tracegen.contract.model import NAMED_MODELS, Run
from tracegen.measure.capture.conditions import (
    before_start,
    cached_bytes,
    conditions_of,
    needed_bytes,
    refuse_impossible,
    set_page_cache,
)
from tracegen.measure.capture.device import measure_device
from tracegen.measure.capture.execution import Meter
from tracegen.measure.capture.hashing import changed_since, known_hashes
from tracegen.measure.capture.llama_cpp import has_load_mode, traced_program
from tracegen.measure.capture.locked import locked_memory
from tracegen.measure.capture.page_cache import fetch_code
from tracegen.measure.capture.pinned import Pins, pinned, pins_of
from tracegen.measure.capture.plan import command_for, environment_for, settings_of, untraced_environment
from tracegen.measure.capture.pressure import Pressure, under_pressure
from tracegen.measure.capture.read_ahead import read_ahead, restore_left
from tracegen.measure.capture.requests import recorded_requests, say_if_refused
from tracegen.measure.capture.trace_pages import trace_pages
from tracegen.measure.demo.models import KINDS, recipe_hash, write_demo_model
from tracegen.measure.runs.control import Control, shares
from tracegen.measure.runs.facts import Captured
from tracegen.measure.runs.failure import failure_in
from tracegen.measure.runs.recording import Stages, record, refuse_nothing, refuse_unloaded
from tracegen.measure.trained import TRAINED, trained_model
from tracegen.readers.gguf.file import Model, read_model
from tracegen.storing.execute import Completed, run_program
from tracegen.storing.progress import BYTES, Progress
from tracegen.storing.resources import cache_folder

DEVICE_S = 5.0  # for which the device is measured before a run with `disk = true`
_PARTS = {
    "mmproj": "a multimodal projector (mmproj)",
    "adapter": "an adapter (LoRA)",
    "imatrix": "an importance matrix",
}


def repetitions(experiment: Experiment, folder: Path, progress: Progress, program: str | None = None) -> Iterator[Run]:
    """Run an experiment `repeat` times, and yield each stored run before the next begins.

    The series goes on after a run that is not usable, and ends with an error. Raises TracegenError as `measure` does.
    """
    first = None
    for number in range(1, experiment.repeat + 1):
        repetition = None
        if experiment.repeat > 1:
            progress.say(f"run {number} of {experiment.repeat}")
            repetition = Repetition(number, experiment.repeat, first)
        run = measure(experiment, folder, progress, program, repetition)
        first = first or run.name
        yield run


def measure(
    experiment: Experiment,
    folder: Path,
    progress: Progress,
    program: str | None = None,
    repetition: Repetition | None = None,
    slot: Slot | None = None,
) -> Run:
    """Run an experiment once, and store the run below `folder`. Raises TracegenError as `record` does.

    `repetition`, `slot`: the place of the run in a series or in a matrix.
    """
    restore_left(progress.say)
    stages = Stages(progress)
    stages.begin("verify")
    path = model_path(experiment.model, progress)
    model = read_model(path, progress.update)  # raises before anything is built or run
    _refuse_parts(path, model)
    model_bytes = int(model.files["size_bytes"].sum())
    pins = pins_of(experiment.pin, model)
    refuse_impossible(experiment, path, model_bytes, pins)
    if experiment.disk:
        say_if_refused(progress)
    completion, version = traced_program(program, progress)
    command = command_for(experiment, completion, path, has_load_mode=has_load_mode(completion))

    def capture(raw: Path) -> Captured:
        since_ns = time.time_ns()
        device = _device(experiment, path, stages) if experiment.disk else None
        if experiment.mlock_gb is not None:
            stages.begin("lock memory")
        with (
            read_ahead(experiment.read_ahead_kib, path),
            locked_memory(experiment.mlock_gb, needed_bytes(experiment, model_bytes)) as locked,
        ):
            held = partial(_conditions, experiment, command, model.paths, locked, pins)
            control = Control(
                conditions=lambda lifted: held(lifted=lifted),
                run=lambda pressure, log: _untraced(experiment, command, pressure, log),
                paths=model.paths,
                folder=raw,
                stages=stages,
            )
            before, after = shares(experiment.controls, repetition, slot)
            control.repeat(before)
            stages.begin("capture")
            conditions, ended = _capture(experiment, command, raw, model.paths, held, control)
            status = ended.status or (-signal.SIGINT if ended.timed_out else 0)  # asked to end, it may do so in order
            if status == 0:
                control.repeat(after)
                if experiment.control == "auto":
                    control.confirm()
                control.lift_limit()
        stages.begin("hash model")
        changed = changed_since(model.paths, since_ns)
        mapped = read_model(path, progress.update)
        return Captured(
            settings=settings_of(experiment),
            command=command,
            status=status,
            failure=failure_in(
                (raw / "stderr.txt").read_text(encoding="utf-8", errors="replace"),
                status,
                limit_s=experiment.timeout_s if ended.timed_out else None,
            ),
            models=(mapped.with_hashes(known_hashes(mapped.paths, changed, progress)),),
            changed=changed,
            loads={0: 0},
            version=version,
            conditions=conditions,
            # of a conversation the tokens tell what the model read and wrote, the chat template included
            prompt=None if experiment.chat else experiment.prompt,
            repetition=repetition,
            slot=slot,
            device=device,
            control=control.result(),
            generated=None
            if experiment.chat
            else (raw / "stdout.txt").read_bytes().decode("utf-8", "replace").rstrip("\n"),
        )

    return record(experiment.name, folder, stages, capture, withheld.secret_values(command, os.environ))


def model_path(model: str, progress: Progress) -> Path:
    """The path of a model: `model` as a path, or by its name of one that the cache has; fetched or written if needed.

    Raises SettingsError when the file does not exist, EnvironmentFailure when a trained model cannot be fetched.
    """
    if model in TRAINED:
        return trained_model(model, progress)
    if model not in KINDS:
        path = Path(model)
        if not path.exists():
            raise SettingsError(f"{path}: no such model file; name one, or one of {', '.join(NAMED_MODELS)}")
        return path.absolute()  # links are not resolved: the files of a split model are found by the names of links
    target = cache_folder() / "models" / recipe_hash() / f"{model}.gguf"
    if not target.exists():
        progress.step(f"write the demo model {model}")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_demo_model(model, target, progress=lambda done, total: progress.update(done, total, BYTES))
        progress.done()
    return target


def _device(experiment: Experiment, path: Path, stages: Stages) -> Device:
    """What the device of the model file can read, or why it could not be measured."""
    stages.begin("measure the device")
    try:
        return replace(measure_device(path, DEVICE_S, stages.progress), file=path.name)
    except TracegenError as error:
        return replace(Device.absent(), refused=str(error).removeprefix(f"{path}: "))


def _refuse_parts(path: Path, model: Model) -> None:
    """Raise SettingsError for a GGUF file that is only an addition to a model."""
    kind = "mmproj" if model.architecture == "clip" else model.metadata.get("general.type")
    if isinstance(kind, str) and kind in _PARTS:
        raise SettingsError(f"{path}: is {_PARTS[kind]}, not a language model; name the model that it was made for")


@contextmanager
def _conditions(
    experiment: Experiment,
    command: Sequence[str],
    paths: Sequence[Path],
    locked: Locked | None,
    pins: Pins | None,
    *,
    lifted: bool = False,
) -> Iterator[Pressure]:
    """During the block, the conditions of the experiment: the limit of memory, if it is not `lifted`, and the page
    cache with its pins."""
    with under_pressure(locked, experiment.memory_limit_gb, lifted=lifted) as pressure:
        fetch_code(Path(command[0]))
        set_page_cache(experiment, paths)
        with pinned(pins, pressure.limit) as held:
            yield replace(pressure, pinned=held)


def _capture(
    experiment: Experiment,
    command: tuple[str, ...],
    raw: Path,
    paths: Sequence[Path],
    held: Callable[[], AbstractContextManager[Pressure]],
    control: Control,
) -> tuple[Conditions, Completed]:
    """Run llama.cpp with the tracer on; return the conditions that held, and how it ended.

    Raises, with the last lines of its log, SettingsError when it exits with an error before it loaded the model (it
    refused the settings), EnvironmentFailure when it was killed or stopped then, or recorded nothing.
    """
    out, err = raw / "stdout.txt", raw / "stderr.txt"
    with (
        held() as pressure,
        trace_pages(raw, experiment.max_trace_bytes) as pages,
        recorded_requests(raw, experiment.disk) as requests,
    ):
        before, meter = cached_bytes(paths), Meter.start(paths)
        ended = run_program(
            command,
            stdout=out,
            stderr=err,
            environment=environment_for(experiment, (raw / "trace").resolve(), **pages, **pressure.tracer),
            timeout_s=experiment.timeout_s,
            before=before_start(experiment, pressure),
            watch=requests.drain if requests else None,
        )
        log = err.read_text(encoding="utf-8", errors="replace")
        control.traced = meter.stop(ended, log, pressure.limit.read if pressure.limit else None)
        pressed, why = pressure.conditions(), pressure.cause(ended.status) or ended.ending
    name = Path(command[0]).name
    refuse_unloaded(name, raw, ended, why)
    refuse_nothing(name, raw)
    if requests:
        requests.locate(paths)
    return conditions_of(paths, before, pressed), ended


def _untraced(experiment: Experiment, command: tuple[str, ...], pressure: Pressure, log: Path) -> Completed:
    """Run llama.cpp with the tracer off; what it prints goes into `log`."""
    return run_program(
        command,
        stdout=log,
        stderr=log,
        environment=untraced_environment(experiment),
        timeout_s=experiment.timeout_s,
        before=before_start(experiment, pressure),
    )
