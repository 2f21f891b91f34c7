"""What a run is measured under: page cache, processors, priority; asked for by the experiment, and recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracegen.capture.limited import refuse_limit
from tracegen.capture.locked import refuse_lock
from tracegen.capture.page_cache import cached, drop, fill
from tracegen.capture.pressure import Pressure
from tracegen.capture.storage import kernel_settings, storage_of
from tracegen.errors import SettingsError
from tracegen.model import Experiment

_NO_PRESSURE = Pressure()


def refuse_impossible(experiment: Experiment, model_bytes: int) -> None:
    """Raise SettingsError for what this machine does not allow, before anything runs."""
    allowed = os.sched_getaffinity(0)
    missing = sorted(set(experiment.processors) - allowed)
    if missing:
        here = ", ".join(map(str, sorted(allowed)))
        raise SettingsError(f"processors: {', '.join(map(str, missing))} cannot be used here; there are {here}")
    if experiment.nice < os.getpriority(os.PRIO_PROCESS, 0) and os.geteuid() != 0:
        raise SettingsError(f"nice: {experiment.nice} is a higher priority than yours, which only root may give")
    if experiment.mlock_gb is not None:
        refuse_lock(experiment.mlock_gb, needed_bytes(experiment, model_bytes))
    if experiment.memory_limit_gb is not None:
        refuse_limit(experiment.memory_limit_gb)


def needed_bytes(experiment: Experiment, model_bytes: int) -> int:
    """Bytes of the model that the kernel cannot take back while it runs: all of it, unless it is mapped."""
    return 0 if experiment.mmap else model_bytes


def set_page_cache(experiment: Experiment, paths: Sequence[Path]) -> None:
    """Drop the model's files from the page cache, or read them into it. Raises EnvironmentFailure when they do not."""
    if experiment.page_cache == "cold":
        drop(paths)
    elif experiment.page_cache == "warm":
        fill(paths)


def before_start(experiment: Experiment, pressure: Pressure = _NO_PRESSURE) -> Callable[[], None] | None:
    """What the new process does before the program begins; null: nothing."""
    enter = pressure.before
    if not experiment.processors and not experiment.nice and enter is None:
        return None

    def settle() -> None:
        if enter:
            enter()
        if experiment.processors:
            os.sched_setaffinity(0, experiment.processors)
        if experiment.nice:  # 0 leaves it as it is
            os.setpriority(os.PRIO_PROCESS, 0, experiment.nice)

    return settle


def cached_bytes(paths: Sequence[Path]) -> int | None:
    """Bytes of these files that the page cache holds; null where the kernel does not tell."""
    found = [cached(path).cached_bytes for path in paths]
    return None if None in found else sum(n or 0 for n in found)


def conditions_of(paths: Sequence[Path], before: int | None, pressed: Mapping[str, Any]) -> dict[str, Any]:
    """What run.json says of device, kernel, page cache and memory.

    `before` is what the page cache held when the run began; `pressed` are the facts of `pressure`.
    """
    return {
        "storage": storage_of(paths[0]) if paths else None,
        "kernel": kernel_settings(),
        "page_cache": {"before_bytes": before, "after_bytes": cached_bytes(paths) if paths else None},
        **pressed,
    }
