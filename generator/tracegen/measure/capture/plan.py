"""From the settings of an experiment to the command and environment that measure it."""

import os
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import SETTINGS, Experiment

ALWAYS = ("--fit", "off", "--log-colors", "off", "--no-escape", "--no-display-prompt")


def command_for(experiment: Experiment, program: Path, model: Path, *, has_load_mode: bool = True) -> tuple[str, ...]:
    """The command line of llama-completion.

    Always without llama.cpp's own fitting of settings (which loads the model a second time), and without the prompt
    in the output. A conversation ends after one answer. Older releases have `--mmap` instead of `--load-mode`. Threads
    that stay on processors of their own are given those that the run may use. Raises SettingsError for a way to load
    that an older release does not have.
    """
    values = {**vars(experiment), "model": str(model)}
    words = {key: setting.given(values[key]) for key, setting in SETTINGS.items() if key in values}
    if experiment.load_mode:
        words["mmap"] = ()
    elif not has_load_mode:
        words["mmap"] = ("--mmap" if experiment.mmap else "--no-mmap",)
    if not has_load_mode and (experiment.load_mode or experiment.lazy_mode):
        raise SettingsError("load_mode, lazy_mode: this llama.cpp has no --load-mode; set `mmap`, or take a newer one")
    if experiment.cpu_strict:
        words["cpu_strict"] += ("--cpu-mask", _mask(experiment.processors or os.sched_getaffinity(0)))
    return (str(program), *chain.from_iterable(words.values()), *ALWAYS, *experiment.flags)


def _mask(processors: Iterable[int]) -> str:
    """Processors as llama.cpp takes a set of them: hexadecimal, a bit for each."""
    return hex(sum(1 << number for number in processors))


def environment_for(experiment: Experiment, trace: Path, **more: object) -> dict[str, str]:
    """The environment that measures an experiment; `more` settings of the tracer belong to the place of this run."""
    return tracer_environment(
        trace,
        experiment.max_trace_bytes,
        experiment.faults,
        PREFAULT=int(experiment.prefault),
        RESIDENCY=int(experiment.residency),
        DEVICES=experiment.device_times,
        **more,
    )


def untraced_environment(experiment: Experiment) -> dict[str, str]:
    """The environment in which the same build runs untraced, and maps the model as the experiment says."""
    return {"GGML_NO_BACKTRACE": "1", "TENSOR_TRACE_DIR": "", "TENSOR_TRACE_PREFAULT": str(int(experiment.prefault))}


def tracer_environment(trace: Path, max_bytes: int, faults: bool, **more: object) -> dict[str, str]:
    """The environment that switches the tracer on, and ggml's backtraces off: they would hide an error message."""
    settings = {"DIR": trace, "MAX_BYTES": max_bytes, "FAULTS": int(faults), **more}
    return {"GGML_NO_BACKTRACE": "1", **{f"TENSOR_TRACE_{name}": str(value) for name, value in settings.items()}}


_TIMINGS = {
    "load_ms": r"load time =\s*([0-9.]+) ms",
    "prompt_ms": r"prompt eval time =\s*([0-9.]+) ms",
    "prompt_tokens": r"prompt eval time =\s*[0-9.]+ ms /\s*([0-9]+) tokens",
    "eval_ms": r"(?<!prompt )eval time =\s*([0-9.]+) ms",
    "eval_runs": r"(?<!prompt )eval time =\s*[0-9.]+ ms /\s*([0-9]+) runs",
    "total_ms": r"total time =\s*([0-9.]+) ms",
    "graphs_reused": r"graphs reused =\s*([0-9]+)",
}
_COUNTS = ("prompt_tokens", "eval_runs", "graphs_reused")


def timings_in(log: str) -> dict[str, float | int | None]:
    """llama.cpp's own counters and times (ms), from its log; None where the log does not state it."""
    timings: dict[str, float | int | None] = {}
    for name, pattern in _TIMINGS.items():
        matches = re.findall(pattern, log)
        timings[name] = None if not matches else int(matches[-1]) if name in _COUNTS else float(matches[-1])
    return timings


def settings_of(experiment: Experiment) -> Mapping[str, object]:
    """The settings as used in a run, for run.json."""
    used = {key: getattr(experiment, of.used or key) for key, of in SETTINGS.items() if of.recorded != "never"}
    return {
        key: SETTINGS[key].fact(value) for key, value in used.items() if value or SETTINGS[key].recorded == "always"
    }
