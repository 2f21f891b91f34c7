"""The settings of an experiment.toml as data: the allowed values of each, and from `settings.md` what it means.

docs/settings.md is made from it, and settings.py checks by it. The defaults are those of `model.Experiment`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tracegen.contract.prose import joined, sections

_MAX_INT32 = (1 << 31) - 1


@dataclass(frozen=True)
class Setting:
    """A setting: its type and allowed values in words, the test of a value, its meaning, an example in TOML."""

    kind: str
    allowed: str
    holds: Callable[[object], bool]
    meaning: str = ""
    example: str = ""


def _explained(settings: Mapping[str, Setting], table: str = "") -> dict[str, Setting]:
    """The settings of a table with meaning and example, which `settings.md` has: a paragraph and an indented line."""
    texts = sections(Path(__file__).with_name("settings.md"))
    found = {}
    for key, setting in settings.items():
        meaning, _, example = texts[f"{table}{key}"].rpartition("\n\n    ")
        found[key] = replace(setting, meaning=joined(meaning), example=example)
    return found


def _whole(least: int, most: int) -> Setting:
    return Setting(
        "whole number",
        f"a whole number from {least} to {most}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
    )


def _word(*words: str) -> Setting:
    allowed = ", ".join(f'"{word}"' for word in words[:-1]) + f' or "{words[-1]}"'
    return Setting("text", allowed, lambda value: isinstance(value, str) and value in words)


_TEXT = Setting(
    "text",
    "a text that is not empty and has no NUL character, in UTF-8",
    lambda value: isinstance(value, str) and bool(value.strip()) and not re.search("[\0\ud800-\udfff]", value),
)
_SWITCH = Setting("switch", "true or false", lambda value: isinstance(value, bool))
_TABLE = Setting("table", "a table", lambda value: isinstance(value, dict))
_GIB = Setting(  # from about a MiB to a PiB; whether the machine has so much is checked before the run
    "number",
    "a number of GiB from 0.001 to 1048576",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0.001 <= value <= 1 << 20,
)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and "\0" not in v for v in value)


def _are_processors(value: object) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 4096 for v in value)
        and len(set(value)) == len(value) > 0
    )


MOST_TAGS = 12
MOST_CONTROLS = 100
_TAG = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,22}[a-z0-9])?")


def are_tags(value: object) -> bool:
    """Whether this is a list of tags: short words, each once."""
    return (
        isinstance(value, list)
        and len(value) <= MOST_TAGS
        and all(isinstance(tag, str) and bool(_TAG.fullmatch(tag)) for tag in value)
        and len(set(value)) == len(value)
    )


KEYS: Mapping[str, Setting] = _explained(
    {
        "question": _TEXT,
        "model": _TEXT,
        "prompt": _TEXT,
        "prompt_file": _TEXT,
        "chat": _SWITCH,
        "tokens": _whole(1, _MAX_INT32),
        "seed": _whole(0, (1 << 32) - 2),  # llama.cpp takes 2^32 - 1 for "choose one"
        "threads": _whole(1, 512),  # GGML_MAX_N_THREADS
        "context": _whole(1, _MAX_INT32),
        "ubatch": _whole(1, _MAX_INT32),
        "flags": Setting("list of texts", "a list of texts without NUL characters", _are_texts),
        "warmup": _SWITCH,
        "repack": _SWITCH,
        "mmap": _SWITCH,
        "prefault": _SWITCH,
        "page_cache": _word("as is", "cold", "warm"),
        "residency": _SWITCH,
        "faults": _SWITCH,
        "disk": _SWITCH,
        "processors": Setting("list of whole numbers", "a list of different processor numbers", _are_processors),
        "nice": _whole(-20, 19),
        "mlock_gb": _GIB,
        "memory_limit_gb": _GIB,
        "control": Setting(
            "text, switch or whole number",
            f'"auto", true, false or a whole number from 0 to {MOST_CONTROLS}',
            lambda value: value == "auto" or (isinstance(value, int) and 0 <= value <= MOST_CONTROLS),
        ),
        "flash_attention": _word("auto", "on", "off"),
        "private": _SWITCH,
        "asks": _word("waiting", "time", "bytes", "memory", "experts"),
        "tags": Setting(
            "list of texts",
            f"a list of at most {MOST_TAGS} different tags of 1 to 24 small letters, digits, '.' and '-', "
            "which begin and end with a letter or digit",
            are_tags,
        ),
        "repeat": _whole(1, 1000),
        "matrix": _TABLE,
        "limits": _TABLE,
    }
)
LIMITS: Mapping[str, Setting] = _explained(
    {"timeout_s": _whole(1, _MAX_INT32), "max_trace_bytes": _whole(1 << 20, 1 << 50)}, "limits."
)
REQUIRED = ("question", "model", "tokens")

# A setting that has several values in a matrix is a factor.
MOST_CELLS, MOST_RUNS = 1000, 10_000
_NO_FACTORS = ("question", "asks", "private", "repeat", "limits", "matrix", "tags", "control")
FACTORS = (*(key for key in KEYS if key not in _NO_FACTORS), "llama_cpp")


def _values(meaning: str = "") -> Setting:
    def holds(value: object) -> bool:
        return isinstance(value, list) and 0 < len(value) <= MOST_CELLS

    return Setting("list", f"a list of 1 to {MOST_CELLS} values", holds, meaning)


MATRIX: Mapping[str, Setting] = {
    **_explained(
        {
            "prompts": _TEXT,
            "llama_cpp": _values(),
            "exclude": Setting(
                "list of tables",
                "a list of tables that are not empty",
                lambda value: isinstance(value, list) and all(isinstance(entry, dict) and entry for entry in value),
            ),
            "repeat": _whole(1, 1000),
            "order": _whole(0, _MAX_INT32),
        },
        "matrix.",
    ),
    **{key: _values(f"Values of `{key}`.") for key in FACTORS if key != "llama_cpp"},
}
