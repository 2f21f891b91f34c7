"""`tracegen exec` as a whole: any program that uses llama.cpp, recorded while it does what it does, and stored."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracegen.capture.attach import ensure_attach, preload, refuse_hooked
from tracegen.capture.conditions import conditions_of
from tracegen.capture.execute import Beside, Completed, last_lines
from tracegen.capture.hashing import hash_files
from tracegen.capture.llama_cpp import lacks_hooks, pinned_build
from tracegen.capture.locked import refuse_lock
from tracegen.capture.pressure import Pressure, under_pressure
from tracegen.errors import EnvironmentFailure, SettingsError, TracegenError
from tracegen.model import Run
from tracegen.progress import Progress
from tracegen.readers.gguf.file import Model, read_model
from tracegen.readers.native.recorded import Records
from tracegen.readers.native.records import read_records
from tracegen.readers.native.segments import read_segment, segment_files
from tracegen.readers.native.trace import loaded_models
from tracegen.runs.facts import Captured
from tracegen.runs.recording import Stages, record, refuse_nothing, refuse_several

PATIENCE_S = 10.0  # for the trace to be closed, and then for the program to end


@dataclass(frozen=True)
class Observation:
    """What `tracegen exec` was asked for: the program with its arguments, and which of its passes to record.

    `after_s` and `for_s` are seconds since its tracer began; `passes` is how many, or `FIRST-LAST`.
    `attach` is for a program whose llama.cpp has no hooks.
    `mlock_gb` is memory (GiB) locked beside it.
    """

    name: str
    command: tuple[str, ...]
    question: str
    after_s: float | None = None
    for_s: float | None = None
    passes: str | None = None
    max_trace_bytes: int = 8 << 30
    private: bool = False
    interactive: bool = False
    attach: bool = False
    mlock_gb: float | None = None


def observe(asked: Observation, folder: Path, progress: Progress, programs: str | None = None) -> Run:
    """Run the program to its end, or until Ctrl-C, and store what was recorded as a run below `folder`.

    Raises SettingsError when the program is missing, has no hooks, or has them and is to be attached to,
    EnvironmentFailure when there is no library to attach, TracegenError as `record`.
    """
    stages = Stages(progress)
    stages.begin("verify")
    program = _program(asked.command[0], programs, attach=asked.attach)
    progress.done()
    attached = preload(ensure_attach(progress)) if asked.attach else {}
    command = (str(program), *asked.command[1:])
    pinned = pinned_build()
    if asked.mlock_gb is not None:
        refuse_lock(asked.mlock_gb)

    def capture(raw: Path) -> Captured:
        if asked.mlock_gb is not None:
            stages.begin("lock memory")
        with under_pressure(asked.mlock_gb, None) as pressure:
            stages.begin("capture")
            progress.done()  # the program's own output comes now
            ended, stopped = _run(asked, command, attached, raw, progress, pressure)
            pressed = pressure.facts()
        if not stopped:
            _refuse_failure(Path(command[0]).name, raw, ended)
        refuse_nothing(Path(command[0]).name, raw, attached=asked.attach)
        refuse_several(Path(command[0]).name, raw)
        stages.begin("memory map")
        models, loads = _models(raw / "trace")
        files = [path for model in models for path in model.paths]
        conditions = conditions_of(files, None, pressed)
        hashes = iter(hash_files(files, progress))
        return Captured(
            settings=_settings(asked),
            command=command,
            status=ended.status,
            models=[model.with_hashes([next(hashes) for _ in model.paths]) for model in models],
            loads=loads,
            version=pinned.version if program.parent == pinned.programs.absolute() else "given",
            conditions=conditions,
            stopped=stopped,
            counted=False,
        )

    return record(asked.name, folder, stages, capture)


def _refuse_failure(program: str, raw: Path, ended: Completed) -> None:
    """A program that failed before the tracer began, or over a model that is not there, has told why."""
    if ended.status == 0:
        return
    trace = raw / "trace"
    loaded = loaded_models(segment_files(trace)).values() if any(trace.iterdir()) else ()
    if not loaded or not all(Path(path).is_file() for path in loaded):
        failure = SettingsError if ended.status > 0 else EnvironmentFailure
        raise failure(f"{program}: {ended.ending}; its last lines:\n{last_lines(raw / 'stderr.txt')}")


def _program(given: str, programs: str | None, *, attach: bool) -> Path:
    """The program to run: in the folder of programs that is given, by its path, in the pinned build, on the PATH.

    The pinned build has hooks: a program to attach to is not looked for there.
    """
    if programs is not None:
        candidates = [Path(programs) / given]
    elif os.sep in given:
        candidates = [Path(given)]
    else:
        found = shutil.which(given)
        candidates = [pinned_build().programs / given] if not attach else []
        candidates += [Path(found)] if found else []
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            if attach:
                refuse_hooked(path)
            elif lacks_hooks(path):
                raise SettingsError(
                    f"{path}: was not built with the hooks (GGML_TENSOR_TRACE=ON); `tracegen llama-cpp hook` puts "
                    "them into a source tree, and --attach traces shared libraries without"
                )
            return path.absolute()
    there = next((path for path in candidates if path.exists()), None)
    if there is not None:
        raise SettingsError(f"{there}: is not a program that can be run")
    if attach:
        raise SettingsError(f"{given}: there is no such program")
    raise SettingsError(
        f"{given}: there is no such program; `tracegen llama-cpp build --target {Path(given).name}` builds llama.cpp's"
    )


def _run(
    asked: Observation,
    command: Sequence[str],
    attached: Mapping[str, str],
    raw: Path,
    progress: Progress,
    pressure: Pressure,
) -> tuple[Completed, bool]:
    """Run the program; Ctrl-C (or SIGTERM) closes the trace, then ends the program. Whether it was we who ended it."""
    trace = raw / "trace"
    child = Beside(
        command, stdout=raw / "stdout.txt", stderr=raw / "stderr.txt",
        environment={**_environment(asked, trace.resolve()), **attached}, interactive=asked.interactive,
        before=pressure.before,
    )  # fmt: skip
    with _interruptible(asked.interactive):
        try:
            while (ended := child.wait(0.2)) is None:
                pass
            return ended, False
        except KeyboardInterrupt:
            progress.say("close the trace and end the program …")
            _close_trace(trace)
            return child.interrupt(PATIENCE_S), True
        finally:
            child.close()  # Ctrl-C a second time, too


@contextmanager
def _interruptible(interactive: bool) -> Iterator[None]:
    """An interactive program hears Ctrl-C itself, and decides what it means."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if interactive else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _environment(asked: Observation, trace: Path) -> dict[str, str]:
    window = {"AFTER": asked.after_s, "FOR": asked.for_s, "PASSES": asked.passes}
    return {
        "TENSOR_TRACE_DIR": str(trace),
        "TENSOR_TRACE_MAX_BYTES": str(asked.max_trace_bytes),
        "TENSOR_TRACE_SIGNAL": "USR2",
        "GGML_NO_BACKTRACE": "1",  # ggml's debugger would bury the reason of an abort
        **{f"TENSOR_TRACE_{name}": "" if value is None else str(value) for name, value in window.items()},
    }


