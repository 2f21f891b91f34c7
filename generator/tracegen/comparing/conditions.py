"""Under which conditions two sides were made: which settings, models, machines and builds differ between them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracegen.contract.experiment import SETTINGS
from tracegen.contract.records import encode
from tracegen.contract.text import UNKNOWN, printable
from tracegen.publishing.side import Measured, Side

# Group of facts -> its name, and the keys that are compared; all keys where none is listed.
GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "settings": ("Setting", ()),
    "model": ("Model", ()),
    "host": ("Machine", ("id", "cpu", "cores", "memory_bytes", "page_bytes", "kernel")),
    "llama_cpp": ("llama.cpp", ("version", "build")),
    "conditions": ("Condition", ("storage", "kernel", "mlock", "pinned", "memory_limit")),
    "trace": ("Tracer", ("attached", "clock", "environment", "faults_recorded", "requests_recorded")),
    "versions": ("Version of", ()),
}
NOT_COMPARED = {
    *(f"settings.{key}" for key, setting in SETTINGS.items() if not setting.factor),
    *("model.origin", "model.licence", "model.metadata"),
}
_MOST = 200  # characters of a value
# Each run measures these itself: they are no conditions.
_MEASURED = ("peak_bytes", "times_reached", "free_bytes", "available", "pressure", "load_average", "_before", "_after")


@dataclass(frozen=True)
class Differs:
    """A fact that is not the same on both sides: the values that runs of each side have, each once."""

    group: str
    key: str
    a: tuple[str, ...]
    b: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether both sides hold it: a fact that one of them lacks need not differ."""
        return UNKNOWN not in (*self.a, *self.b)


def differing(a: Side, b: Side) -> list[Differs]:
    """The facts that differ between the sides, the model first; last those that only one of them holds."""
    of_a, of_b = _facts(a), _facts(b)
    found = [Differs(*place, *(of.get(place, (UNKNOWN,)) for of in (of_a, of_b))) for place in {**of_a, **of_b}]
    return sorted((one for one in found if one.a != one.b), key=lambda one: (not one.known, one.group != "Model"))


def _facts(side: Side) -> dict[tuple[str, str], tuple[str, ...]]:
    values: dict[tuple[str, str], dict[str, None]] = {}
    for run in side.runs:
        for place, text in _of_run(run):
            values.setdefault(place, {})[text] = None
    return {place: tuple(sorted(texts)) for place, texts in values.items()}


def _of_run(run: Measured) -> Iterator[tuple[tuple[str, str], str]]:
    document = encode(run.facts)
    for group, (name, keys) in GROUPS.items():
        facts = document.get(group) or {}
        for key in keys or facts:
            if key in facts and f"{group}.{key}" not in NOT_COMPARED:
                yield from (((name, path), text) for path, text in _flat(key, facts[key]))


def _flat(key: str, value: object) -> Iterator[tuple[str, str]]:
    """A fact and those below it: (path, text)."""
    if any(part in key for part in _MEASURED):
        return
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _flat(f"{key} {name}", below)
    else:
        yield key, _text(value)


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = printable(text)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
