"""The conditions of a run (page cache, processors, priority, memory): check, set and record them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.facts import Conditions, PageCache
from tracegen.measure.capture.limited import refuse_limit
from tracegen.measure.capture.locked import refuse_lock
from tracegen.measure.capture.page_cache import cached, drop, fill
from tracegen.measure.capture.pinned import Pins, refuse_pins
from tracegen.measure.capture.pressure import Pressure
from tracegen.measure.capture.read_ahead import refuse_read_ahead
from tracegen.measure.capture.storage import kernel_settings, storage_of

_NO_PRESSURE = Pressure()


def refuse_impossible(experiment: Experiment, path: Path, model_bytes: int, pins: Pins | None = None) -> None:
    """Raise SettingsError when this machine cannot provide the conditions that the experiment sets.

    `path` is the model, `model_bytes` its size, `pins` its tensors that the experiment pins.
    """
    allowed = os.sched_getaffinity(0)
    missing = sorted(set(experiment.processors) - allowed)
    if missing:
        here = ", ".join(map(str, sorted(allowed)))
        raise SettingsError(f"processors: {', '.join(map(str, missing))} cannot be used; choose from {here}")
    raised = experiment.nice and experiment.nice < os.getpriority(os.PRIO_PROCESS, 0)  # 0 leaves it unchanged
    if raised and os.geteuid() != 0:
        raise SettingsError(
            f"nice: {experiment.nice} is a higher priority than yours, and only root may raise it; set a higher number"
        )
    if experiment.mlock_gb is not None:
        refuse_lock(experiment.mlock_gb, needed_bytes(experiment, model_bytes))
    if experiment.memory_limit_gb is not None:
        refuse_limit(experiment.memory_limit_gb)
    if pins is not None:
        refuse_pins(pins, experiment.memory_limit_gb)
    if experiment.read_ahead_kib is not None:
        refuse_read_ahead(path)


def needed_bytes(experiment: Experiment, model_bytes: int) -> int:
    """Bytes of the model that stay in memory while it runs: all of it, or 0 when it is mapped."""
    return 0 if experiment.mmap else model_bytes


def set_page_cache(experiment: Experiment, paths: Sequence[Path]) -> None:
    """Drop the model's files from the page cache, or read them into it. Raises EnvironmentFailure on failure."""
    if experiment.page_cache == "cold":
        drop(paths)
    elif experiment.page_cache == "warm":
        fill(paths)


def before_start(experiment: Experiment, pressure: Pressure = _NO_PRESSURE) -> Callable[[], None] | None:
    """A function that the new process calls before the program begins; None when there is nothing to set."""
    enter = pressure.before
    if not experiment.processors and not experiment.nice and enter is None:
        return None

    def settle() -> None:
        if enter:
            enter()
        if experiment.processors:
            os.sched_setaffinity(0, experiment.processors)
        if experiment.nice:  # 0 leaves the priority unchanged
            os.setpriority(os.PRIO_PROCESS, 0, experiment.nice)

    return settle


def cached_bytes(paths: Sequence[Path]) -> int | None:
    """Bytes of these files in the page cache; None when the kernel does not say it for one of them."""
    counts = [cached(path).cached_bytes for path in paths]
    return None if None in counts else sum(n or 0 for n in counts)


def conditions_of(paths: Sequence[Path], before: int | None, pressed: Conditions) -> Conditions:
    """The conditions with device, kernel and page cache beside memory, which `Pressure.conditions` gave (`pressed`).

    `before` is the number of cached bytes when the run began.
    """
    return replace(
        pressed,
        storage=storage_of(paths[0]) if paths else None,
        kernel=kernel_settings(),
        page_cache=PageCache(before, cached_bytes(paths) if paths else None),
    )
