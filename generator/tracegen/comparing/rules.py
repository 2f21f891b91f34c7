"""Rules for `tracegen compare --fail-on`, and a comparison as plain numbers."""

import re
from dataclasses import dataclass
from typing import Any

from tracegen.analysis.measures import MEASURES
from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer, sentences
from tracegen.comparing.comparison import Compared, Comparison
from tracegen.contract import quantities as q
from tracegen.contract.errors import SettingsError

NAMES = [measure.key for measure in MEASURES if measure.compared]
_RULE = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign>[<>])\s*(?P<share>[+-]?[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*")


@dataclass(frozen=True)
class Rule:
    """`tokens_per_second_generate<-5%`: broken if B's value has changed by less, or more, than this share of A's."""

    text: str
    name: str
    less: bool
    share: float


def parsed(text: str) -> Rule:
    """The rule in `text`. Raises SettingsError if it is none."""
    match = _RULE.fullmatch(text)
    if match is None or match["name"] not in NAMES:
        raise SettingsError(
            f"--fail-on: {text!r} is not a valid rule; write NAME<-5% or NAME>5%, where NAME is one of "
            f"{', '.join(NAMES)}"
        )
    return Rule(text.strip(), match["name"], match["sign"] == "<", float(match["share"]) / 100)


def broken(rule: Rule, comparison: Comparison) -> str:
    """What breaks the rule; empty if nothing does. A timed change must be a difference too.

    Raises SettingsError if one side does not have the measure: then nobody can say whether the rule holds.
    """
    row = comparison.known(rule.name)
    sides = f"{comparison.a.name} → {comparison.b.name}"
    if row is None:
        raise SettingsError(f"--fail-on: {rule.name} is not known on both sides of {sides}")
    if row.state != "different":
        return ""
    change = row.relative if row.relative is not None else float("inf")
    if (change < rule.share) if rule.less else (change > rule.share):
        return f"{sides}: {rule.text}: {say.finding(row, comparison.margin)}"
    return ""


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Sides, runs and every measure as plain numbers; null: not known."""
    return {
        "a": {"name": comparison.a.name, "runs": [run.name for run in comparison.a.runs]},
        "b": {"name": comparison.b.name, "runs": [run.name for run in comparison.b.runs]},
        "answer": answer(comparison).replace(q.THIN, " "),
        "sentences": [
            {"text": said.text.replace(q.THIN, " "), "amounts": [vars(amount) for amount in said.amounts]}
            for said in sentences(comparison)
        ],
        "in_brief": say.in_brief(comparison).replace(q.THIN, " "),
        "paired": comparison.paired,
        "margin": comparison.margin,
        "in_rounds": comparison.in_rounds,
        "rule": say.rule(comparison),
        "measures": [_measure(row) for row in comparison.rows],
    }


def _measure(row: Compared) -> dict[str, Any]:
    d = row.difference
    sure = {key: getattr(d, key) for key in ("low", "high", "p", "p_adjusted")} if d else {}
    if d:
        ends = d.ends or (None, None)
        sure |= {"relative_low": ends[0], "relative_high": ends[1]}
        sure |= {"runs_needed": d.runs_needed, "asked": row.asked}
    return {
        "key": row.key,
        "phase": row.phase,
        "by": row.by,
        "item": row.item,
        "label": row.label,
        "kind": row.kind,
        "unit": row.unit,
        "a": row.a,
        "b": row.b,
        "values_a": list(row.values_a),
        "values_b": list(row.values_b),
        "change": row.change,
        "relative": row.relative,
        **sure,
        "state": row.state,
    }
