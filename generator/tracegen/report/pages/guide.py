"""The reading guide: the meaning of each colour, kind and state, from the definitions that the code uses."""

from dataclasses import dataclass
from typing import Any

from tracegen.analysis.passes import OUTSIDE
from tracegen.charts import theme
from tracegen.contract.tables import BY_NAME, TABLES
from tracegen.report.words import terms as words

# State of a thread -> the column of `spans` with its duration.
THREADS = {
    "work": "work_ns",
    "waiting for the disk": "fault_ns",
    "waiting inside": "barrier_ns",
    "barrier wait": "wait_ns",
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


def guide() -> dict[str, Any]:
    """What the template of the reading guide prints, the same for every run.

    Words by kind, the steps of the scale (CSS variables), the tables with their columns.
    """
    columns = {column.name: column.meaning for column in BY_NAME["spans"].columns}
    threads = {state: f"{columns[name][:1].upper()}{columns[name][1:]}." for state, name in THREADS.items()}
    aside = " Left out of every statistic."
    groups = (
        Words(
            "groups",
            "Parts of the model",
            tuple(Word(name, f"{text}{_components(name)}", dot=name) for name, text in words.GROUPS.items()),
            "One colour each, the same on every page.",
        ),
        Words(
            "memory",
            "Kinds of memory",
            tuple(Word(words.memory_name(name), text, texture=name) for name, text in words.MEMORY.items()),
            "The tables call mapped memory “disk”.",
        ),
        Words(
            "threads",
            "What a thread does",
            tuple(Word(state, text, state if state in theme.STATE_COLOURS else "") for state, text in threads.items()),
            "Work has the colour of the part of the model that it belongs to.",
        ),
        Words(
            "passes",
            "Kinds of pass",
            tuple(Word(kind, f"{text}{aside if kind in OUTSIDE else ''}") for kind, text in words.KINDS.items()),
            f"{BY_NAME['passes'].meaning} The pass whose result gave generated token k is called “token k”. It takes "
            "in the token that the pass before it gave; this token chooses the experts of the pass.",
        ),
        Words(
            "states",
            "States of an operation",
            tuple(Word(state, text) for state, text in words.STATES.items()),
            BY_NAME["ops"].meaning,
        ),
        Words(
            "checks",
            "Verdicts and checks",
            tuple(Word(name, text) for name, text in (*words.VERDICTS.items(), *words.CHECKS.items())),
            "The verdict sums up the checks of a run.",
        ),
    )
    return {"groups": groups, "steps": [f"--tg-s{i}" for i in range(theme.N_STEPS)], "tables": TABLES}


def _components(name: str) -> str:
    """The components of a group; empty for a group of one."""
    members = [component for component, group in theme.GROUP_OF.items() if group == name]
    return "" if len(members) == 1 else f" Components: {', '.join(members)}."
