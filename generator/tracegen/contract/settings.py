"""Reads and checks experiment.toml; an error lists all its problems at once.

question = "Which experts does the model choose?"
model = "moe"                  # a demo model, or a path from this file's folder
prompt = "The memory of"       # or prompt_file = "prompt.txt", kept to the byte
tokens = 32
[limits]
timeout_s = 600
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tracegen.contract import documents
from tracegen.contract.address import name_problem
from tracegen.contract.errors import SettingsError, os_errors
from tracegen.contract.experiment import KEYS, LIMITS, MAPPED, REQUIRED, SETTINGS, Experiment
from tracegen.contract.llama_flags import name_of, refusal
from tracegen.contract.model import NAMED_MODELS
from tracegen.contract.prose import lists
from tracegen.contract.setting import Kind
from tracegen.contract.withheld import words

# Flags of llama.cpp that tracegen sets itself, or that would prevent an unattended run -> why they are refused
OWN_FLAGS: Mapping[str, str] = {
    **{flag: f"the key `{key}` sets it" for key, setting in SETTINGS.items() for flag in setting.flag.split()},
    **{flag: why for why, flags in lists(Path(__file__).with_name("own_flags.txt")).items() for flag in flags},
}

MOST_PROMPT = 64 << 20  # bytes of a prompt_file


def read_experiment(path: Path) -> Experiment:
    """Read `experiments/NAME/experiment.toml`; the experiment has the name of its folder. Raises SettingsError."""
    mapping, folder = read_settings(path), path.absolute().parent
    try:
        return experiment_from(folder.name, mapping, folder)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def read_settings(path: Path) -> dict[str, object]:
    """What an experiment.toml holds, not yet checked. Raises SettingsError for a file that is not TOML in UTF-8."""
    with os_errors(f"{path}: cannot be read", SettingsError):
        return documents.read_toml(path)


def raise_problems(problems: Sequence[str]) -> None:
    """Raise SettingsError with the number of problems and one line for each; return if there is none."""
    if problems:
        raise SettingsError("\n  ".join([f"{len(problems)} problem{'s' * (len(problems) > 1)}:", *problems]))


def experiment_from(name: str, mapping: Mapping[str, object], folder: Path) -> Experiment:
    """The experiment that `mapping` describes; relative paths count from `folder`.

    Raises SettingsError listing every problem, one a line.
    """
    problem = name_problem(name)
    problems = [*([f"name: {problem}"] if problem else []), *key_problems(mapping, KEYS, "")]
    limits: Any = mapping.get("limits", {})
    if isinstance(limits, dict):
        problems += key_problems(limits, LIMITS, "limits.")
    problems += [f"{key}: is missing; set {KEYS[key].allowed}" for key in REQUIRED if key not in mapping]
    problems += _flag_problems(mapping.get("flags"))
    problems += _contradictions(mapping)
    prompt, prompt_problems = prompt_in(mapping, folder)
    problems += prompt_problems
    raise_problems(problems)
    model = str(mapping["model"])
    values: dict[str, Any] = {
        **({"mmap": mapping["load_mode"] in MAPPED} if "load_mode" in mapping else {}),
        **{key: tuple(v) if isinstance(v, list) else v for key, v in mapping.items() if key in SETTINGS},
        "model": model if model in NAMED_MODELS else str(folder / model),
        "prompt": prompt,
    }
    values.pop("prompt_file", None)
    return Experiment(name=name, **values, **limits)


def check_repeat(repeat: int) -> None:
    """Raise SettingsError when nothing can be run so often."""
    if not KEYS["repeat"].holds(repeat):
        raise SettingsError(f"--repeat: is {repeat}; must be {KEYS['repeat'].allowed}")


def check_name(name: str) -> str:
    """Return `name` unchanged. Raises SettingsError when an experiment cannot have this name."""
    if problem := name_problem(name):
        raise SettingsError(f"name: {problem}")
    return name


def key_problems(mapping: Mapping[str, object], keys: Mapping[str, Kind], prefix: str) -> list[str]:
    """What is wrong with the keys of a table and their values, one line each."""
    problems = []
    for key, value in mapping.items():
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            advice = f"did you mean `{prefix}{near[0]}`?" if near else f"the settings are {', '.join(keys)}"
            problems.append(f"{prefix}{key!s}: is not a setting; {advice}")
        elif not keys[key].holds(value):
            problems.append(f"{prefix}{key}: is {shown(value)}; must be {keys[key].allowed}")
    return problems


def shown(value: object) -> str:
    """A value as a message shows it: at most 80 characters."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _flag_problems(flags: object) -> list[str]:
    if not isinstance(flags, list):
        return []
    named = [(flag, OWN_FLAGS.get(name_of(str(flag))) or refusal(str(flag))) for flag in flags]
    return [f"flags: {shown(words([str(flag)])[0])} is not allowed: {why}" for flag, why in named if why]


def _contradictions(mapping: Mapping[str, object]) -> list[str]:
    """The problems of settings that are allowed alone, but not together."""
    problems, mode = [], mapping.get("load_mode")
    mapped = mapping.get("mmap") is not False if mode is None else mode in MAPPED
    lazily = mapping.get("lazy_mode") == "on"  # such tables stay mapped whatever the load mode
    instead = "remove `mmap = false`" if mode is None else f'load_mode = "{mode}" does not map the model'
    if mode is not None and "mmap" in mapping and mapping["mmap"] is not mapped:
        problems.append("mmap, load_mode: say different things; keep one")
    if mapping.get("residency") is True and not (mapped or lazily):
        problems.append(f"residency: needs mmap, as only pages of a mapped model can be observed; {instead}")
    if mapping.get("faults") is True and not (mapped or lazily):
        problems.append(f"faults: needs mmap, as only a mapped model has page faults; {instead}")
    if mapping.get("pin") and not mapped:
        problems.append(f"pin: needs mmap, as weights that are read into memory stay there; {instead}")
    if "memory_limit_gb" in mapping and mapped and mapping.get("page_cache") != "cold":
        problems.append(
            'memory_limit_gb: needs page_cache = "cold", because pages that are in memory before the run do not count '
            "towards the limit"
        )
    return problems


def prompt_in(mapping: Mapping[str, object], folder: Path) -> tuple[str, list[str]]:
    """The prompt (empty where there is none), and the problems of `prompt` and `prompt_file`."""
    if ("prompt" in mapping) == ("prompt_file" in mapping):
        both = "both are set; keep one" if "prompt" in mapping else "both are missing; set one"
        return "", [f"prompt, prompt_file: {both}"]
    if "prompt" in mapping:
        return str(mapping["prompt"]), []
    name = mapping["prompt_file"]
    if not KEYS["prompt"].holds(name):
        return "", []
    path = folder / str(name)
    try:
        text = documents.content(path, MOST_PROMPT, SettingsError, "name a file with a text").decode()
    except SettingsError as error:
        return "", [f"prompt_file: {error}"]
    except OSError as error:
        return "", [f"prompt_file: {path} cannot be read: {error.strerror or error}"]
    except UnicodeDecodeError as error:
        return "", [f"prompt_file: {path} is not UTF-8 at byte {error.start}; save it as UTF-8"]
    return text, [] if KEYS["prompt"].holds(text) else [f"prompt_file: {path} must hold {KEYS['prompt'].allowed}"]
