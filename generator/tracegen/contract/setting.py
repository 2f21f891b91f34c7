"""What is said of a setting where `experiment.py` declares it, and the kinds of values that settings take."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

MOST_CONTROLS = 100
_MOST_TAGS = 12
_MOST_PATTERNS = 1024
_TAG = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,22}[a-z0-9])?")


@dataclass(frozen=True)
class Kind:
    """The type and the allowed values of a setting in words, and the test of a value."""

    kind: str
    allowed: str
    holds: Callable[[object], bool]


@dataclass(frozen=True)
class Setting(Kind):
    """A setting, as all that reads settings knows it: its default, its meaning and an example in TOML, its `group`.

    `without`: in words, what holds without it, if that is not a default. `factor`: a matrix may vary it,
    and runs that differ in it ran under other conditions. `flag`: the flags of llama.cpp that only it sets; the first
    is given with the value, unless `words` has what is given for each value. `recorded`: when it stands in the facts of
    a run, `unset` what stands there if it is not set, `used` the property of an experiment that has the value which the
    run used. `private`: its texts are left out of private versions. `reads`: of a switch that decides whether passes
    read the file: its label, and what on and off mean. `name`: in lists on pages, if that is not its key. `changes`:
    the key of the measure that it is there to change. `as_other`: how a comparison names it without
    its values.
    """

    default: Any
    meaning: str
    example: str
    group: str = ""
    without: str = ""
    factor: bool = True
    flag: str = ""
    words: Mapping[object, str] = field(default_factory=dict)
    recorded: Literal["always", "if set", "never"] = "always"
    unset: str = ""
    used: str = ""
    private: bool = False
    reads: tuple[str, str, str] | None = None
    name: str = ""
    changes: str = ""
    as_other: str = ""

    def given(self, value: object) -> tuple[str, ...]:
        """The words of llama.cpp's command line that set it to this value."""
        if self.words:
            return tuple(self.words.get(value, "").split())
        return (self.flag.split()[0], str(value)) if self.flag and value not in (None, "") else ()

    def fact(self, value: object) -> object:
        """A value as it stands in the facts of a run."""
        return self.unset if self.unset and not value else list(value) if isinstance(value, tuple) else value


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _differ(value: object, least: int, most: int, holds: Callable[[Any], bool]) -> bool:
    """Whether this is a list of so many different values, for each of which `holds`."""
    return (
        isinstance(value, list)
        and least <= len(value) <= most
        and all(map(holds, value))
        and len({*value}) == len(value)
    )


def whole(least: int, most: int = (1 << 31) - 1) -> Kind:
    """A whole number."""
    return Kind("whole number", f"a whole number from {least} to {most}", lambda value: _is_whole(value, least, most))


def word(*words: str) -> Kind:
    """One of these words."""
    allowed = ", ".join(f'"{word}"' for word in words[:-1]) + f' or "{words[-1]}"'
    return Kind("text", allowed, lambda value: isinstance(value, str) and value in words)


def values(most: int) -> Kind:
    """Values of a factor; each is checked as one of its setting."""
    return Kind(
        "list", f"a list of 1 to {most} values", lambda value: isinstance(value, list) and 0 < len(value) <= most
    )


TEXT = Kind(
    "text",
    "a text that is not empty and has no NUL character, in UTF-8",
    lambda value: isinstance(value, str) and bool(value.strip()) and not re.search("[\0\ud800-\udfff]", value),
)
SWITCH = Kind("switch", "true or false", lambda value: isinstance(value, bool))
TABLE = Kind("table", "a table", lambda value: isinstance(value, dict))
TABLES = Kind(
    "list of tables",
    "a list of tables that are not empty",
    lambda value: isinstance(value, list) and all(isinstance(entry, dict) and entry for entry in value),
)
TEXTS = Kind(
    "list of texts",
    "a list of texts without NUL characters",
    lambda value: isinstance(value, list) and all(isinstance(v, str) and "\0" not in v for v in value),
)
PATTERNS = Kind(
    "list of texts",
    f"a list of at most {_MOST_PATTERNS} different names of tensors, of at most 256 characters",
    lambda value: _differ(value, 0, _MOST_PATTERNS, lambda of: isinstance(of, str) and 0 < len(of) <= 256),
)
GIB = Kind(  # from about a MiB to a PiB; whether the machine has so much is checked before the run
    "number",
    "a number of GiB from 0.001 to 1048576",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0.001 <= value <= 1 << 20,
)
PROCESSORS = Kind(
    "list of whole numbers",
    "a list of different processor numbers",
    lambda value: _differ(value, 1, 4096, lambda number: _is_whole(number, 0, 4095)),
)
CONTROL = Kind(
    "text, switch or whole number",
    f'"auto", true, false or a whole number from 0 to {MOST_CONTROLS}',
    lambda value: value == "auto" or (isinstance(value, int) and 0 <= value <= MOST_CONTROLS),
)
TAGS = Kind(
    "list of texts",
    f"a list of at most {_MOST_TAGS} different tags of 1 to 24 small letters, digits, '.' and '-', "
    "which begin and end with a letter or digit",
    lambda value: _differ(value, 0, _MOST_TAGS, lambda tag: isinstance(tag, str) and bool(_TAG.fullmatch(tag))),
)
