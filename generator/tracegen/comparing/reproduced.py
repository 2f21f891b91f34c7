"""A version run again: the experiment that its record describes, and whether it came out the same.

Counted measures must be equal in every run. A timed one is judged by the test of comparisons, which a version with few
runs may be too small for; times on another machine are not judged.
"""

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Compared, Comparison
from tracegen.comparing.conditions import differing
from tracegen.contract import quantities as q
from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import LIMITS, SETTINGS, Experiment
from tracegen.contract.facts import Facts
from tracegen.contract.records import encode
from tracegen.contract.settings import experiment_from
from tracegen.contract.text import visible
from tracegen.contract.withheld import WITHHELD

Outcome = Literal["equal", "same", "different", "not judged"]
UNSET = ("as is", "none", None)  # how a record says that a setting was not given
_LONGEST = 60  # signs of a value that is named


def experiment_of(citation: str, facts: Facts, model: str) -> Experiment:
    """The experiment that a version's record describes, with `model` (a path or name) and its own name.

    Raises SettingsError where the record lacks what it takes: of a foreign trace, a private prompt, a withheld flag.
    """
    settings, command = encode(facts).get("settings"), facts.command
    if settings is None or "-p" not in command[:-1]:
        raise SettingsError(f"{citation}: says not with which settings and prompt it was made; it cannot be run again")
    prompt = command[command.index("-p") + 1]
    if facts.settings.private or WITHHELD in (prompt, *(facts.settings.flags or ())):
        raise SettingsError(f"{citation}: its prompt or a flag is withheld; it cannot be run again from its record")
    kept = {k: v for k, v in settings.items() if k in SETTINGS and SETTINGS[k].holds(v)}
    limits = {k: kept.pop(k) for k in LIMITS if k in kept}
    kept |= {"model": model, "prompt": prompt, "repeat": 1}
    name = citation.replace("@", "-").replace("/", "-")
    return experiment_from(name, {**kept, **({"limits": limits} if limits else {})}, Path.cwd())


def dropped_settings(facts: Facts) -> list[str]:
    """The recorded settings that `experiment_of` leaves out, with their values: this tracegen has none such."""
    return [
        visible(f"{key} = {json.dumps(value, ensure_ascii=False)[:_LONGEST]}")
        for key, value in encode(facts.settings).items()
        if value not in UNSET and not (key in SETTINGS and SETTINGS[key].holds(value))
    ]


