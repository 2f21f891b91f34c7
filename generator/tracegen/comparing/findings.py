"""What a comparison says of key figures: as plain data, which the page of an experiment lists for each step, and in
words, which a journal quotes: `{{ a@v1~b@v2:tokens_per_second_generate:p }}`.
"""

import math
from typing import Any

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.rules import NAMES
from tracegen.contract import quantities as q

WHOLE = "change"  # the part that is meant where none is named
# What timed key figures say together if none is different: the first of these states that one of them has.
_TOGETHER = ("not enough runs", "not comparable", "same within the margin", "equal")


def findings(comparison: Comparison) -> list[dict[str, Any]]:
    """The key figures that differ: timed ones by the rule, counted ones wherever a run differs.

    Each has measure, change (both in words), relative (a share of A; null if A is 0 or not known), state, kind, and
    better: true or false for timed ones, null for counted ones.
    """
    timed = [row for row in comparison.of("timed", "run") if row.state == "different"]
    counted = [row for row in comparison.of("counted", "run") if row.state in TELLING]
    return [_finding(row, comparison) for row in (*timed, *counted)]


def timed_state(comparison: Comparison) -> str:
    """What the timed key figures say together; empty if the sides have none in common.

    `different` if one of them is; else `not enough runs` if that is so of one, `not comparable`, `same within the
    margin`, or `equal` if all are equal in every run.
    """
    states = {row.state for row in comparison.of("timed", "run")}
    if "different" in states:
        return "different"
    return next((state for state in _TOGETHER if state in states), "")


def _finding(row: Compared, comparison: Comparison) -> dict[str, Any]:
    relative = row.relative if row.relative is not None and math.isfinite(row.relative) else None
    change = say.share(relative) or say.signed(row.change, row.unit)
    if row.state in ("only A", "only B"):
        change = f"only in {(comparison.a if row.state == 'only A' else comparison.b).name}"
    elif row.state == "varies":
        change = f"{change} in the median, but not in every run"
    return {
        "measure": say.name(row),
        "change": change,
        "relative": relative,
        "state": row.state,
        "kind": row.kind,
        "better": row.better,
    }


def values(comparison: Comparison) -> dict[str, dict[str, str]]:
    """The parts of each key figure that both sides have.

    `change` has both medians and what the comparison shows; `a`, `b` the medians, `range_a`, `range_b` the least and
    largest run; `n` the runs, `verdict` what is shown; of timed ones, as far as known, `shift`, `interval` and `p`.
    """
    rows = {name: comparison.known(*place) for name, place in NAMES.items()}
    return {name: _parts(row, comparison.margin) for name, row in rows.items() if row}


def _parts(row: Compared, margin: float) -> dict[str, str]:
    a, b = (say.value(number, row.unit) for number in (row.a, row.b))
    parts = {"a": a, "b": b, "n": say.runs(row), "verdict": say.state(row, margin)}
    for side, of in (("a", row.values_a), ("b", row.values_b)):
        parts[f"range_{side}"] = f"{say.value(min(of), row.unit)} to {say.value(max(of), row.unit)}"
    if found := row.difference:
        shift, ends = say.effect(found, row.unit)
        parts |= {"shift": shift, "p": q.p_words(found.p_adjusted)}
        if ends:
            parts["interval"] = ends
    sure = ", ".join(parts[name] for name in ("verdict", "p", "n") if name in parts)
    return parts | {WHOLE: f"{say.medians(row)} ({sure})"}