def _settings(asked: Observation) -> Mapping[str, object]:
    """The settings as used, for run.json."""
    return {
        "question": asked.question,
        "after_s": asked.after_s,
        "for_s": asked.for_s,
        "passes": asked.passes,
        "max_trace_bytes": asked.max_trace_bytes,
        "private": asked.private,
        "attach": asked.attach,
        "mlock_gb": "none" if asked.mlock_gb is None else asked.mlock_gb,
    }


def _close_trace(folder: Path) -> None:
    """Ask the traced process to close its trace, and wait until it has: what it does later is not recorded."""
    pid = _traced_process(folder)
    if pid is None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGUSR2)
        patience = time.monotonic() + PATIENCE_S
        while time.monotonic() < patience and not _closed(folder):
            os.kill(pid, 0)  # raises when it has ended
            time.sleep(0.05)


def _main_records(folder: Path) -> Records | None:
    """What the main segment says so far. It is read, not mapped: its process may cut it meanwhile."""
    for path in folder.glob("*.main.tt"):
        with suppress(TracegenError, OSError):
            main = read_segment(path.name, np.frombuffer(path.read_bytes(), np.uint8))
            return read_records(main.name, main.payload)
    return None


def _traced_process(folder: Path) -> int | None:
    """The process that writes the trace; None while it has not said so."""
    records = _main_records(folder)
    found = records.info.get("process.id") if records else None
    return int(found) if found and found.isdigit() else None


def _closed(folder: Path) -> bool:
    records = _main_records(folder)
    return records is not None and records.end_ns is not None


def _models(trace: Path) -> tuple[list[Model], dict[int, int]]:
    """The models that the program loaded, each once, in the order of their loads, and which load was which."""
    paths = loaded_models(segment_files(trace))
    numbers: dict[str, int] = {}
    loads = {load: numbers.setdefault(path, len(numbers)) for load, path in sorted(paths.items())}
    models = []
    for path in numbers:
        if not Path(path).is_file():
            raise EnvironmentFailure(f"{path}: the program loaded it, and it is not there any more; put it back")
        models.append(read_model(Path(path)))
    return models, loads