@dataclass(frozen=True)
class Reproduced:
    """A measure of a version beside that of the new runs, and how it came out; `why` where it is not judged.

    `key` is the measure's, `name` what it is in words.
    """

    key: str
    name: str
    unit: str
    counted: bool
    published: tuple[float, ...]
    found: tuple[float, ...]
    outcome: Outcome
    why: str = ""

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Name, both values and outcome in words."""
        values = tuple(_span(of, self.unit) for of in (self.published, self.found))
        return self.name, *values, f"{self.outcome}{f': {self.why}' if self.why else ''}"  # type: ignore[return-value]


def _span(values: tuple[float, ...], unit: str) -> str:
    """`104 tokens/s`, or `98.1 to 110 tokens/s`."""
    if not values:
        return "not recorded"
    low, high = say.value(min(values), unit), say.value(max(values), unit)
    return low if low == high else f"{low} to {high}"


def outcomes(comparison: Comparison) -> list[Reproduced]:
    """Each counted measure, and the timed key figures, of a comparison of a version with its new runs."""
    rows = [row for row in comparison.rows if row.kind == "counted" or row.by == "run"]
    return [_outcome(row, comparison.margin) for row in rows]


def claims(citation: str, found: Sequence[Reproduced]) -> list[dict[str, Any]]:
    """What a version says, measure by measure: its values in its runs, how they are judged, and by which command."""
    return [
        {
            "claim": one.key,
            "label": one.name,
            "values": list(one.published),
            "unit": one.unit,
            "judged": "equal" if one.counted else "by a test of runs on one machine",
            "command": f"tracegen reproduce {citation} {shlex.quote(one.key)}",
        }
        for one in found
        if one.published
    ]


def claimed(found: Sequence[Reproduced], claims: Sequence[str]) -> list[Reproduced]:
    """The measures with these keys; all without one. Raises SettingsError for a key that no measure has."""
    by_key = {one.key: one for one in found}
    for claim in claims:
        if claim not in by_key:
            near = get_close_matches(claim, by_key, 1, 0.3)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise SettingsError(f"{claim}: is not the key of a measure of this version{meant}")
    return [by_key[claim] for claim in dict.fromkeys(claims)] if claims else list(found)


def _outcome(row: Compared, margin: float) -> Reproduced:
    name, a, b = say.name(row), row.values_a, row.values_b

    def judged(outcome: Outcome, why: str = "") -> Reproduced:
        return Reproduced(row.key, name, row.unit, row.kind == "counted", a, b, outcome, why)

    if not a or not b:
        return judged("not judged", "only one side has it")
    if row.kind == "counted":
        return judged("equal" if {*a} == {*b} and len({*a}) == 1 else "different")
    if row.state == "not comparable":
        return judged("not judged", "made on another machine")
    if row.state in ("different", "equal"):
        return judged("different" if row.state == "different" else "same")
    if row.state == "same within the margin":
        return judged("same", f"within {say.margin_of(margin)}")
    if row.state == "interval without zero":
        return judged("not judged", say.ALONE)
    return judged("not judged", "too few runs for a test")


def certificate(
    citation: str,
    comparison: Comparison,
    found: Sequence[Reproduced],
    faults: Sequence[str],
    left_out: int = 0,
    content: str = "",
    dropped: Sequence[str] = (),
) -> str:
    """The certificate as Markdown: what was run again where, how it came out, and what was not checked.

    `faults`: what is known to be false in the version, which may be why a measure differs. `left_out`: how many
    measures were not asked for; where some were, all that were asked for are listed. `content`: the hash that the
    citation of the version names. `dropped`: recorded settings that were left out.
    """
    run = comparison.b.runs[-1]
    host, model = run.facts.host, run.facts.model
    differs = [d for d in differing(comparison.a, comparison.b) if d.group in ("Machine", "llama.cpp", "Model")]
    listed = [one for one in found if left_out or one.outcome != "equal"]
    lines = [
        f"# {citation}, run again",
        "",
        f"{summary(found, left_out)}",
        "",
        *([f"- Version: {citation}, SHA-256 of its content {content}"] if content else []),
        f"- When: {run.created}, {q.counted(len(comparison.b.runs), 'run')}",
        f"- Where: {q.printable(str(host.cpu))}, {host.cores} cores, "
        f"{q.size(host.memory_bytes) if host.memory_bytes else 'memory not known'}, {host.kernel}",
        f"- Model: {q.printable(str(model.file))}, SHA-256 {model.sha256}",
        *(f"- Other than then: {d.group}, {d.key}: {', '.join(d.a)} → {', '.join(d.b)}" for d in differs),
        *([f"- Recorded, but left out of the new runs: {q.printable('; '.join(dropped))}"] if dropped else []),
        *([f"- Known faults of the version, which may be why: {'; '.join(faults)}"] if faults else []),
        "",
        "| measure | published | run again | outcome |",
        "|---|---|---|---|",
        *(f"| {' | '.join(cell.replace('|', ' ') for cell in one.row)} |" for one in listed),
        "",
        f"Not checked: {_not_checked(found, left_out)}",
        "",
    ]
    return "\n".join(lines)


def summary(found: Sequence[Reproduced], left_out: int = 0) -> str:
    """`All 278 counted measures are equal. Timed: 3 same, 5 not judged.`"""
    counted = [one.outcome for one in found if one.counted]
    sentences = [f"{len(found)} of {len(found) + left_out} measures were asked for."] if left_out else []
    if counted:
        n, equal = len(counted), counted.count("equal")
        all_equal = "The counted measure is equal." if n == 1 else f"All {n} counted measures are equal."
        sentences.append(all_equal if equal == n else f"{equal} of {q.counted(n, 'counted measure')} are equal.")
    timed = Counter(one.outcome for one in found if not one.counted)
    if timed:
        sentences.append(f"Timed: {', '.join(f'{n} {outcome}' for outcome, n in timed.items())}.")
    return " ".join(sentences)


def _not_checked(found: Sequence[Reproduced], left_out: int) -> str:
    n = Counter(one.why for one in found if one.outcome == "not judged")
    n |= Counter({"not asked for": left_out})
    reasons = "; ".join(f"{q.counted(count, 'measure')}, {why}" for why, count in n.items() if count)
    return f"{reasons or 'nothing that both hold'}. Pages, drawings and sentences of the version are not compared."


def as_json(citation: str, found: Sequence[Reproduced], left_out: int = 0) -> dict[str, Any]:
    """The outcome for a program; reproduced: nothing came out otherwise, and something could be judged."""
    measures = [vars(one) | {"published": list(one.published), "found": list(one.found)} for one in found]
    judged = any(one.outcome != "not judged" for one in found) and not failed(found)
    return {
        "version": citation,
        "summary": summary(found, left_out),
        "reproduced": judged,
        "not_asked_for": left_out,
        "measures": measures,
    }


def failed(found: Sequence[Reproduced]) -> list[Reproduced]:
    """What did not come out the same."""
    return [one for one in found if one.outcome == "different"]
