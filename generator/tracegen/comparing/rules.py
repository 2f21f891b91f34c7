"""Rules for `tracegen compare --fail-on`, and a comparison as plain numbers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import Compared, Comparison
from tracegen.comparing.measures import AFTER_LOADING
from tracegen.contract import quantities as q
from tracegen.contract.errors import SettingsError

# The names that `tracegen show --json` and data/values.json have for key figures -> phase and measure.
NAMES: Mapping[str, tuple[str, str]] = {
    "tokens_per_second_generate": ("generate", "speed"),
    "tokens_per_second_prompt": ("prompt", "speed"),
    "token_ns_median": ("generate", "time of a token, median"),
    "token_ns_p95": ("generate", "time of a token, 95th percentile"),
    "read_bytes": ("", AFTER_LOADING),
    "major_faults": ("", "page faults that waited for a read"),
    "ops_per_token": ("generate", "operations of a token"),
    "mapped_bytes_per_token": ("generate", "weights touched by a token, mapped"),
    "disk_bytes_per_token": ("generate", "weights touched by a token, mapped"),  # its older name
    "copied_bytes_per_token": ("generate", "weights touched by a token, copied"),
    "buffer_bytes_per_token": ("generate", "touched by a token in buffers"),
    "touched_bytes": ("", "touched of the file at least once"),
    "peak_buffer_bytes": ("", "most that buffers held"),
}
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
            f"--fail-on: {text!r} is no rule; write NAME<-5% or NAME>5%, where NAME is one of {', '.join(NAMES)}"
        )
    return Rule(text.strip(), match["name"], match["sign"] == "<", float(match["share"]) / 100)


def broken(rule: Rule, comparison: Comparison) -> str:
    """What breaks the rule; empty if nothing does. A timed change must be a difference too.

    Raises SettingsError if one side does not have the measure: then nobody can say whether the rule holds.
    """
    row = comparison.known(*NAMES[rule.name])
    sides = f"{comparison.a.name} → {comparison.b.name}"
    if row is None:
        raise SettingsError(f"--fail-on: {rule.name} is not known on both sides of {sides}")
    if row.state != "different":
        return ""
    change = row.relative if row.relative is not None else float("inf")
    if (change < rule.share) if rule.less else (change > rule.share):
        return f"{sides}: {rule.text}: {say.name(row)} changed by {say.share(row.relative) or 'more than nothing'}"
    return ""


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Sides, runs and every measure as plain numbers; null: not known."""
    return {
        "a": {"name": comparison.a.name, "runs": [run.name for run in comparison.a.runs]},
        "b": {"name": comparison.b.name, "runs": [run.name for run in comparison.b.runs]},
        "answer": answer(comparison).replace(q.THIN, " "),
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
        sure |= {"p_held": d.p_adjusted, "relative_low": ends[0], "relative_high": ends[1]}  # p_held: its older name
        sure |= {"runs_needed": d.runs_needed, "asked": row.asked}
    return {
        "phase": row.phase,
        "by": row.by,
        "item": row.item,
        "what": row.what,
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
