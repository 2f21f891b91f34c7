"""What flags of llama.cpp do to files and to other machines: projects are shared, and running one must be safe.

A test holds these lists against llama.cpp's own help: a flag that is new there must be put into one of them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracegen.contract.prose import lists
from tracegen.contract.withheld import is_secret_flag, words

_LISTS = lists(Path(__file__).with_name("llama_flags.txt"))
# They write files, wherever their value says
WRITES = _LISTS["writes"]
# They download, into a cache outside of the run; so do flags whose names end as PRESETS does
DOWNLOADS = _LISTS["downloads"]
PRESETS = ("-default", "-spec")
# They let a model or a file decide what is run
STARTS = _LISTS["starts"]
# They read the files that their value names
READS = _LISTS["reads"]
# They send what is computed to other machines
SENDS = ("--rpc",)
# They do nothing of this; those that tracegen sets itself are in settings.OWN_FLAGS
SETTINGS = _LISTS["settings"]
_PATH_NAME = re.compile(r"file|path|dir|folder|cache|log|save|out|dump|write|export")


def name_of(word: str) -> str:
    """The flag that a word names, as llama.cpp reads it: `_` in a long flag is `-`; empty if it names none."""
    name = word.split("=", 1)[0].strip()
    if not re.match(r"--?[A-Za-z]", name):
        return ""
    return name.replace("_", "-") if name.startswith("--") else name


def refusal(word: str) -> str:
    """Why a flag is refused in an experiment, and what to do instead; empty if it is not."""
    name = name_of(word)
    if name in WRITES:
        return "it writes outside of the run, which holds the output anyway; remove it"
    if name in DOWNLOADS or (name.startswith("--") and name.endswith(PRESETS)):
        return "it downloads; name a file on this machine with `model`"
    if name in STARTS:
        return "it lets a model or a file start programs; remove it"
    if name and is_secret_flag(name):
        return "an experiment is shared, and it holds a secret; set it in the environment of `tracegen run` (HF_TOKEN)"
    return ""


def questions(flags: Sequence[str], project: Path) -> list[str]:
    """What of these flags must be agreed to, one line each: files outside of the project, what is sent, the unknown."""
    return [line for at, word in enumerate(flags) if name_of(word) for line in _questions(flags, at, project.resolve())]


def _questions(flags: Sequence[str], at: int, project: Path) -> Iterator[str]:
    name, equals, value = flags[at].partition("=")
    name, shown = name_of(name), words(flags[at : at + 1 if equals else at + 2])
    value = value if equals else flags[at + 1] if at + 1 < len(flags) else ""
    if name in READS:
        outside = [path for path in _paths(value) if not Path(path).resolve().is_relative_to(project)]
        if outside:
            yield f"{' '.join(shown)}: reads a file outside of {project}"
    elif name in SENDS:
        yield f"{' '.join(shown)}: sends what is computed to another machine"
    elif name not in SETTINGS and (_PATH_NAME.search(name) or _is_path(value)):
        yield f"{' '.join(shown if _is_path(value) else shown[:1])}: is not known to tracegen, and may name a file"


def _paths(value: str) -> Iterator[str]:
    """The files of a value: several behind commas, each with a scale behind a colon where it has one."""
    for part in value.split(","):
        yield re.sub(r":[+-]?[\d.]+$", "", part)


def _is_path(value: str) -> bool:
    return bool(re.search(r"[/\\]", value)) or value.startswith(("~", "."))
