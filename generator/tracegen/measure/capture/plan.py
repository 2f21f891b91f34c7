"""From the settings of an experiment to the command and environment that measure it. Pure."""

import re
from collections.abc import Mapping
from pathlib import Path

from tracegen.contract.model import Experiment


def command_for(experiment: Experiment, program: Path, model: Path, *, has_load_mode: bool = True) -> tuple[str, ...]:
    """The command line of llama-completion.

    Always without llama.cpp's own fitting of settings (which loads the model a second time), and without the prompt
    in the output. A conversation ends after one answer. Older releases have `--mmap` instead of `--load-mode`.
    """
    mapping = ["--load-mode", "mmap" if experiment.mmap else "none"]
    if not has_load_mode:
        mapping = ["--mmap" if experiment.mmap else "--no-mmap"]
    command = [
        str(program),
        *("-m", str(model)),
        *("-p", experiment.prompt),
        *("-n", str(experiment.tokens)),
        *("--seed", str(experiment.seed)),
        *("-t", str(experiment.threads)),
        *("-c", str(experiment.context)),
        *("-ub", str(experiment.ubatch)),
        *("-fa", experiment.flash_attention),
        *mapping,
        *("--fit", "off"),
        *("--log-colors", "off"),
        *(("-cnv", "-st", "--jinja") if experiment.chat else ("-no-cnv", "--ignore-eos")),
        "--no-escape",
        "--no-display-prompt",
    ]
    if not experiment.warmup:
        command.append("--no-warmup")
    if not experiment.repack:
        command.append("--no-repack")
    return (*command, *experiment.flags)


def environment_for(experiment: Experiment, trace: Path, **more: object) -> dict[str, str]:
    """The environment that measures an experiment; `more` settings of the tracer belong to the place of this run."""
    return tracer_environment(
        trace,
        experiment.max_trace_bytes,
        experiment.records_faults,
        PREFAULT=int(experiment.prefault),
        RESIDENCY=int(experiment.residency),
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
    names = (
        "question",
        "model",
        "tokens",
        "seed",
        "threads",
        "context",
        "ubatch",
        "warmup",
        "repack",
        "mmap",
        "flash_attention",
        "page_cache",
        "residency",
        "private",
        "repeat",
        "timeout_s",
        "max_trace_bytes",
    )
    return {
        **{name: getattr(experiment, name) for name in names},
        "flags": list(experiment.flags),
        "processors": list(experiment.processors) or "as is",
        "nice": experiment.nice or "as is",
        "mlock_gb": "none" if experiment.mlock_gb is None else experiment.mlock_gb,
        "memory_limit_gb": "as is" if experiment.memory_limit_gb is None else experiment.memory_limit_gb,
        "faults": experiment.records_faults,
        "disk": experiment.disk,
        **({"tags": list(experiment.tags)} if experiment.tags else {}),
        **({"chat": True} if experiment.chat else {}),
        **({"asks": experiment.asks} if experiment.asks else {}),
        "prefault": experiment.prefault and experiment.mmap,  # only a mapping can be prefaulted
    }
