"""The known faults of traces that other tools recorded: each is looked for, and named in the verdict.

`faults.txt` lists them by the kind of a trace: the states of each check, the figures that decide them, and the words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tracegen.contract.check_keys import Key
from tracegen.contract.model import Check, CheckState
from tracegen.contract.prose import sections

Figures = dict[str, int | str]  # what was counted of a trace, by name
_STATE = re.compile(r"(passed|warning|failed|not checked)(?: if (\w+))?")
_RULE = re.compile(rf"{_STATE.pattern}(?:(?:, | else ){_STATE.pattern})*")
_OPTIONAL = re.compile(r"\[(\w+)\? (.*?)\]")


class _Number(int):
    """A number as texts show it: `{n}` is `1,234`, `{n:record}` is `1 record` or `2 records`."""

    def __format__(self, noun: str) -> str:
        one, _, several = noun.partition("/")
        return f"{int(self):,} {one if self == 1 else several or f'{one}s'}" if noun else f"{int(self):,}"


@dataclass(frozen=True)
class _Case:
    """States with the figures that they need (empty: none), and the words for all of them."""

    states: tuple[tuple[CheckState, str], ...]
    finding: str
    detail: str


def _cases(text: str) -> dict[str, tuple[_Case, ...]]:
    """Key -> the cases of its check, from the text under a head."""
    checks: dict[str, tuple[_Case, ...]] = {}
    for keys, lines in re.findall(r"^(\w.*)\n((?: .*\n?)+)", text, re.MULTILINE):
        cases = []
        for line in re.split(r"^ {4}(?! )", lines, flags=re.MULTILINE)[1:]:
            rule, _, words = " ".join(line.split()).partition(": ")
            if not _RULE.fullmatch(rule):
                raise ValueError(f"faults.txt: {keys}: {rule!r} is not a rule")
            finding, _, detail = words.partition(" | ")
            states = tuple((cast(CheckState, state), figure) for state, figure in _STATE.findall(rule))
            cases.append(_Case(states, finding, detail))
        checks |= dict.fromkeys(keys.split(), tuple(cases))
    return checks


def _names(cases: Sequence[_Case]) -> set[str]:
    """The figures that these cases need."""
    named = {figure for case in cases for _, figure in case.states if figure}
    return named.union(*(re.findall(r"(?:\{|\[)(\w+)[}:?]", case.finding + case.detail) for case in cases))


_TEXTS = sections(Path(__file__).with_suffix(".txt"))
LIMITS: Mapping[str, str] = dict(line.split(": ", 1) for line in _TEXTS["limits"].splitlines())
KINDS = {kind: _cases(text) for kind, text in _TEXTS.items() if kind != "limits"}
FIGURES = {kind: set().union(*map(_names, checks.values())) for kind, checks in KINDS.items()}


def checks_of(kind: str, figures: Mapping[str, int | str], *, without: str = "") -> tuple[Check, ...]:
    """The checks of a kind of trace that its figures decide, but for the one with the key `without`."""
    assert figures.keys() == FIGURES[kind], figures.keys() ^ FIGURES[kind]
    shown = {name: _Number(value) if isinstance(value, int) else value for name, value in figures.items()}

    def words(text: str) -> str:
        kept = _OPTIONAL.sub(lambda part: part[2] if figures[part[1]] else "", text)
        return kept.format_map(shown).strip().removeprefix("; ")

    checks = []
    for key, cases in KINDS[kind].items():
        decided = ((case, state) for case in cases for state, figure in case.states if not figure or figures[figure])
        case, state = next(decided, (None, None))
        if case is not None and state is not None and key != without:
            checks.append(Check(key, Key(key).says, state, words(case.finding), LIMITS[key], words(case.detail)))
    return tuple(checks)
