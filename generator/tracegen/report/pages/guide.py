"""The reading guide: the meaning of each colour, kind and state, from the definitions that the code uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracegen.analysis.passes import OUTSIDE
from tracegen.charts import theme
from tracegen.contract.tables import BY_NAME, TABLES, Table
from tracegen.report.words import terms as words

# State of a thread -> the column of `spans` with its duration.
THREADS = {
    "work": "work_ns",
    "waiting for the disk": "fault_ns",
    "waiting inside": "barrier_ns",
    "waiting after": "wait_ns",
    "between operations": "wait_ns",
}


@dataclass(frozen=True)
class Word:
    """A word of the pages and its meaning; `dot` is the group of its colour, `texture` the kind of memory."""

    name: str
    meaning: str
    dot: str = ""
    texture: str = ""


@dataclass(frozen=True)
class Words:
    """Words of one kind, with a note about all of them."""

    key: str
    title: str
    words: tuple[Word, ...]
    note: str = ""


@dataclass(frozen=True)
class Guide:
    """The reading guide: words by kind, the steps of the scale (CSS variables), the tables with their columns."""

    groups: tuple[Words, ...]
    steps: tuple[str, ...]
    tables: tuple[Table, ...]


def guide() -> Guide:
    """Everything the template of the reading guide prints; the same for every run."""
    return Guide(
        groups=(_components(), _memory(), _threads(), _passes(), _states(), _checks()),
        steps=tuple(f"--tg-s{i}" for i in range(theme.N_STEPS)),
        tables=TABLES,
    )


def _components() -> Words:
    members = {name: [c for c, group in theme.GROUP_OF.items() if group == name] for name in theme.GROUPS}
    return Words(
        "groups",
        "Parts of the model",
        tuple(Word(name, f"{words.GROUPS[name]}{_made_of(name, members[name])}", dot=name) for name in theme.GROUPS),
        "One colour each, the same on every page.",
    )


def _made_of(name: str, members: list[str]) -> str:
    """The components of a group; empty for a group of one."""
    return "" if len(members) == 1 else f" Components: {', '.join(members)}."


def _memory() -> Words:
    kinds = (Word(words.memory_name(name), meaning, texture=name) for name, meaning in words.MEMORY.items())
    return Words("memory", "Kinds of memory", tuple(kinds), "The tables call mapped memory “disk”.")


def _threads() -> Words:
    columns = {column.name: column.meaning for column in BY_NAME["spans"].columns}
    states = tuple(
        Word(
            state, f"{columns[name][:1].upper()}{columns[name][1:]}.", dot=state if state in theme.STATE_COLOURS else ""
        )
        for state, name in THREADS.items()
    )
    return Words(
        "threads", "What a thread does", states, "Work has the colour of the part of the model that it belongs to."
    )


def _passes() -> Words:
    aside = " Left out of every statistic."
    kinds = (Word(kind, f"{text}{aside if kind in OUTSIDE else ''}") for kind, text in words.KINDS.items())
    about = f"{BY_NAME['passes'].meaning} The pass whose result gave generated token k is called “token k”. "
    about += "It takes in the token that the pass before it gave; this token chooses the experts of the pass."
    return Words("passes", "Kinds of pass", tuple(kinds), about)


def _states() -> Words:
    states = tuple(Word(state, text) for state, text in words.STATES.items())
    return Words("states", "States of an operation", states, BY_NAME["ops"].meaning)


def _checks() -> Words:
    named: Mapping[str, str] = {**words.VERDICTS, **words.CHECKS}
    results = tuple(Word(name, text) for name, text in named.items())
    return Words("checks", "Verdicts and checks", results, "The verdict sums up the checks of a run.")
