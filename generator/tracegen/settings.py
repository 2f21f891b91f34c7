"""experiment.toml: read, checked, and told all that is wrong with it at once.

question = "Which experts does the model choose?"
model = "moe"                  # a demo model, or a path from this file's folder
prompt = "The memory of"       # or prompt_file = "prompt.txt", kept to the byte
tokens = 32
[limits]
timeout_s = 600
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from tracegen.address import name_problem
from tracegen.errors import SettingsError
from tracegen.model import DEMO_MODELS, Experiment
from tracegen.setting_keys import KEYS, LIMITS, REQUIRED, Setting

# llama.cpp's flags that tracegen sets itself or that would take the run out of its hands
OWN_FLAGS: Mapping[str, str] = {
    **dict.fromkeys(("-m", "--model"), "the key `model` sets it"),
    **dict.fromkeys(
        ("-mu", "--model-url", "-hf", "-hfr", "--hf-repo", "-hff", "--hf-file", "-dr", "--docker-repo"),
        "the key `model` names a file, and nothing is downloaded",
    ),
    **dict.fromkeys(
        ("-p", "--prompt", "-f", "--file", "-bf", "--binary-file"),
        "the key `prompt` (or `prompt_file`) sets it",
    ),
    **dict.fromkeys(("-n", "--predict", "--n-predict"), "the key `tokens` sets it"),
    **dict.fromkeys(("-s", "--seed"), "the key `seed` sets it"),
    **dict.fromkeys(("-t", "--threads"), "the key `threads` sets it"),
    **dict.fromkeys(("-c", "--ctx-size"), "the key `context` sets it"),
    **dict.fromkeys(("-ub", "--ubatch-size"), "the key `ubatch` sets it"),
    **dict.fromkeys(("--warmup", "--no-warmup"), "the key `warmup` sets it"),
    **dict.fromkeys(("--repack", "-nr", "--no-repack"), "the key `repack` sets it"),
    **dict.fromkeys(("--mmap", "--no-mmap", "-lm", "--load-mode"), "the key `mmap` sets it"),
    **dict.fromkeys(("-fa", "--flash-attn"), "the key `flash_attention` sets it"),
    **dict.fromkeys(
        ("-cnv", "--conversation", "-no-cnv", "--no-conversation", "-st", "--single-turn"),
        "a run has no conversation: it ends after `tokens` tokens",
    ),
    **dict.fromkeys(
        ("-i", "--interactive", "-if", "--interactive-first"),
        "a run has no conversation: it ends after `tokens` tokens",
    ),
    **dict.fromkeys(("--ignore-eos",), "tracegen sets it, so that `tokens` holds"),
    **dict.fromkeys(("--log-disable",), "llama.cpp writes the generated text as part of its log"),
    **dict.fromkeys(("-h", "--help", "--usage", "--version"), "llama.cpp would not run the model"),
}  # fmt: skip


def read_experiment(path: Path) -> Experiment:
    """Read `experiments/NAME/experiment.toml`; its folder names it. Raises SettingsError."""
    try:
        mapping = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from error
    folder = path.absolute().parent
    try:
        return experiment_from(folder.name, mapping, folder)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def experiment_from(name: str, mapping: Mapping[str, object], folder: Path) -> Experiment:
    """The experiment that `mapping` describes; relative paths start at `folder`.

    Raises SettingsError with every problem found, one a line.
    """
    problems = [*_name_problems(name), *_key_problems(mapping, KEYS, "")]
    limits = mapping.get("limits", {})
    if isinstance(limits, dict):
        problems += _key_problems(limits, LIMITS, "limits.")
    problems += [f"{key}: is missing; give {KEYS[key].allowed}" for key in REQUIRED if key not in mapping]
    problems += _flag_problems(mapping.get("flags"))
    problems += _contradictions(mapping)
    prompt, prompt_problems = _prompt(mapping, folder)
    problems += prompt_problems
    if problems:
        raise SettingsError("\n  ".join([f"{len(problems)} problem{'s' * (len(problems) > 1)}:", *problems]))
    given = {key: mapping[key] for key in KEYS if key in mapping and key not in ("prompt_file", "limits")}
    model = str(mapping["model"])
    given |= {
        "model": model if model in DEMO_MODELS else str(folder / model),
        "prompt": prompt,
        "flags": tuple(mapping.get("flags", ())),  # type: ignore[arg-type]
        "processors": tuple(mapping.get("processors", ())),  # type: ignore[arg-type]
    }
    return Experiment(name=name, **given, **limits)  # type: ignore[arg-type]


def with_repeat(experiment: Experiment, repeat: int | None) -> Experiment:
    """The experiment, repeated as `--repeat` asks for instead of as it is written. Raises SettingsError."""
    if repeat is None:
        return experiment
    if not KEYS["repeat"].holds(repeat):
        raise SettingsError(f"--repeat: is {repeat}; allowed is {KEYS['repeat'].allowed}")
    return replace(experiment, repeat=repeat)


def check_name(name: str) -> str:
    """The name of an experiment, when it can be one. Raises SettingsError."""
    problems = _name_problems(name)
    if problems:
        raise SettingsError(problems[0])
    return name


def _name_problems(name: str) -> list[str]:
    problem = name_problem(name)
    return [f"name: {problem}"] if problem else []


def _key_problems(mapping: Mapping[str, object], keys: Mapping[str, Setting], prefix: str) -> list[str]:
    problems = []
    for key, value in mapping.items():
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            advice = f"did you mean `{prefix}{near[0]}`?" if near else f"known are {', '.join(keys)}"
            problems.append(f"{prefix}{key!s}: is no setting; {advice}")
        elif not keys[key].holds(value):
            problems.append(f"{prefix}{key}: is {_shown(value)}; allowed is {keys[key].allowed}")
    return problems


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _flag_problems(flags: object) -> list[str]:
    if not isinstance(flags, list):
        return []
    given = [(flag, str(flag).split("=", 1)[0].strip()) for flag in flags]
    return [f"flags: {_shown(flag)} is not allowed: {OWN_FLAGS[name]}" for flag, name in given if name in OWN_FLAGS]


def _contradictions(mapping: Mapping[str, object]) -> list[str]:
    """Settings that are allowed alone and mean nothing together."""
    problems = []
    if mapping.get("residency") is True and mapping.get("mmap") is False:
        problems.append("residency: without mmap no page of the model is mapped, so there is nothing to watch")
    if "memory_limit_gb" in mapping and mapping.get("mmap") is not False and mapping.get("page_cache") != "cold":
        problems.append(
            'memory_limit_gb: needs page_cache = "cold", because pages that are in memory before the run do not count '
            "against the limit"
        )
    return problems


def _prompt(mapping: Mapping[str, object], folder: Path) -> tuple[str, list[str]]:
    """The prompt, and what is wrong with how it is given."""
    if ("prompt" in mapping) == ("prompt_file" in mapping):
        both = "both are given; keep one" if "prompt" in mapping else "both are missing; give one"
        return "", [f"prompt, prompt_file: {both}"]
    if "prompt" in mapping:
        return str(mapping["prompt"]), []
    name = mapping["prompt_file"]
    if not KEYS["prompt"].holds(name):
        return "", []
    path = folder / str(name)
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        return "", [f"prompt_file: {path} cannot be read: {error.strerror or error}"]
    except UnicodeDecodeError as error:
        return "", [f"prompt_file: {path} is not UTF-8 at byte {error.start}; save it as UTF-8"]
    return text, [] if KEYS["prompt"].holds(text) else [f"prompt_file: {path} must hold {KEYS['prompt'].allowed}"]
